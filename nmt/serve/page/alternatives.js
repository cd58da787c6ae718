/** Other translations of a sentence with their scores, and a form for a better one if the server takes suggestions. */

import * as api from "./api.js";
import { make, signed } from "./dom.js";
import { segmented } from "./sentences.js";
import { differing } from "./words.js";

/** A text in which the words that another translation lacks are marked. */
function marked(text, other, language) {
  const words = segmented(text, language);
  const different = differing(words.map((word) => word.text), segmented(other, language).map((word) => word.text));
  return words.flatMap((word, index) => {
    const before = text.slice(words[index - 1]?.end ?? 0, word.start);
    return [before, different.has(index) ? make("b", {}, word.text) : word.text];
  });
}

/** `choose(text)` makes an alternative the translation; `suggestions`: does the server keep suggestions? */
export function alternatives(details, sentence, { choose, suggestions }) {
  const best = details.n_best[0].log_prob;
  const rows = details.n_best.map((one) => {
    const shown = one.text === sentence.translation;
    const text = make("button", { type: "button", class: "alternative", "aria-pressed": String(shown), click: () => choose(one.text) },
      ...marked(one.text, sentence.translation, sentence.to));
    const share = make("span", { class: "share", "aria-hidden": "true" });
    share.style.setProperty("--w", Math.exp(Math.min(0, one.log_prob - best)).toFixed(3));
    return make("tr", {},
      make("td", { lang: sentence.to, dir: "auto" }, text),
      make("td", { class: "number" }, signed(one.score)),
      make("td", { class: "number" }, share, signed(one.log_prob)));
  });
  const head = make("tr", {}, make("th", { scope: "col" }, "Translation"),
    make("th", { scope: "col" }, "Score"), make("th", { scope: "col" }, "Log-probability"));
  const table = make("table", { class: "n-best" }, make("thead", {}, head), make("tbody", {}, ...rows));
  const note = make("p", { class: "soft" }, "The score is the log-probability made fair to long translations; nearer to zero is better. "
    + "Choose one and it becomes the translation.");
  return suggestions ? [table, note, suggestion(sentence)] : [table, note];
}

function suggestion(sentence) {
  const field = make("input", { type: "text", value: sentence.translation, lang: sentence.to, dir: "auto", "aria-label": "A better translation" });
  const said = make("span", { role: "status" });
  async function send(event) {
    event.preventDefault();
    try {
      await api.suggest({ q: sentence.text, s: field.value, source: sentence.from, target: sentence.to });
      said.textContent = "Thank you: it was sent to the server.";
    } catch (error) {
      if (!(error instanceof api.Refused)) throw error;
      said.textContent = error.words;
    }
  }
  return make("form", { class: "suggest", submit: send }, make("span", {}, "Do you know a better one?"), field,
    make("button", { class: "strong" }, "Suggest"), said);
}
