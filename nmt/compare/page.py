"""The page of a comparison: one HTML file that needs no other files, and prints well."""

import json
from collections.abc import Sequence

from nmt.compare.figures import Picture, Results
from nmt.compare.table import columns, run_table, table
from nmt.figures.page import page
from nmt.figures.table import NONE


def comparison_page(results: Results, drawn: Sequence[tuple[Picture, str]]) -> str:
    """The HTML of the page; `drawn` has each picture with its <svg> element."""
    differences = results["differences"]
    keys = list(dict.fromkeys(key for own in differences.values() for key in own))
    values = {
        "results": results,
        "keys": keys,
        "updates": sorted(run["updates"] for run in results["runs"]),
        "table": table(results["variants"]),
        "columns": columns(results["variants"]),
        "charts": [each for each in drawn if not each[0].name.startswith("attention_")],
        "matrices": [each for each in drawn if each[0].name.startswith("attention_")],
        "runs": run_table(results["runs"]),
        "differences": [
            ["", *differences],
            *([key, *(typed(own, key) for own in differences.values())] for key in keys),
        ],
        "search": listed(results["search"]),
        "environment": listed(results["versions"] | results["machine"]),
        "common": {key: typed(results["common"], key) for key in results["common"]},
    }
    return "".join(page("compare.html", values))


def typed(settings: Results, key: str) -> str:
    """A setting as it is typed; a dash if it is missing."""
    value = settings.get(key, NONE)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def listed(settings: Results) -> str:
    """Names and values on one line."""
    return ", ".join(f"{key.replace('_', ' ')} {typed(settings, key)}" for key in settings)
