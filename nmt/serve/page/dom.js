/** Small helpers for elements, announcements and the browser's storage. */

const SVG = "http://www.w3.org/2000/svg";

export function byId(id) {
  return document.getElementById(id);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

/** An HTML element. A function among the attributes is a listener; null and false leave an attribute out. */
export function make(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** An SVG element. */
export function draw(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** A piece of a word; ▁, the sign of a word's beginning, gets a faint colour. `pen` is `make` or `draw`. */
export function piece(text, pen = make) {
  if (!text.startsWith("▁")) return [text];
  return [pen(pen === make ? "span" : "tspan", { class: "begin" }, "▁"), text.slice(1)];
}

/** Has a screen reader speak the text, after the one it is reading. */
export function announce(text) {
  byId("live").textContent = text;
}

/** A number with a true minus sign. */
export function signed(number, digits = 2) {
  return number.toFixed(digits).replace("-", "−");
}

export function percent(share) {
  return share > 0 && share < 0.005 ? "<1 %" : `${Math.round(100 * share)} %`;
}

/** The text remembered under a name; null if there is none, or if the browser allows no storage. */
export function recall(name) {
  try { return localStorage.getItem(name); } catch { return null; }
}

/** Remembers a text in this browser; null forgets it. */
export function remember(name, value) {
  try {
    if (value === null) localStorage.removeItem(name);
    else localStorage.setItem(name, value);
  } catch { /* the storage is full or forbidden: the page works without it */ }
}

/** Copies a text to the clipboard. Plain http has no navigator.clipboard, so the old way is used there. */
export async function copy(text) {
  if (navigator.clipboard) {
    try { await navigator.clipboard.writeText(text); return true; } catch { /* not allowed: try the old way */ }
  }
  const area = make("textarea", { class: "sr", "aria-hidden": "true" });
  const focused = document.activeElement;
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  focused?.focus();
  return done;
}

/** Shows a message on the button itself, for a moment. */
export function flash(button, text) {
  button.dataset.before ??= button.textContent;
  button.textContent = text;
  clearTimeout(button.flashing);
  button.flashing = setTimeout(() => { button.textContent = button.dataset.before; }, 1500);
  announce(text);
}
