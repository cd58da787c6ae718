/** The menus of languages and models. Each choice narrows the others to what the server offers. */

import { byId, make, recall, remember } from "./dom.js";

const unique = (values) => [...new Set(values)];

/** Fills a select and chooses `wanted`, or the first option if `wanted` is not among them. Returns the choice. */
function offer(select, options, wanted) {
  select.replaceChildren(...options.map(([value, text]) => make("option", { value }, text)));
  select.value = options.some(([value]) => value === wanted) ? wanted : options[0]?.[0] ?? "";
  return select.value;
}

export class Controls {
  /** `onChange()`: the user has changed languages or models; `onSwap(direction)`: the languages were swapped. */
  constructor({ onChange, onSwap }) {
    this.models = [];
    this.detected = null;
    this.from = byId("from");
    this.to = byId("to");
    this.model = byId("model");
    this.compare = byId("compare");
    this.swapButton = byId("swap");
    this.from.addEventListener("change", () => { this.detected = null; this.refresh(); onChange(); });
    this.to.addEventListener("change", () => { this.refresh(); onChange(); });
    this.model.addEventListener("change", () => { this.refresh(); onChange(); });
    this.compare.addEventListener("change", onChange);
    this.swapButton.addEventListener("click", () => this.swap(onSwap));
  }

  /** Offers the models that the server has; `wanted` is {from, to, model, compare} of a link, if there is one. */
  serve(models, wanted = {}) {
    this.models = models;
    const [from, to] = (recall("nmt-languages") ?? "").split(" ");
    this.refresh({ from, to, ...wanted });
  }

  name(code) {
    const model = this.models.find((one) => one.source === code || one.target === code);
    return model ? (model.source === code ? model.source_name : model.target_name) : code;
  }

  /** The source language, chosen or detected; null if it is unknown. */
  get source() { return this.from.value === "auto" ? this.detected : this.from.value; }
  get direction() { return { from: this.from.value, to: this.to.value, model: this.model.value }; }

  served(source, target) {
    return this.models.filter((one) => one.source === source && one.target === target);
  }

  refresh(wanted = {}) {
    const named = (codes) => codes.map((code) => [code, this.name(code)]);
    const sources = named(unique(this.models.map((one) => one.source)));
    const found = this.detected ? `${this.name(this.detected)} (detected)` : "Detect language";
    const from = offer(this.from, sources.length > 1 ? [["auto", found], ...sources] : sources, wanted.from ?? this.from.value);
    const targets = this.models.filter((one) => from === "auto" || one.source === from).map((one) => one.target);
    const to = offer(this.to, named(unique(targets)), wanted.to ?? this.to.value);
    const names = this.served(this.source, to).map((one) => one.name);
    const model = offer(this.model, names.length ? names.map((name) => [name, name]) : [["", "automatic"]], wanted.model ?? this.model.value);
    const others = names.filter((name) => name !== model).map((name) => [name, name]);
    offer(this.compare, [["", "nothing"], ...others], wanted.compare ?? this.compare.value);
    this.model.disabled = names.length < 2;
    byId("compare-label").hidden = names.length < 2;
    this.swapButton.disabled = !this.source || !this.served(to, this.source).length;
    if (wanted.from === undefined) remember("nmt-languages", `${from} ${to}`);
  }

  /** Takes the detected language from an answer; returns whether it is new. */
  learn(language) {
    if (this.from.value !== "auto" || this.detected === language) return false;
    this.detected = language;
    this.refresh();
    return true;
  }

  swap(onSwap) {
    const [from, to] = [this.to.value, this.source];
    if (this.swapButton.disabled) return;
    this.detected = null;
    this.from.value = from;
    this.refresh({ to });
    remember("nmt-languages", `${from} ${to}`);
    onSwap();
  }
}
