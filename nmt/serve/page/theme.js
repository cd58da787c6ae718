/** The theme: the system's, light or dark; the choice is kept in this browser. */

import { remember } from "./dom.js";

const THEMES = ["system", "light", "dark"];

function current() {
  return document.documentElement.dataset.theme ?? "system";
}

function show(button) {
  button.textContent = `Theme: ${current()}`;
}

/** Makes the button cycle through the themes; returns the function for one step. */
export function setUpTheme(button) {
  function step() {
    const next = THEMES[(THEMES.indexOf(current()) + 1) % THEMES.length];
    if (next === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = next;
    remember("nmt-theme", next);
    show(button);
  }
  button.addEventListener("click", step);
  show(button);
  return step;
}
