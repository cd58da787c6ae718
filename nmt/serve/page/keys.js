/** Single-key shortcuts outside of text fields, which can be switched off, and the close buttons of dialogs. */

import { byId, recall, remember } from "./dom.js";

/** `actions` has a function for each key. */
export function setUpKeys(actions) {
  const on = byId("single-keys-on");
  on.checked = recall("nmt-single-keys") !== "off";
  on.addEventListener("change", () => remember("nmt-single-keys", on.checked ? null : "off"));
  addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input, textarea, select, dialog, [popover]");
    if (!on.checked || typing || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
  for (const button of document.querySelectorAll("dialog .close")) {
    button.addEventListener("click", () => button.closest("dialog").close());
  }
}
