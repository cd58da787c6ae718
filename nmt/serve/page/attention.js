/** The attention matrix as a heat map: a table that keys, screen readers and eyes can read alike. */

import { make, percent, piece } from "./dom.js";

/** The mean of matrices of the same size. */
function mean(matrices) {
  const [first] = matrices;
  return first.map((row, t) => row.map((_, s) => matrices.reduce((sum, matrix) => sum + matrix[t][s], 0) / matrices.length));
}

/** The matrix [target][source] of a layer and a head; "" takes the mean over all layers or heads. */
export function matrix(attention, layer, head) {
  const layers = layer === "" ? attention : [attention[Number(layer)]];
  return mean(layers.flatMap((heads) => (head === "" ? heads : [heads[Number(head)]])));
}

function choice(label, count, value, onChange) {
  const options = [["", `all ${count}, mean`], ...Array.from({ length: count }, (_, index) => [String(index), String(index + 1)])];
  const select = make("select", { change: () => onChange(select.value) }, ...options.map(([key, text]) => make("option", { value: key }, text)));
  select.value = value;
  return make("label", { hidden: count < 2 }, `${label} `, select);
}

/** The panel's content; `shown` = {layer, head} is kept between sentences. */
export function attentionView(details, sentence, shown) {
  const { attention, source_pieces: source, target_pieces: target } = details;
  const readout = make("p", { class: "readout" });
  const place = make("div", { class: "scroll" });
  function redraw() {
    place.replaceChildren(heatMap(matrix(attention, shown.layer, shown.head), source, target, sentence, readout));
  }
  const settings = make("div", { class: "settings" },
    choice("Layer", attention.length, shown.layer, (value) => { shown.layer = value; redraw(); }),
    choice("Head", attention[0].length, shown.head, (value) => { shown.head = value; redraw(); }));
  redraw();
  const note = make("p", { class: "soft" }, "Each row is a piece of the translation; its colours say where in the text the model looked when it wrote it. "
    + "A row adds up to 100 %. The sign ▁ marks the beginning of a word.");
  return [settings, make("div", { class: "beside" }, place, make("div", {}, readout, note))];
}

function heatMap(weights, source, target, sentence, readout) {
  const across = make("tr", {}, make("td"),
    ...source.map((one) => make("th", { scope: "col", lang: sentence.from }, make("span", {}, ...piece(one)))));
  const rows = weights.map((row, t) => make("tr", {}, make("th", { scope: "row", lang: sentence.to }, ...piece(target[t])),
    ...row.map((weight, s) => {
      const cell = make("td", { tabindex: t + s ? "-1" : "0", role: "gridcell" }, make("span", { class: "sr" }, percent(weight)));
      cell.style.setProperty("--w", weight.toFixed(3));
      return cell;
    })));
  const table = make("table", { class: "heat", role: "grid", "aria-label": "Attention: rows are pieces of the translation, columns pieces of the text" },
    make("thead", {}, across), make("tbody", {}, ...rows));
  const cells = rows.map((row) => [...row.querySelectorAll("td")]);
  const headings = [...across.querySelectorAll("th")];

  function tell(cell) {
    const t = cells.findIndex((row) => row.includes(cell));
    const s = cells[t]?.indexOf(cell);
    headings.forEach((heading, index) => heading.classList.toggle("lit", index === s));
    rows.forEach((row, index) => row.firstChild.classList.toggle("lit", index === t));
    readout.textContent = t < 0 ? summary(weights) : `${target[t]} ← ${source[s]}: ${percent(weights[t][s])}`;
  }
  const cellOf = (event) => event.target.closest("[role=gridcell]");
  table.addEventListener("pointerover", (event) => tell(cellOf(event)));
  table.addEventListener("pointerleave", () => tell(cellOf({ target: document.activeElement })));
  table.addEventListener("focusin", (event) => tell(cellOf(event)));
  table.addEventListener("keydown", (event) => {
    const t = cells.findIndex((row) => row.includes(event.target));
    const steps = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0], Home: [0, -Infinity], End: [0, Infinity] };
    if (t < 0 || !steps[event.key]) return;
    event.preventDefault();
    const limit = (index, size) => Math.max(0, Math.min(size - 1, index));
    const [down, right] = steps[event.key];
    const row = cells[limit(t + down, cells.length)];
    const next = row[limit(cells[t].indexOf(event.target) + right, row.length)];
    event.target.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  });
  tell(null);
  return table;
}

/** A summary in one line: how widely the attention is spread. */
function summary(weights) {
  const entropies = weights.map((row) => row.reduce((sum, weight) => sum - (weight > 0 ? weight * Math.log(weight) : 0), 0));
  const wide = Math.exp(entropies.reduce((sum, one) => sum + one, 0) / entropies.length);
  return `On average a piece looks at ${wide.toFixed(1)} pieces of the text. Point at a cell, or move with the arrow keys.`;
}
