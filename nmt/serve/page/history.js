/** The history of translations, kept in this browser alone. */

import { byId, make, recall, remember } from "./dom.js";

const NAME = "nmt-history";
const MOST = 50;

function read() {
  try {
    const kept = JSON.parse(recall(NAME));
    return { on: kept.on !== false, entries: Array.isArray(kept.entries) ? kept.entries : [] };
  } catch {
    return { on: true, entries: [] };
  }
}

function write(history) {
  remember(NAME, JSON.stringify(history));
}

export class History {
  /** `onOpen(entry)` gets the entry to show again. */
  constructor(onOpen) {
    this.onOpen = onOpen;
    this.dialog = byId("history");
    this.draft = null;
    byId("history-on").addEventListener("change", (event) => {
      write({ on: event.target.checked, entries: event.target.checked ? read().entries : [] });
      this.show();
    });
    byId("history-clear").addEventListener("click", () => { write({ on: read().on, entries: [] }); this.show(); });
  }

  /** Begins a new text. The text before it stays in the history as its own entry. */
  begin() { this.draft = null; }

  /** Keeps a text and its translation, in place of an earlier form of the same draft. */
  keep(entry) {
    const { on, entries } = read();
    if (!on || !entry.text.trim()) return;
    this.draft ??= Date.now();
    const others = entries.filter((one) => one.draft !== this.draft && !(one.text === entry.text && one.to === entry.to));
    write({ on, entries: [{ ...entry, draft: this.draft }, ...others].slice(0, MOST) });
  }

  open() {
    this.show();
    this.dialog.showModal();
  }

  show() {
    const { on, entries } = read();
    byId("history-on").checked = on;
    byId("history-clear").disabled = !entries.length;
    const rows = entries.map((entry) => make("li", {},
      make("button", { type: "button", class: "entry", click: () => { this.dialog.close(); this.begin(); this.onOpen(entry); } },
        make("span", { dir: "auto" }, entry.text), make("span", { class: "soft", dir: "auto" }, entry.translation)),
      make("button", { type: "button", class: "quiet icon", "aria-label": `Delete “${entry.text.slice(0, 40)}”`, click: () => this.remove(entry) }, "×")));
    const nothing = make("li", { class: "soft" }, on ? "Nothing yet." : "The history is off.");
    byId("history-list").replaceChildren(...(rows.length ? rows : [nothing]));
  }

  remove(entry) {
    const { on, entries } = read();
    write({ on, entries: entries.filter((one) => one.draft !== entry.draft || one.text !== entry.text) });
    this.show();
  }
}
