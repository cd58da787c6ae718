/** The menu at a word of the translation: continuations of the sentence from there, to be chosen or typed. */

import * as api from "./api.js";
import { byId, make, percent } from "./dom.js";

const DEBOUNCE_MS = 150;
const COUNT = 8;

/**
 * Start and end of a continuation in the translation that it leads to, and `held`: the translation up to that end, to
 * which the next search is held. `text` follows the prefix, or is the whole word that the prefix began.
 */
function beginning(prefix, { text, translation }) {
  const word = prefix.search(/\S*$/);
  const known = prefix.trimEnd().length;
  const whole = { start: Math.min(word, known), end: translation.length, held: translation };
  if (!text) return whole; // the sentence ends
  for (let at = translation.indexOf(text, Math.min(word, known)); at >= 0; at = translation.indexOf(text, at + 1)) {
    const end = at + text.length;
    const held = translation.slice(0, end) + (translation[end] === " " ? " " : "");
    if (end > known) return { start: Math.min(at, word), end, held };
  }
  return whole;
}

export class Menu {
  constructor() {
    this.root = byId("menu");
    this.input = byId("menu-own");
    this.list = byId("menu-list");
    this.note = byId("menu-note");
    this.root.addEventListener("toggle", (event) => { if (event.newState === "closed") this.closed(); });
    this.input.addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.load(), DEBOUNCE_MS);
    });
    this.input.addEventListener("keydown", (event) => this.key(event));
    this.list.addEventListener("click", (event) => {
      const option = event.target.closest("[role=option]");
      if (option) this.pick(option);
    });
  }

  /** Opens at the word; `choose(prefix, wanted)` gets the user's choice. */
  open(word, request, choose) {
    const { sentence, index } = word;
    const prefix = sentence.translation.slice(0, sentence.words[index].start);
    Object.assign(this, { word, request, choose, prefix, language: sentence.to });
    this.input.value = "";
    this.input.lang = this.list.lang = sentence.to;
    this.list.replaceChildren();
    this.root.showPopover();
    this.positionAt(word);
    if (matchMedia("(pointer: fine)").matches) this.input.focus();
    this.load();
  }

  positionAt(word) {
    const box = word.getBoundingClientRect();
    const { width, height } = { width: this.root.offsetWidth, height: 380 };
    const rtl = getComputedStyle(word).direction === "rtl";
    const left = Math.min(Math.max(8, rtl ? box.right - width : box.left), innerWidth - width - 8);
    const above = box.bottom + height > innerHeight && box.top > innerHeight - box.bottom;
    this.root.style.setProperty("--left", `${left}px`);
    this.root.style.setProperty("--top", above ? "auto" : `${box.bottom + 6}px`);
    this.root.style.setProperty("--bottom", above ? `${innerHeight - box.top + 6}px` : "auto");
    this.root.style.setProperty("--room", `${Math.max(200, (above ? box.top : innerHeight - box.bottom) - 20)}px`);
  }

  closed() {
    clearTimeout(this.timer);
    this.control?.abort();
    this.control = null;
    if (this.word?.isConnected && [document.body, this.input, null].includes(document.activeElement)) this.word.focus();
  }

  async load() {
    this.control?.abort();
    const control = this.control = new AbortController();
    const prefix = this.prefix + this.input.value;
    this.say(this.list.children.length ? "" : "Looking …");
    try {
      const answer = await api.continuations({ ...this.request, prefix, count: COUNT }, control.signal);
      if (!control.signal.aborted) this.show(prefix, answer.continuations);
    } catch (error) {
      if (control.signal.aborted) return;
      if (!(error instanceof api.Refused)) throw error;
      this.list.replaceChildren();
      this.say(error.words);
    }
  }

  say(text) {
    this.note.textContent = text;
    this.note.hidden = !text;
  }

  show(prefix, continuations) {
    this.say(continuations.length ? "" : "The model knows no continuation here. What you type is kept, then Enter.");
    this.list.replaceChildren(...continuations.map((one, index) => {
      const { start, end, held } = beginning(prefix, one);
      const ends = one.end && end >= one.translation.length && !one.text;
      const option = make("li", { role: "option", id: `menu-${index}`, "aria-selected": "false" },
        make("span", { class: "share", "aria-hidden": "true" }),
        make("b", {}, ends ? "(the sentence ends)" : one.translation.slice(start, end)),
        make("span", { class: "rest" }, one.translation.slice(end)),
        make("span", { class: "number" }, percent(one.probability)));
      option.style.setProperty("--w", one.probability.toFixed(3));
      option.chosen = { prefix: held, wanted: one.end ? one.translation : null };
      return option;
    }));
    this.activate(null);
  }

  get active() { return this.list.querySelector('[aria-selected="true"]'); }

  activate(option) {
    this.active?.setAttribute("aria-selected", "false");
    option?.setAttribute("aria-selected", "true");
    option?.scrollIntoView({ block: "nearest" });
    if (option) this.input.setAttribute("aria-activedescendant", option.id);
    else this.input.removeAttribute("aria-activedescendant");
  }

  key(event) {
    const options = [...this.list.children];
    const at = options.indexOf(this.active);
    if (event.isComposing) return;
    if (event.key === "ArrowDown") this.activate(options[Math.min(at + 1, options.length - 1)]);
    else if (event.key === "ArrowUp") this.activate(at > 0 ? options[at - 1] : null);
    else if (event.key === "Enter" && this.active) this.pick(this.active);
    else if (event.key === "Enter" && this.input.value.trim()) this.pick({ chosen: { prefix: this.prefix + this.input.value, wanted: null } });
    else if (event.key === "Tab") this.root.hidePopover();
    else return;
    if (event.key !== "Tab") event.preventDefault();
  }

  pick({ chosen }) {
    this.root.hidePopover();
    this.choose(chosen.prefix, chosen.wanted);
  }
}
