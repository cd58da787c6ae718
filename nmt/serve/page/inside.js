/** The panel below the panes: alternatives, attention and search of one sentence. */

import { alternatives } from "./alternatives.js";
import * as api from "./api.js";
import { attentionView } from "./attention.js";
import { byId, make } from "./dom.js";
import { treeView } from "./tree.js";

const TABS = ["alternatives", "attention", "search"];
const DEBOUNCE_MS = 120;
const MOST_CELLS = 40000; // of a matrix of attention: with more, the browser stands still

export class Inside {
  /** `limits()` of the server; `suggestions()`: does it keep suggestions? `onToggle(open, tab)`: the panel changed. */
  constructor({ limits, suggestions, onToggle }) {
    Object.assign(this, { limits, suggestions, onToggle, tab: "alternatives", target: null, sentence: null, shown: { layer: "", head: "" } });
    this.root = byId("inside");
    this.panel = byId("tabpanel");
    for (const tab of TABS) {
      byId(`tab-${tab}`).addEventListener("click", () => this.open(tab));
      byId(`tab-${tab}`).addEventListener("keydown", (event) => this.key(event, tab));
    }
    byId("previous").addEventListener("click", () => this.step(-1));
    byId("next").addEventListener("click", () => this.step(1));
    byId("close-inside").addEventListener("click", () => this.close());
    this.root.addEventListener("keydown", (event) => { if (event.key === "Escape") this.close(); });
  }

  get isOpen() { return !this.root.hidden; }

  /** For the buttons of the panes: opens the tab, or closes the panel if the tab is open already. */
  toggle(tab, target) {
    const same = this.isOpen && this.target === target && (tab === "alternatives") === (this.tab === "alternatives");
    if (same) return this.close();
    this.look(target);
    this.open(tab);
    this.root.scrollIntoView({ block: "nearest" });
    byId(`tab-${tab}`).focus({ preventScroll: true });
  }

  open(tab) {
    this.tab = tab;
    this.root.hidden = false;
    for (const other of TABS) {
      byId(`tab-${other}`).setAttribute("aria-selected", String(other === tab));
      byId(`tab-${other}`).tabIndex = other === tab ? 0 : -1;
    }
    this.panel.setAttribute("aria-labelledby", `tab-${tab}`);
    this.onToggle(true, tab);
    this.update();
  }

  close() {
    const button = this.tab === "alternatives" ? this.target?.alternativesAt : this.target?.lookAt;
    this.root.hidden = true;
    this.onToggle(false, this.tab);
    button?.focus();
  }

  key(event, tab) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = TABS[(TABS.indexOf(tab) + step + TABS.length) % TABS.length];
    this.open(next);
    byId(`tab-${next}`).focus();
  }

  /** Turns to a pane and, if a sentence is given, to that sentence of the pane. */
  look(target, sentence = null) {
    if (target === this.target && (sentence === null || sentence === this.sentence)) return;
    this.target = target;
    this.sentence = sentence;
    this.update();
  }

  step(by) {
    const sentences = this.target.sentences;
    this.look(this.target, sentences[sentences.indexOf(this.sentence) + by] ?? this.sentence);
  }

  /** Shows the sentence as it is now. */
  update() {
    if (!this.target) return;
    const sentences = this.target.sentences.filter((one) => !one.stale);
    if (!sentences.includes(this.sentence)) {
      const place = this.sentence?.start ?? 0;
      this.sentence = sentences.findLast((one) => one.start <= place) ?? sentences[0] ?? null;
    }
    for (const one of this.target.sentences) one.element?.classList.toggle("current", this.isOpen && sentences.length > 1 && one === this.sentence);
    if (!this.isOpen) return;
    const at = sentences.indexOf(this.sentence);
    byId("which").textContent = sentences.length > 1 ? `Sentence ${at + 1} of ${sentences.length}` : "";
    byId("previous").hidden = byId("next").hidden = sentences.length < 2;
    byId("previous").disabled = at <= 0;
    byId("next").disabled = at + 1 >= sentences.length;
    clearTimeout(this.timer);
    this.control?.abort();
    this.control = null;
    if (!this.sentence) this.panel.replaceChildren(make("p", { class: "soft" }, "Nothing is translated yet."));
    else if (this.sentence.details) this.show();
    else this.timer = setTimeout(() => this.load(this.target, this.sentence), DEBOUNCE_MS);
  }

  async load(target, sentence) {
    const control = this.control = new AbortController();
    const more = { n_best: Math.min(5, this.limits().n_best), attention: "pieces", tree: true };
    if (sentence.prefix !== null) more.prefix = sentence.prefix;
    try {
      const details = await target.ask(sentence, more, control.signal);
      if (control.signal.aborted) return;
      sentence.details = sentence.others ? { ...details, n_best: sentence.others } : details;
      this.show();
    } catch (error) {
      if (control.signal.aborted) return;
      if (!(error instanceof api.Refused)) throw error;
      const again = make("button", { type: "button", class: "quiet", click: () => this.update() }, "Try again");
      this.panel.replaceChildren(make("p", {}, `${error.words} `, again));
    }
  }

  show() {
    const { details } = this.sentence;
    const { model, checksum, settings, milliseconds } = details.answer;
    const origin = `${model} (${checksum.slice(0, 8)}), beam ${settings.beam}, ${Math.round(milliseconds)} ms`;
    this.panel.replaceChildren(...this.views()[this.tab](details), make("p", { class: "soft" }, origin));
  }

  /** Makes an alternative the translation. The list stays, although the new search was held to this alternative. */
  async choose(text, others) {
    const { sentence } = this;
    await this.target.choose(sentence, text, text);
    sentence.others = others;
  }

  views() {
    const missing = (text) => [make("p", { class: "soft" }, text)];
    return {
      alternatives: (details) => alternatives(details, this.sentence, {
        choose: (text) => this.choose(text, details.n_best),
        suggestions: this.suggestions(),
      }),
      attention: (details) => {
        if (!details.word_attention) return missing("This model has no attention: the whole text went through one vector.");
        const { source_pieces: source, target_pieces: target } = details;
        if (!details.attention || source.length * target.length > MOST_CELLS) return missing("This sentence is too long to show its attention.");
        return attentionView(details, this.sentence, this.shown);
      },
      search: (details) => (details.tree ? treeView(details.tree, this.sentence) : missing("The server tells nothing about its search.")),
    };
  }
}
