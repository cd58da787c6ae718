"""`nmt attentions`: every attention with its formula, source, parameters and cost.

All of it is read from the comment that opens each configs/attention/<name>.yaml:

    # sᵀ W h, bilinear
    # source: Luong et al. 2015, eq. 8
    # parameters: d_query * d_memory
    # operations: d_query per score; d_query * d_memory per key
    # sizes: any

Parameters, operations and sizes are arithmetic in d_query, d_memory and the file's own keys, computed for the sizes
that are asked for (`d_attention or d_query`: a key that may be null). There may be a `note: …` too. A long line goes on
in the next; a missing one shows as —.
"""

import ast
import operator
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from nmt.config.compose import CONFIGS
from nmt.config.verbs import AttentionsCommand
from nmt.errors import ConfigError, nearest

FIELDS = ("source", "parameters", "operations", "sizes", "note")
UNITS = ("score", "query", "key")
WIDTH = 100
DASH = "—"
COUNTED = (
    "Operations are multiply-adds, and whatever else is done to each number of a vector (an addition, a tanh, a "
    "division): per score, for each pair of a decoder state s and an encoder state h; per query, for each s; per key, "
    "once for each h of a sentence. The softmax and the weighted sum of the values are left out."
)
ARITHMETIC: dict[type, Callable[[Any, Any], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Eq: operator.eq,
    ast.LtE: operator.le,
}


@dataclass(frozen=True)
class Attention:
    """What the file of one attention says; the counts are None where it says nothing."""

    name: str
    formula: str
    written: Mapping[str, str]  # the fields as they stand there
    keys: Mapping[str, Any]  # its own, with their values
    fits: bool  # are the sizes asked for possible?
    parameters: int | None
    operations: Mapping[str, tuple[str, int]]  # score, query, key -> expression and count


def main(command: AttentionsCommand) -> int:
    """Prints the table."""
    show = {"text": text, "markdown": markdown}[command.format]
    print("\n".join(show(attentions(command.d_query, command.d_memory), command.d_query, command.d_memory)))
    return 0


def attentions(d_query: int, d_memory: int, folder: Path = CONFIGS / "attention") -> list[Attention]:
    """Every attention of the folder for states of these sizes, the fewest parameters first."""
    found = [read(path, {"d_query": d_query, "d_memory": d_memory}) for path in folder.glob("*.yaml")]
    return sorted(found, key=lambda a: (a.parameters is None, a.parameters or 0, count(a, "score") or 0, a.name))


def read(path: Path, sizes: Mapping[str, int]) -> Attention:
    """What the file says, computed for these sizes."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        values = dict(yaml.safe_load("\n".join(lines)))
    except (yaml.YAMLError, UnicodeDecodeError, TypeError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read as keys and values; correct it as the other files there") from error
    formula, written = header(lines, path)
    keys = {key: value for key, value in values.items() if key not in ("class", "defaults")}
    names = {**{key: value for key, value in keys.items() if value is None or type(value) is int}, **sizes}

    def compute(field: str, expression: str) -> int:
        try:
            return evaluate(expression, names)
        except (SyntaxError, ValueError, ZeroDivisionError) as error:
            reason = error.msg if isinstance(error, SyntaxError) else error
            raise ConfigError(
                f"'{expression}' cannot be computed ({reason}), the {field} of {path}; "
                f"use + - * // % min max or == <= on {', '.join(names)} and numbers"
            ) from error

    operations = {
        unit: (expression, compute("operations", expression))
        for expression, unit in parts(written.get("operations"), path)
    }
    return Attention(
        name=path.stem,
        formula=formula,
        written=written,
        keys=keys,
        fits=written.get("sizes", "any") == "any" or bool(compute("sizes", written["sizes"])),
        parameters=compute("parameters", written["parameters"]) if "parameters" in written else None,
        operations=operations,
    )


def header(lines: Sequence[str], path: Path) -> tuple[str, dict[str, str]]:
    """The formula and the fields of the comment that opens the file."""
    formula, field, fields = "", None, dict[str, str]()
    for number, line in enumerate(lines):
        if not line.startswith("#"):
            break
        content = line.removeprefix("#").strip()
        named = re.match(r"(\w+): *(.*)", content)
        if number == 0:
            formula = content
        elif named:
            field = named[1]
            if field not in FIELDS:
                raise ConfigError(f"unknown field '{field}' in the comment of {path}; {nearest(field, FIELDS)}")
            fields[field] = named[2]
        elif field is None:
            formula += f" {content}"
        else:
            fields[field] += f" {content}"
    return formula or DASH, {field: content for field, content in fields.items() if content}


def parts(operations: str | None, path: Path) -> list[tuple[str, str]]:
    """(expression, unit) of 'd_query per score; d_query * d_memory per key'."""
    found = []
    for part in operations.split(";") if operations is not None else []:
        expression, _, unit = part.strip().rpartition(" per ")
        if unit not in UNITS:
            raise ConfigError(
                f"'{part.strip()}' cannot be read, the operations of {path}; "
                f"write <expression> per {', '.join(UNITS)}, separated by semicolons"
            )
        found.append((expression, unit))
    return found


def evaluate(expression: str, names: Mapping[str, int | None]) -> int:
    """The value of an arithmetic expression or comparison; ValueError says what else it holds."""

    def value(node: ast.expr) -> int:
        match node:
            case ast.Constant(value=int() as number):
                return number
            case ast.Name(id=name) if (known := names.get(name)) is not None:
                return known
            case ast.BoolOp(ast.Or(), [ast.Name(id=name), other]) if name in names:
                known = names[name]
                return value(other) if known is None else known
            case ast.BinOp(left, op, right) if type(op) in ARITHMETIC:
                return ARITHMETIC[type(op)](value(left), value(right))
            case ast.Compare(left, [op], [right]) if type(op) in ARITHMETIC:
                return ARITHMETIC[type(op)](value(left), value(right))
            case ast.Call(ast.Name(id="min" | "max" as name), args, []) if args:
                return (min if name == "min" else max)(map(value, args))
        raise ValueError(f"it holds '{ast.unparse(node)}'")

    return value(ast.parse(expression, mode="eval").body)


def count(attention: Attention, unit: str) -> int | None:
    """Operations per score, query or key."""
    return attention.operations[unit][1] if unit in attention.operations else None


def text(found: Sequence[Attention], d_query: int, d_memory: int) -> list[str]:
    """For the terminal: the counts at these sizes, then how they follow from the sizes."""
    head = ("attention", "score", "parameters", *(f"per {unit}" for unit in UNITS))
    rows = [
        (a.name, a.formula, *(number(n if a.fits else None) for n in (a.parameters, *(count(a, u) for u in UNITS))))
        for a in found
    ]
    lines = [f"Decoder states s of {d_query:,} (d_query), encoder states h of {d_memory:,} (d_memory)", ""]
    lines += table([head, *rows])
    refused = [f"{a.name} ({a.written['sizes']})" for a in found if not a.fits]
    if refused:
        lines += ["", *textwrap.wrap(f"Not possible at these sizes: {', '.join(refused)}", WIDTH)]
    lines += ["", *textwrap.wrap(COUNTED, WIDTH)]
    indent = max(len(a.name) for a in found) + 2
    for a in found:
        fields = {field: a.written.get(field, DASH) for field in FIELDS if field in a.written or field != "note"}
        if a.keys:
            fields["settings"] = "; ".join(settings(a))
        lines.append("")
        for index, (field, content) in enumerate(fields.items()):
            start = f"{'' if index else a.name:<{indent}}{field:<12}"
            lines += wrapped(content, start)
    return lines


def settings(attention: Attention) -> list[str]:
    """The file's own keys as they are typed."""
    shown = {key: "null" if value is None else value for key, value in attention.keys.items()}
    return [f"{key}={value}" for key, value in shown.items()]


def wrapped(content: str, start: str) -> list[str]:
    """Lines that begin with `start`, broken after semicolons where that is possible."""
    if len(start) + max(map(len, content.split(";"))) < WIDTH and ";" in content:
        content = re.sub(r"(?<!;) ", "\N{NO-BREAK SPACE}", content)
    lines = textwrap.wrap(content, WIDTH, initial_indent=start, subsequent_indent=" " * len(start))
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns of text, text, then numbers; the second is wrapped so that lines fit."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    free = WIDTH - sum(widths[:1] + widths[2:]) - 2 * (len(widths) - 1)
    widths[1] = min(widths[1], max(free, len("attention")))  # beside enormous counts, lines grow
    lines = []
    for name, formula, *numbers in rows:
        first, *rest = textwrap.wrap(formula, widths[1])
        right = "".join(f"  {cell:>{width}}" for cell, width in zip(numbers, widths[2:], strict=True))
        lines.append(f"{name:<{widths[0]}}  {first:<{widths[1]}}{right}")
        lines += [f"{'':<{widths[0]}}  {line}" for line in rest]
    return lines


def markdown(found: Sequence[Attention], d_query: int, d_memory: int) -> list[str]:
    """For documentation: one table."""
    head = ("`attention=`", "score", "source", "parameters", "operations", "sizes", "settings")
    rows = [head, ("---",) * len(head)]
    for a in found:
        operations = [f"{computed(expression, n, a.fits)} per {unit}" for unit, (expression, n) in a.operations.items()]
        parameters = computed(a.written["parameters"], a.parameters, a.fits) if "parameters" in a.written else DASH
        sizes = a.written.get("sizes", DASH)
        rows.append(
            (
                f"`{a.name}`",
                a.formula,
                a.written.get("source", DASH),
                parameters,
                "; ".join(operations) or DASH,
                sizes if sizes in ("any", DASH) else f"`{sizes}`",
                " ".join(f"`{setting}`" for setting in settings(a)),
            )
        )
    notes = [f"`{a.name}`: {a.written['note']}" for a in found if "note" in a.written]
    counts = f"The counts are for d_query = {d_query:,} and d_memory = {d_memory:,}. {COUNTED}"
    cells = [[cell.replace("|", "&#124;") for cell in row] for row in rows]
    return [*(f"| {' | '.join(row)} |" for row in cells), "", counts, *(line for note in notes for line in ("", note))]


def computed(expression: str, value: int | None, fits: bool) -> str:
    """The expression in Markdown, with its value where there is one to see."""
    if expression.isdecimal():
        return expression
    return f"`{expression}` = {number(value)}" if fits else f"`{expression}`"


def number(value: int | None) -> str:
    """With separators of thousands."""
    return DASH if value is None else f"{value:,}"
