/** The beam as a tree: the open hypotheses of each step, with the best on top, and which of them went on. */

import { draw, make, piece, signed } from "./dom.js";

const ROW = 44;
const TOP = 34;
const GAP = 38;
const MARGIN = 12;

/** The nodes of each step, each node with its parent (`from`), its children and its rank within the step. */
export function arranged(nodes) {
  const byId = new Map(nodes.map((node) => [node.id, { ...node, children: [] }]));
  const steps = [];
  for (const node of byId.values()) {
    node.from = byId.get(node.parent) ?? null;
    node.from?.children.push(node);
    (steps[node.step] ??= []).push(node);
  }
  for (const step of steps) {
    step?.sort((one, other) => other.log_prob - one.log_prob).forEach((node, rank) => { node.rank = rank; });
  }
  return steps.map((step) => step ?? []);
}

function pathText(node) {
  const pieces = [];
  for (let at = node; at; at = at.from) if (!at.end || at.token !== node.token || at !== node) pieces.unshift(at.token);
  return pieces.join("").replaceAll("▁", " ").trim();
}

const label = (node) => (node.parent === null ? "start" : node.end ? "end" : node.token);

/** The panel's content. */
export function treeView(nodes, sentence) {
  const steps = arranged(nodes);
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = "14px system-ui, sans-serif";
  const widths = steps.map((step) => Math.max(24, ...step.map((node) => pen.measureText(label(node)).width + 16)));
  const lefts = widths.map((_, index) => MARGIN + widths.slice(0, index).reduce((sum, width) => sum + width + GAP, 0));
  const width = lefts.at(-1) + widths.at(-1) + MARGIN;
  const height = TOP + ROW * Math.max(...steps.map((step) => step.length)) + MARGIN;
  const middle = (node) => TOP + ROW * node.rank + ROW / 2;
  const edges = [];
  const boxes = [];
  for (const node of steps.flat()) {
    const left = lefts[node.step];
    const kind = [node.best && "best", node.end && "end", !node.end && !node.children.length && "dropped"].filter(Boolean).join(" ");
    if (node.from) {
      const from = lefts[node.from.step] + widths[node.from.step];
      const bend = (left - from) / 2;
      edges.push(draw("path", { class: `edge ${kind}`, d: `M${from} ${middle(node.from)}C${from + bend} ${middle(node.from)} ${left - bend} ${middle(node)} ${left} ${middle(node)}` }));
    }
    const note = node.parent === null ? "the beginning" : `${pathText(node)}: log-probability ${signed(node.log_prob)}`;
    boxes.push(draw("g", { class: `node ${kind}` }, draw("title", {}, note),
      draw("rect", { x: left, y: middle(node) - 13, width: widths[node.step], height: 26, rx: 6 }),
      draw("text", { x: left + widths[node.step] / 2, y: middle(node) + 5, "text-anchor": "middle", lang: sentence.to }, ...piece(label(node), draw))));
  }
  const numbers = steps.map((_, step) => draw("text", { class: "step", x: lefts[step] + widths[step] / 2, y: 18, "text-anchor": "middle" }, String(step)));
  edges.sort((one, other) => one.classList.contains("best") - other.classList.contains("best"));
  const ended = steps.flat().filter((node) => node.end).sort((one, other) => other.log_prob - one.log_prob);
  const picture = draw("svg", {
    width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `Search tree of ${steps.flat().length - 1} hypotheses in ${steps.length - 1} steps; the finished ones are listed below.`,
  }, ...edges, ...boxes, ...numbers);
  const list = make("ol", { class: "ended" }, ...ended.map((node) => make("li", {},
    make("span", { lang: sentence.to, dir: "auto" }, pathText(node)), ` ${signed(node.log_prob)}`, node.best ? " (chosen)" : "")));
  return [
    make("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Search tree, to be scrolled" }, picture),
    make("p", { class: "soft" }, "Each column is a step of the search, with the most probable beginning above. The coloured path led to the translation; "
      + "faint ones were given up."),
    make("details", {}, make("summary", {}, `${ended.length} finished hypotheses, by log-probability`), list),
  ];
}
