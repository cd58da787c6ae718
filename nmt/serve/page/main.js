/** Brings the parts of the page together. */

import * as api from "./api.js";
import { Controls } from "./controls.js";
import { announce, byId, copy, flash, make } from "./dom.js";
import { History } from "./history.js";
import { Inside } from "./inside.js";
import { setUpKeys } from "./keys.js";
import { link, linked } from "./link.js";
import { Menu } from "./menu.js";
import { Source } from "./source.js";
import { Target, lighting, visible } from "./target.js";
import { setUpTheme } from "./theme.js";

const HISTORY_MS = 1500; // a text that has not changed for so long goes into the history
const ANNOUNCE_MS = 700;

let server = { models: [], limits: { characters: Infinity, texts: 1, n_best: 1 }, suggestions: false, keys_required: false };
const limits = () => server.limits;

const first = byId("target");
const second = first.cloneNode(true);
second.id = "target-compared";
second.hidden = true;
second.setAttribute("aria-label", "Translation by the model that is compared");
first.after(second);
const targets = [new Target(first, limits), new Target(second, limits)];
const [main, other] = targets;
const comparing = () => !second.hidden;
const panes = () => (comparing() ? targets : [main]);

const source = new Source({ area: byId("source"), mirror: byId("mirror"), marks: byId("marks"), onInput: typed, onPlace: lightFromText });
const controls = new Controls({ onChange: configure, onSwap: swap });
const history = new History(openEntry);
const menu = new Menu();
const inside = new Inside({ limits, suggestions: () => server.suggestions, onToggle: expanded });

/** The words to light: a word under the pointer takes precedence over one with the focus. */
const lit = { point: null, focus: null };

// ---------------------------------------------------------------- the text

function changed(text, now = false) {
  lit.point = lit.focus = null;
  const size = [...text].length;
  const most = server.limits.characters;
  const over = size - most;
  const number = (value) => value.toLocaleString("en");
  byId("count").textContent = Number.isFinite(most) ? `${number(size)} / ${number(most)}` : number(size);
  byId("count").classList.toggle("over", over > 0);
  byId("clear").disabled = !text;
  if (!text.trim()) history.begin();
  if (!server.models.length) return;
  for (const target of panes()) {
    if (over > 0) target.refuse(text, `The text is too long by ${number(over)} characters: the server takes ${number(most)} at a time.`);
    else target.update(text, now);
  }
}

function typed(text, now) {
  if (location.hash) window.history.replaceState(null, "", location.pathname + location.search);
  changed(text, now);
}

function setText(text) {
  source.text = text;
  changed(text, true);
}

byId("clear").addEventListener("click", () => {
  keepHistory();
  setText("");
  source.area.focus();
});

source.area.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  if (!main.complete) changed(source.text, true);
  if (main.complete) focusTranslation();
  else main.addEventListener("settled", focusTranslation, { once: true });
});

function focusTranslation() {
  first.querySelector('.word[tabindex="0"]')?.focus();
}

// ---------------------------------------------------------------- languages and models

/** Gives the panes their directions. A pane whose direction has changed translates again. */
function configure() {
  const direction = controls.direction;
  const names = controls.served(controls.source, direction.to).map((one) => one.name);
  // The default model is not named, so that a language detected later may choose another.
  const model = direction.model === names[0] ? "" : direction.model;
  second.hidden = !controls.compare.value;
  first.parentElement.classList.toggle("three", comparing());
  set(main, { ...direction, model });
  if (comparing()) {
    set(other, { from: controls.source, to: direction.to, model: controls.compare.value });
  } else if (inside.target === other) inside.look(main);
  for (const [target, name] of [[main, direction.model || names[0]], [other, controls.compare.value]]) {
    target.captionAt.hidden = !comparing();
    target.captionAt.textContent = name ?? "";
  }
  source.language = controls.source;
  if (!comparing()) main.markAgainst(null);
}

function set(target, direction) {
  const same = Object.keys(direction).every((name) => target.direction[name] === direction[name]);
  if (!same) {
    target.text = source.text;
    target.configure(direction);
  } else if (target.text !== source.text) {
    target.update(source.text, true);
  }
}

function swap() {
  const text = main.complete ? main.translation : source.text;
  keepHistory();
  history.begin();
  source.text = text;
  for (const target of targets) target.clear();
  configure();
  setText(text);
}

// ---------------------------------------------------------------- answers

let announcing;
let keeping;

for (const target of targets) {
  target.addEventListener("answered", ({ answer }) => {
    if (target === main && controls.learn(answer.source)) configure();
  });
  target.addEventListener("drawn", () => {
    if (comparing() && main.complete && other.complete) {
      main.markAgainst(other);
      other.markAgainst(main);
    }
    if (inside.target === target) inside.update();
    relight();
  });
  target.addEventListener("settled", () => {
    inside.update();
    if (target !== main) return;
    clearTimeout(announcing);
    clearTimeout(keeping);
    if (!target.text.trim()) return;
    announcing = setTimeout(() => announce(spoken(target.translation)), ANNOUNCE_MS);
    keeping = setTimeout(keepHistory, HISTORY_MS);
  });
  target.addEventListener("failed", ({ error }) => {
    if (error.wantsKey && server.keys_required) askForKey(error.words);
  });
  target.addEventListener("light", ({ word, how }) => lightFromWord(target, word, how));
  target.addEventListener("open", ({ word }) => openMenu(target, word));
  target.copyAt.addEventListener("click", async () => {
    flash(target.copyAt, await copy(target.translation) ? "Copied" : "Not allowed");
  });
  target.linkAt.addEventListener("click", async () => {
    const { from, to, model } = controls.direction;
    const address = link({ from, to, model, compare: controls.compare.value, text: source.text });
    window.history.replaceState(null, "", address);
    flash(target.linkAt, await copy(address) ? "Copied" : "In address");
  });
  target.alternativesAt.addEventListener("click", () => inside.toggle("alternatives", target));
  target.lookAt.addEventListener("click", () => inside.toggle("attention", target));
}

function spoken(text) {
  return text.length > 300 ? "The translation is ready." : `Translation: ${text}`;
}

function expanded(open, tab) {
  for (const target of targets) {
    const mine = open && inside.target === target;
    target.alternativesAt.setAttribute("aria-expanded", String(mine && tab === "alternatives"));
    target.lookAt.setAttribute("aria-expanded", String(mine && tab !== "alternatives"));
  }
}

// ---------------------------------------------------------------- light

function relight() {
  for (const how of ["point", "focus"]) {
    lit[how] = lit[how]?.filter(({ target, sentence }) => target.sentences.includes(sentence) && !sentence.stale) ?? null;
  }
  const at = lit.point ?? lit.focus;
  for (const target of targets) target.light(null, null);
  if (!at) return source.light([]);
  let sources = [];
  for (const { target, sentence, word } of at) {
    const weights = lighting(sentence, word);
    target.light(sentence, weights.targets);
    if (!sources.length) sources = stretches(sentence, weights.sources);
  }
  source.light(sources);
}

function stretches(sentence, weights) {
  return sentence.sourceWords.flatMap(({ start, end }, index) => {
    const weight = visible(weights[index] ?? 0);
    return weight && start !== null ? [{ start: sentence.start + start, end: sentence.start + end, weight }] : [];
  });
}

function lightFromWord(target, word, how) {
  lit[how] = word && !word.sentence.stale ? [{ target, sentence: word.sentence, word: { target: word.index } }] : null;
  if (word && how === "focus") inside.look(target, word.sentence);
  relight();
}

function lightFromText(place, how) {
  const found = panes().flatMap((target) => {
    const sentence = place === null ? null : target.sentences.find((one) => one.start <= place && place <= one.end);
    if (!sentence || sentence.stale) return [];
    const at = place - sentence.start;
    const index = sentence.sourceWords.findIndex(({ start, end }) => start !== null && start <= at && at < end);
    if (how === "focus" && target === (inside.target ?? main)) inside.look(target, sentence);
    return index < 0 ? [] : [{ target, sentence, word: { source: index } }];
  });
  lit[how] = found.length ? found : null;
  relight();
}

// ---------------------------------------------------------------- continuations

function openMenu(target, word) {
  const { sentence } = word;
  if (sentence.stale) return;
  const request = { text: sentence.text, source: sentence.from, target: sentence.to, split: false };
  if (target.direction.model) request.model = target.direction.model;
  inside.look(target, sentence);
  menu.open(word, request, (prefix, wanted) => {
    const index = word.index;
    target.choose(sentence, prefix, wanted).then(() => target.focusWord(sentence, index));
  });
}

// ---------------------------------------------------------------- history, links, key, help

function keepHistory() {
  if (!main.complete || !main.sentences.length) return;
  const { from, to, model } = controls.direction;
  history.keep({ text: main.text, translation: main.translation, from, to, model });
}

function openEntry({ text, from, to, model }) {
  controls.refresh({ from, to, model });
  source.text = text;
  configure();
  setText(text);
}

addEventListener("hashchange", () => {
  const fields = linked();
  if (!fields) return;
  controls.refresh(fields);
  source.text = fields.text ?? source.text;
  configure();
  setText(source.text);
});

addEventListener("pagehide", keepHistory);

function askForKey(why) {
  const dialog = byId("key");
  if (dialog.open) return;
  byId("key-value").value = "";
  if (api.key() !== null) byId("key-note").textContent = `${why} The key may be wrong.`;
  dialog.showModal();
}

byId("key").querySelector("form").addEventListener("submit", () => {
  api.setKey(byId("key-value").value.trim());
  if (server.models.length) changed(source.text, true);
  else start();
});

byId("open-history").addEventListener("click", () => history.open());
byId("open-help").addEventListener("click", () => byId("help").showModal());
const nextTheme = setUpTheme(byId("theme"));

const active = () => inside.target ?? main;
setUpKeys({
  "/": () => source.area.focus(),
  t: focusTranslation,
  s: () => controls.swapButton.click(),
  c: () => active().copyAt.click(),
  a: () => active().alternativesAt.click(),
  i: () => active().lookAt.click(),
  h: () => history.open(),
  d: nextTheme,
  "?": () => byId("help").showModal(),
});

// ---------------------------------------------------------------- the beginning

async function start(attempt = 0) {
  const notice = byId("notice");
  try {
    server = await api.models();
  } catch (error) {
    if (!(error instanceof api.Refused)) throw error;
    if (error.wantsKey) askForKey(error.words);
    const seconds = error.retryAfter ?? Math.min(30, 2 ** attempt);
    const timer = error.mayPass ? setTimeout(() => start(attempt + 1), 1000 * seconds) : null;
    const again = make("button", { type: "button", class: "quiet", click: () => { clearTimeout(timer); start(attempt + 1); } }, "Try now");
    notice.replaceChildren(`${error.words} ${timer === null ? "" : "It is asked again every now and then. "}`, again);
    notice.hidden = false;
    return;
  }
  notice.hidden = true;
  const fields = linked();
  controls.serve(server.models, fields ?? {});
  if (fields?.text) source.text = fields.text;
  if (server.keys_required && api.key() === null) askForKey("");
  configure();
  changed(source.text, true);
}

addEventListener("online", () => { for (const target of panes()) if (target.failure) target.update(target.text, true); });
start();
