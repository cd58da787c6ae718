"""The page of a comparison: one HTML file that needs nothing else, neither network nor scripts, and prints well."""

import json
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from nmt.compare.figures import Picture
from nmt.compare.table import NONE, columns, run_table, table

Results = dict[str, Any]

STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #222; background: #fff; max-width: 64rem; margin: 2rem auto;
  padding: 0 1rem; }
h1 { font-size: 1.6rem; line-height: 1.25; } h2 { font-size: 1.2rem; margin-top: 2.5rem; }
code, pre { font: 0.9em/1.45 ui-monospace, monospace; background: #f5f5f3; border-radius: 3px; }
code { padding: 0.1em 0.3em; } pre { padding: 0.7rem 1rem; white-space: pre-wrap; overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.85rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.3rem 0.6rem; text-align: right; border-bottom: 1px solid #ddd; white-space: nowrap; }
th { border-bottom: 2px solid #888; vertical-align: bottom; white-space: normal; }
th:first-child, td:first-child { text-align: left; }
table.text th, table.text td { text-align: left; }
figure { margin: 1.5rem 0; } figcaption { font-size: 0.9rem; color: #555; max-width: 46rem; }
figure svg { max-width: 100%; height: auto; }
dl { font-size: 0.9rem; } dt { font-weight: 600; } dd { margin: 0 0 0.4rem 1.2rem; }
.keys { columns: 22rem; font: 0.8rem/1.5 ui-monospace, monospace;
  list-style: none; padding: 0; overflow-wrap: anywhere; }
@media print { body { max-width: none; margin: 0; font-size: 11px; } .wide { overflow: visible; }
  table { font-size: 8px; } th, td { padding: 0.15rem 0.25rem; } figure, tr { break-inside: avoid; }
  h2 { break-after: avoid; } }
"""


def page(results: Results, drawn: Sequence[tuple[Picture, str]]) -> str:
    """The whole file; `drawn` are the pictures as <svg> elements."""
    title = "Comparison of " + ", ".join(key for key in results["axes"] if key != "seed")
    parts = [
        f"<h1>{escape(title)}</h1>",
        f"<pre>{escape(results['command'])}</pre>",
        *map(paragraph, honest(results)),
        *(paragraph(f"Caution: {line}") for line in results["cautions"]),
        f"<h2>Results on the {results['test']['split']} split</h2>",
        html_table(table(results["variants"])),
        "<dl>",
        *(f"<dt>{escape(c.title)}</dt><dd>{escape(c.meaning)}</dd>" for c in columns(results["variants"])),
        "</dl>",
        *diagonal(results),
        *(figure(picture, svg) for picture, svg in drawn if picture.name.partition("_")[0] != "attention"),
        *attention(results, drawn),
        "<h2>Every run</h2>",
        html_table(run_table(results["runs"])),
        *settings(results),
    ]
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
    body = "\n".join(parts)
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head>{head}<style>{STYLE}</style></head>\n<body>\n{body}\n</body></html>\n'
    )


def honest(results: Results) -> list[str]:
    """What is equal for all and what is not."""
    variants, seeds, test = results["variants"], results["seeds"], results["test"]
    pair = [language for language in (test["src_lang"], test["tgt_lang"]) if language is not None]
    updates = sorted({run["updates"] for run in results["runs"]})
    same_updates = f"Runs made between {updates[0]:,} and {updates[-1]:,} updates: some were trained longer."
    if len(updates) == 1:
        same_updates = f"Every run made {updates[0]:,} updates."
    order = "Variants did not see the same batches: what differs decides how the data are cut or ordered."
    if results["same_data_order"]:
        order = "Seed by seed, all variants saw the same sentences in the same batches and order."
    keys = sorted({key for own in results["differences"].values() for key in own})
    return [
        f"{len(variants)} variants, {len(seeds)} seed{'s' * (len(seeds) > 1)} each ({', '.join(map(str, seeds))}); "
        f"{test['sentences']:,} {test['split']} sentences{', ' * bool(pair)}{' to '.join(pair)}. p compares each "
        f"variant with the first, {variants[0]['variant']}.",
        f"{order} {same_updates} No variant has settings chosen for it alone: the configurations differ in nothing but "
        f"{', '.join(keys)}, and what they share is listed at the end. It may suit one variant better than another.",
    ]


def diagonal(results: Results) -> list[str]:
    """What an aligner that looks at nothing gets."""
    aer = results["test"]["diagonal_aer"]
    if aer is None:
        return []
    return [
        paragraph(f"Linking each target unit to the source unit at the same relative place has an AER of {aer:.1f}.")
    ]


def attention(results: Results, drawn: Iterable[tuple[Picture, str]]) -> list[str]:
    """The matrices, and how their sentences were chosen."""
    found = [figure(picture, svg) for picture, svg in drawn if picture.name.startswith("attention_")]
    if not found:
        return []
    rule = (
        f"{results['shown']['rule']} Chosen by this rule alone, before any model was seen. Every variant is given the "
        "reference as its translation; shown is the mean over layers and heads, folded from pieces into words, of the "
        "first seed. The darker, the more; white is 0."
    )
    return ["<h2>Attention on the same sentences</h2>", paragraph(rule), *found]


def settings(results: Results) -> list[str]:
    """What differs, what is shared, and what computed it."""
    differences = results["differences"]
    keys = list(dict.fromkeys(key for own in differences.values() for key in own))
    rows = [["", *differences], *([key, *(shown(own, key) for own in differences.values())] for key in keys)]
    environment = results["versions"] | results["machine"]
    common = [f"<li>{escape(key)}: {escape(plain(value))}</li>" for key, value in results["common"].items()]
    return [
        "<h2>What differs between the configurations</h2>",
        html_table(rows, "text"),
        "<h2>How it was measured</h2>",
        "<dl>",
        *(f"<dt>signature</dt><dd><code>{escape(text)}</code></dd>" for text in results["signatures"]),
        f"<dt>search</dt><dd>{escape(listed(results['search']))}</dd>",
        f"<dt>machine and versions of this command</dt><dd>{escape(listed(environment))}</dd>",
        "</dl>",
        paragraph(
            "Speeds are those of the moment when a run was trained or first evaluated, on whatever machine that was."
        ),
        "<h2>What all configurations share</h2>",
        f'<ul class="keys">{"".join(common)}</ul>',
    ]


def figure(picture: Picture, svg: str) -> str:
    """A picture under its title."""
    heading = "h3" if picture.name.startswith("attention_") else "h2"
    labelled = svg.replace("<svg ", f'<svg role="img" aria-label="{escape(picture.title)}" ', 1)
    return (
        f'<figure><{heading}>{escape(picture.title)}</{heading}><div class="wide">{labelled}</div>'
        f"<figcaption>{escape(picture.caption)}</figcaption></figure>"
    )


def html_table(rows: Sequence[Sequence[str]], kind: str = "numbers") -> str:
    """The first row is the header."""
    head = "".join(f"<th>{escape(cell)}</th>" for cell in rows[0])
    body = "\n".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows[1:])
    return (
        f'<div class="wide"><table class="{kind}"><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>'
    )


def paragraph(text: str) -> str:
    """Plain text as HTML."""
    return f"<p>{escape(text)}</p>"


def shown(own: Results, key: str) -> str:
    """A setting that the variant may not have."""
    return plain(own[key]) if key in own else NONE


def plain(value: Any) -> str:
    """A setting as it is typed."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def listed(values: Results) -> str:
    """Names and values on one line."""
    return ", ".join(f"{key.replace('_', ' ')} {plain(value)}" for key, value in values.items())
