/** The text to translate: a textarea over a mirror of the same size and font, in which words are lit. */

import { make } from "./dom.js";

/**
 * `onInput(text, now)`: the text changed; `now`: it was pasted, so that no more typing is expected.
 * `onPlace(offset, how)`: the pointer ("point") or the caret ("focus") is at this offset; null: nowhere in the text.
 */
export class Source {
  constructor({ area, mirror, marks, onInput, onPlace }) {
    Object.assign(this, { area, mirror, marks });
    area.addEventListener("input", (event) => {
      this.reflect();
      // Text that an input method is still composing does not count yet.
      if (!event.isComposing) onInput(area.value, ["insertFromPaste", "insertFromDrop"].includes(event.inputType));
    });
    area.addEventListener("compositionend", () => onInput(area.value, false));
    area.addEventListener("pointermove", (event) => {
      if (event.pointerType !== "touch") onPlace(this.placeAt(event.clientX, event.clientY), "point");
    });
    area.addEventListener("pointerleave", () => onPlace(null, "point"));
    area.addEventListener("blur", () => onPlace(null, "focus"));
    for (const name of ["keyup", "click"]) {
      area.addEventListener(name, (event) => {
        const moved = name === "click" || /^(Arrow|Home|End|Page)/.test(event.key);
        if (moved) onPlace(area.selectionStart === area.selectionEnd ? area.selectionStart : null, "focus");
      });
    }
    addEventListener("resize", () => this.light([]));
    this.reflect();
  }

  get text() { return this.area.value; }

  /** Sets the text without a call of `onInput`. */
  set text(text) {
    this.area.value = text;
    this.reflect();
  }

  set language(code) {
    for (const element of [this.area, this.mirror]) {
      if (code) element.lang = code;
      else element.removeAttribute("lang");
    }
  }

  reflect() {
    this.mirror.textContent = `${this.area.value}\n`; // the last line end would not be shown otherwise
    this.light([]);
  }

  range(start, end) {
    const range = document.createRange();
    const letters = this.mirror.firstChild;
    range.setStart(letters, Math.min(start, letters.length));
    range.setEnd(letters, Math.min(end, letters.length));
    return range;
  }

  /** The offset under a point of the screen, or null where there is no letter. */
  placeAt(x, y) {
    const inside = (box) => x >= box.left && x <= box.right && y >= box.top && y <= box.bottom;
    this.mirror.style.setProperty("z-index", "2"); // the browser answers for the topmost element: the mirror
    let place = null;
    if (document.caretPositionFromPoint) {
      const at = document.caretPositionFromPoint(x, y);
      if (at?.offsetNode === this.mirror.firstChild) place = at.offset;
    } else {
      const at = document.caretRangeFromPoint(x, y);
      if (at?.startContainer === this.mirror.firstChild) place = at.startOffset;
    }
    this.mirror.style.removeProperty("z-index");
    if (place === null) return null;
    const near = this.range(Math.max(0, place - 1), place + 1);
    return [...near.getClientRects()].some(inside) ? place : null;
  }

  /** Lights stretches of the text: [{start, end, weight}], weight in 0 … 1. */
  light(stretches) {
    const frame = this.marks.getBoundingClientRect();
    this.marks.replaceChildren(...stretches.flatMap(({ start, end, weight }) =>
      [...this.range(start, end).getClientRects()].map((box) => {
        const mark = make("span", { class: "mark" });
        const style = { left: box.left - frame.left, top: box.top - frame.top, width: box.width, height: box.height };
        for (const [name, value] of Object.entries(style)) mark.style.setProperty(name, `${value}px`);
        mark.style.setProperty("--w", weight.toFixed(3));
        return mark;
      })));
  }
}
