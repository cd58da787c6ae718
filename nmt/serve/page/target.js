/** One pane of translation: its content, its requests to the server, and its messages when they fail. */

import * as api from "./api.js";
import { make } from "./dom.js";
import { gap, joined, keep, received, replace, segmented, translated, uncovered } from "./sentences.js";
import { differing, sentenceElement, setUpWords } from "./words.js";

const DEBOUNCE_MS = 150;
const LONG = 300; // characters; a longer text comes sentence by sentence
const CACHED = 500; // so many runs of text are kept with their translations
const FAINT = 0.08; // weaker attention is not shown

export class Target extends EventTarget {
  /** `limits()` gives the server's limits. */
  constructor(root, limits) {
    super();
    this.root = root;
    this.limits = limits;
    for (const name of ["words", "whole", "empty", "status", "bar", "caption", "cautions", "copy", "link", "undo", "alternatives", "look"]) {
      this[`${name}At`] = root.querySelector(`.${name}`);
    }
    this.direction = { from: "auto", to: "", model: "" };
    this.cache = new Map();
    this.attempts = 0;
    this.refused = false; // is the text too long to be sent?
    this.changed = -Infinity; // the time of the last change
    this.clear();
    this.keys = setUpWords(this.wordsAt, {
      onLight: (word, how) => this.tell("light", { word, how }),
      onOpen: (word) => this.tell("open", { word }),
    });
    this.wordsAt.addEventListener("keydown", (event) => {
      if ((event.ctrlKey || event.metaKey) && event.key === "z") { event.preventDefault(); this.undo(); }
    });
    this.undoAt.addEventListener("click", () => this.undo());
  }

  tell(type, detail = {}) {
    this.dispatchEvent(Object.assign(new Event(type), detail));
  }

  clear() {
    this.sentences = [];
    this.choices = [];
    this.text = "";
  }

  /** Sets another direction or model, and translates everything again. */
  configure(direction) {
    this.direction = direction;
    this.detected = null;
    this.stop();
    const text = this.text;
    this.clear();
    this.update(text, true);
  }

  get language() { return this.direction.to; }
  get translation() { return joined(this.text, this.sentences, this.language); }
  get complete() { return !this.control && !this.timer && !this.failure && !this.refused; }

  stop() {
    clearTimeout(this.timer);
    this.timer = null;
    this.control?.abort();
    this.control = null;
    this.busy(false);
  }

  /**
   * Takes a changed text. The first change after a pause is sent to the server at once; during fast typing, only what
   * then stays unchanged for DEBOUNCE_MS. `now`: nobody types.
   */
  update(text, now) {
    this.stop();
    const last = this.changed;
    this.changed = performance.now();
    this.refused = false;
    const typing = !now && this.changed - last < DEBOUNCE_MS;
    this.sentences = keep(this.sentences, this.text, text);
    this.text = text;
    if (!text.trim()) this.clear();
    this.attempts = 0;
    this.say(null);
    this.draw();
    if (text.trim()) this.timer = setTimeout(() => this.translate(), typing ? DEBOUNCE_MS : 0);
    else this.tell("settled");
  }

  /** Takes a changed text that is not sent to the server, and says why. */
  refuse(text, why) {
    this.stop();
    this.sentences = keep(this.sentences, this.text, text);
    this.text = text;
    this.refused = true;
    this.draw();
    this.say(why);
  }

  cacheKey(run) {
    return JSON.stringify([this.direction, run.text]);
  }

  remembered(run) {
    const kept = this.cache.get(this.cacheKey(run));
    return kept?.map((one) => ({ ...one, start: one.start + run.start, end: one.end + run.start, stale: false }));
  }

  remember(run, sentences) {
    this.cache.delete(this.cacheKey(run));
    this.cache.set(this.cacheKey(run), sentences.map((one) => ({ ...one, element: null, details: null, start: one.start - run.start, end: one.end - run.start })));
    if (this.cache.size > CACHED) this.cache.delete(this.cache.keys().next().value);
  }

  /** The source language of a request. Parts of a text take the language that was detected for the whole text. */
  sourceFor(runs) {
    const whole = runs.length === 1 && runs[0].text === this.text.trim();
    return this.direction.from === "auto" && this.detected && !whole ? this.detected : this.direction.from;
  }

  async translate() {
    this.timer = null;
    if (this.refused) { // a choice was made in a text that is too long
      this.busy(false);
      return this.draw();
    }
    const runs = [];
    for (const run of uncovered(this.text, this.sentences)) {
      const known = this.remembered(run);
      if (!known) runs.push(run);
      else this.place(run, known);
      if (known?.length && run.text === this.text.trim()) this.note({ source: known[0].from });
    }
    if (!runs.length) return this.settle();
    const more = runs.splice(this.limits().texts);
    const control = this.control = new AbortController();
    this.busy(true);
    const body = { text: runs.map((run) => run.text), source: this.sourceFor(runs), target: this.direction.to, attention: "words" };
    if (this.direction.model) body.model = this.direction.model;
    try {
      const answer = runs.reduce((sum, run) => sum + run.text.length, 0) > LONG
        ? await this.streamed(body, runs, control.signal)
        : await this.whole(body, runs, control.signal);
      if (control.signal.aborted) return;
      this.note(answer);
      this.control = null;
      this.attempts = 0;
      if (more.length) await this.translate();
      else this.settle();
    } catch (error) {
      if (control.signal.aborted) return;
      if (!(error instanceof api.Refused)) throw error;
      this.control = null;
      this.fail(error);
    }
  }

  read(raw, run) {
    return received(raw, run, { from: this.detected ?? this.direction.from, to: this.direction.to });
  }

  async whole(body, runs, signal) {
    const answer = await api.translate(body, signal);
    if (signal.aborted) return answer;
    this.note(answer);
    answer.texts.forEach((text, index) => {
      const sentences = text.sentences.map((raw) => this.read(raw, runs[index]));
      this.remember(runs[index], sentences);
      this.place(runs[index], sentences);
    });
    return answer;
  }

  async streamed(body, runs, signal) {
    const come = runs.map(() => []);
    const answer = await api.stream(body, signal, (raw) => {
      if (signal.aborted) return;
      const run = runs[raw.text];
      const sentence = this.read(raw, run);
      come[raw.text].push(sentence);
      this.place(run, [sentence], sentence.end);
      this.draw();
    });
    runs.forEach((run, index) => {
      if (signal.aborted) return;
      this.remember(run, come[index]);
      this.place(run, []);
    });
    return answer;
  }

  place(run, sentences, until) {
    this.sentences = replace(this.sentences, run, sentences, until);
  }

  note(answer) {
    this.detected = answer.source;
    this.tell("answered", { answer });
  }

  settle() {
    this.sentences = this.sentences.filter((one) => !one.stale);
    this.wholeAt.textContent = this.translation;
    this.busy(false);
    this.say(null);
    this.draw();
    this.tell("settled");
  }

  // ---------------------------------------------------------------- choices

  /**
   * Translates the sentence again with this beginning. If the model's translation is not exactly `wanted`, because the
   * model would go on after it, `wanted` is shown without attention.
   */
  async choose(sentence, prefix, wanted = null) {
    this.stop();
    const control = this.control = new AbortController();
    this.busy(true);
    try {
      const raw = await this.ask(sentence, { prefix, attention: "words" }, control.signal);
      if (control.signal.aborted) return;
      const chosen = translated(raw, sentence.text, this.language);
      const other = wanted !== null && chosen.translation !== wanted;
      this.exchange(sentence, other
        ? { translation: wanted, words: segmented(wanted, this.language), weights: null, sourceWords: [], score: null, caution: null, prefix: wanted }
        : { ...chosen, prefix });
      this.control = null;
      await this.translate(); // the rest, which this choice interrupted
    } catch (error) {
      if (control.signal.aborted) return;
      if (!(error instanceof api.Refused)) throw error;
      this.control = null;
      this.fail(error, () => this.choose(sentence, prefix, wanted));
    }
  }

  /** Asks the server about one sentence of this pane. */
  async ask(sentence, more, signal) {
    const body = { text: sentence.text, source: sentence.from, target: sentence.to, split: false, ...more };
    if (this.direction.model) body.model = this.direction.model;
    const { texts, ...answer } = await api.translate(body, signal);
    return { ...texts[0].sentences[0], answer };
  }

  exchange(sentence, parts) {
    const { translation, words, weights, sourceWords, score, caution, prefix } = sentence;
    this.choices.push([sentence, { translation, words, weights, sourceWords, score, caution, prefix }]);
    Object.assign(sentence, parts, { element: null, details: null, others: null });
  }

  undo() {
    while (this.choices.length) {
      const [sentence, parts] = this.choices.pop();
      if (!this.sentences.includes(sentence) || sentence.stale) continue;
      Object.assign(sentence, parts, { element: null, details: null, others: null });
      break;
    }
    this.draw();
    this.tell("settled");
  }

  // ---------------------------------------------------------------- what is shown

  draw() {
    const focused = document.activeElement?.closest?.(".word");
    const held = this.wordsAt.contains(focused) ? { sentence: focused.sentence, index: focused.index } : null;
    const nodes = this.sentences.flatMap((sentence, index) => {
      sentence.element ??= sentenceElement(sentence);
      sentence.element.classList.toggle("stale", sentence.stale);
      sentence.element.classList.toggle("doubtful", Boolean(sentence.caution));
      return [gap(this.text, this.sentences[index - 1], sentence, this.language), sentence.element];
    });
    const same = nodes.length === this.drawn?.length && nodes.every((node, index) => node === this.drawn[index]);
    if (!same) this.wordsAt.replaceChildren(...nodes);
    this.drawn = nodes;
    this.wordsAt.lang = this.wholeAt.lang = this.language;
    const first = this.wordsAt.querySelector('.word[tabindex="0"]') ?? this.wordsAt.querySelector(".word");
    if (first) first.tabIndex = 0;
    if (held && !same) this.focusWord(held.sentence, held.index);
    this.emptyAt.hidden = Boolean(this.text.trim());
    const cautions = this.sentences.filter((one) => one.caution && !one.stale);
    this.cautionsAt.hidden = !cautions.length;
    this.cautionsAt.replaceChildren(...cautions.map((one) => make("li", {}, `“${shorten(one.text)}” ${one.caution}`)));
    const none = !this.sentences.length;
    for (const button of [this.copyAt, this.linkAt, this.alternativesAt, this.lookAt]) button.disabled = none;
    this.undoAt.disabled = !this.choices.some(([sentence]) => this.sentences.includes(sentence) && !sentence.stale);
    this.tell("drawn");
  }

  focusWord(sentence, index) {
    const words = [...(sentence.element?.querySelectorAll(".word") ?? [])];
    const word = words.find((one) => one.index >= index) ?? words.at(-1);
    if (word?.isConnected) this.keys.enter(word);
  }

  /** Marks words that the other pane's translation of the same sentence lacks. */
  markAgainst(other) {
    for (const sentence of this.sentences) {
      const twin = other?.sentences.find((one) => one.start === sentence.start && one.end === sentence.end);
      const marked = twin ? differing(sentence.words.map((word) => word.text), twin.words.map((word) => word.text)) : new Set();
      for (const word of sentence.element?.querySelectorAll(".word") ?? []) word.classList.toggle("differs", marked.has(word.index));
    }
  }

  /** Lights words of a sentence: weights by index, or null for none. */
  light(sentence, weights) {
    for (const word of this.wordsAt.querySelectorAll(".lit")) {
      word.classList.remove("lit");
      word.style.removeProperty("--w");
    }
    for (const word of (weights && sentence.element?.querySelectorAll(".word")) || []) {
      const weight = visible(weights[word.index] ?? 0);
      if (!weight) continue;
      word.classList.add("lit");
      word.style.setProperty("--w", weight.toFixed(3));
    }
  }

  busy(on) {
    clearTimeout(this.slow);
    clearTimeout(this.slower);
    this.root.setAttribute("aria-busy", String(on));
    this.barAt.hidden = true;
    if (!on) return;
    this.slow = setTimeout(() => { this.barAt.hidden = false; }, 300);
    this.slower = setTimeout(() => this.say("The server is taking its time. The translation will appear here."), 5000);
  }

  /** Shows a message in the pane, with buttons for what the user can do; null removes the message. */
  say(message, ...buttons) {
    clearInterval(this.counting);
    this.failure = message !== null && buttons.length > 0;
    this.statusAt.hidden = message === null;
    this.statusAt.replaceChildren(...(message === null ? [] : [message, ...buttons]));
  }

  fail(error, again = () => this.translate()) {
    this.busy(false);
    this.tell("failed", { error });
    const retry = () => { clearTimeout(this.timer); this.say(null); again(); };
    const button = make("button", { type: "button", class: "quiet", click: retry }, "Try now");
    if (!error.mayPass) return this.say(error.words, button);
    this.attempts += 1;
    let seconds = Math.ceil(Math.max(error.retryAfter ?? 0, Math.min(30, 2 ** (this.attempts - 1))));
    const count = make("span", { "aria-hidden": "true" }, ` Next try in ${seconds} s.`);
    this.say(error.words, count, button);
    this.counting = setInterval(() => { seconds -= 1; count.textContent = ` Next try in ${Math.max(0, seconds)} s.`; }, 1000);
    this.timer = setTimeout(retry, 1000 * seconds);
  }
}

/** Attention from a word's point of view: weights of source words and of target words; the word itself has 1. */
export function lighting(sentence, { target = null, source = null }) {
  const one = (size, index) => Array.from({ length: size }, (_, at) => Number(at === index));
  const { weights, words, sourceWords } = sentence;
  if (target !== null) return { sources: weights?.[target] ?? [], targets: one(words.length, target) };
  return { sources: one(sourceWords.length, source), targets: weights?.map((row) => row[source]) ?? [] };
}

/** The strength of colour (0 … 1) for a weight; 0 if the weight is too small to show. */
export function visible(weight) {
  return weight < FAINT ? 0 : Math.min(1, weight ** 0.7);
}

function shorten(text) {
  return text.length > 40 ? `${text.slice(0, 39)}…` : text;
}
