/** A translation as words that the user can point at, step through with the keys, and open. */

import { make } from "./dom.js";

/** The element of one sentence; made once for each translation of it. */
export function sentenceElement(sentence) {
  const element = make("span", { class: "sentence" });
  let from = 0;
  sentence.words.forEach((word, index) => {
    if (word.start === null || word.start < from) return;
    element.append(sentence.translation.slice(from, word.start));
    const text = sentence.translation.slice(word.start, word.end);
    const node = make("span", { class: "word", role: "button", tabindex: "-1", "aria-haspopup": "dialog" }, text);
    Object.assign(node, { sentence, index });
    element.append(node);
    from = word.end;
  });
  element.append(sentence.translation.slice(from));
  return element;
}

/** The word that an event is about, or null. */
export function wordOf(event) {
  return event.target instanceof Element ? event.target.closest(".word") : null;
}

const middle = (word) => {
  const box = word.getBoundingClientRect();
  return { x: box.left + box.width / 2, y: box.top + box.height / 2, height: box.height };
};

/** The nearest word in the line above (-1) or below (1) on the screen. */
function vertical(words, word, way) {
  const here = middle(word);
  const beyond = words.map((other) => ({ other, at: middle(other) }))
    .filter(({ at }) => (at.y - here.y) * way > here.height / 2);
  const line = Math.min(...beyond.map(({ at }) => Math.abs(at.y - here.y)));
  const near = beyond.filter(({ at }) => Math.abs(at.y - here.y) < line + here.height / 2);
  near.sort((one, other) => Math.abs(one.at.x - here.x) - Math.abs(other.at.x - here.x));
  return near[0]?.other;
}

/** Where a key leads from a word: a word, or undefined. */
function destination(words, word, key) {
  const at = words.indexOf(word);
  const right = getComputedStyle(word).direction === "rtl" ? -1 : 1;
  switch (key) {
    case "ArrowRight": return words[at + right];
    case "ArrowLeft": return words[at - right];
    case "ArrowDown": return vertical(words, word, 1);
    case "ArrowUp": return vertical(words, word, -1);
    case "Home": return words[0];
    case "End": return words.at(-1);
  }
}

/** Lets the keys move from word to word in the container. Only one word at a time can be reached with Tab. */
export function setUpWords(container, { onLight, onOpen }) {
  const words = () => [...container.querySelectorAll(".word")];
  const enter = (word) => {
    words().forEach((other) => { other.tabIndex = -1; });
    word.tabIndex = 0;
    word.focus();
  };
  container.addEventListener("keydown", (event) => {
    const all = words();
    if (event.ctrlKey || event.metaKey || event.altKey || !all.length) return;
    const word = wordOf(event);
    const keys = ["ArrowRight", "ArrowLeft", "ArrowDown", "ArrowUp", "Home", "End"];
    if (keys.includes(event.key)) {
      const next = word ? destination(all, word, event.key) : all[0];
      if (next) enter(next);
      event.preventDefault();
    } else if (word && (event.key === "Enter" || event.key === " ")) {
      event.preventDefault();
      onOpen(word);
    }
  });
  container.addEventListener("focusin", (event) => onLight(wordOf(event), "focus"));
  container.addEventListener("focusout", (event) => {
    if (!container.contains(event.relatedTarget)) onLight(null, "focus");
  });
  container.addEventListener("pointerover", (event) => {
    if (event.pointerType !== "touch") onLight(wordOf(event), "point");
  });
  container.addEventListener("pointerleave", () => onLight(null, "point"));
  container.addEventListener("click", (event) => {
    const word = wordOf(event);
    if (!word || String(getSelection())) return; // a selection is meant for the clipboard
    enter(word);
    onOpen(word);
  });
  return { enter, words };
}

/** Indices of words that the other translation lacks or has elsewhere: words outside the longest common subsequence. */
export function differing(words, others) {
  const rows = Array.from({ length: words.length + 1 }, () => new Uint16Array(others.length + 1));
  for (let i = words.length - 1; i >= 0; i -= 1) {
    for (let j = others.length - 1; j >= 0; j -= 1) {
      rows[i][j] = words[i] === others[j] ? rows[i + 1][j + 1] + 1 : Math.max(rows[i + 1][j], rows[i][j + 1]);
    }
  }
  const result = new Set();
  for (let i = 0, j = 0; i < words.length;) {
    if (j < others.length && words[i] === others[j]) { i += 1; j += 1; }
    else if (j < others.length && rows[i][j + 1] > rows[i + 1][j]) j += 1;
    else { result.add(i); i += 1; }
  }
  return result;
}
