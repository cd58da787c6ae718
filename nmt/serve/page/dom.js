/** Small helpers for elements, announcements and what this browser remembers. */

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

/** An element of HTML. A function among the attributes is a listener; null and false leave an attribute out. */
export function make(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** An element of SVG. */
export function draw(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** A piece of a word, with the sign of a word's beginning in a faint colour; `pen` is `make` or `draw`. */
export function piece(text, pen = make) {
  if (!text.startsWith("▁")) return [text];
  return [pen(pen === make ? "span" : "tspan", { class: "begin" }, "▁"), text.slice(1)];
}

/** Tells a screen reader, when it has finished what it reads. */
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

/** What was remembered under the name, or null: also where the browser allows no storage. */
export function recall(name) {
  try { return localStorage.getItem(name); } catch { return null; }
}

/** Remembers a text in this browser; null forgets it. */
export function remember(name, value) {
  try {
    if (value === null) localStorage.removeItem(name);
    else localStorage.setItem(name, value);
  } catch { /* full or forbidden: the page works without */ }
}

/** Puts text into the clipboard; on plain http, where the modern way is closed, in the old way. */
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

/** Shows for a moment on the button itself that something was done. */
export function flash(button, text) {
  button.dataset.before ??= button.textContent;
  button.textContent = text;
  clearTimeout(button.flashing);
  button.flashing = setTimeout(() => { button.textContent = button.dataset.before; }, 1500);
  announce(text);
}
