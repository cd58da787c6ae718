"""The page of the Python API, read from the source: signatures, first lines, comments beside fields."""

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass

from command_line import ROOT
from docs.markdown import code, plain, table


@dataclass(frozen=True)
class Public:
    """What a module offers; of a class all fields, and these methods or properties."""

    module: str
    name: str
    methods: tuple[str, ...] = ()


PUBLIC = {
    "Loading and translating": (
        Public("nmt.translation.translator", "load"),
        Public(
            "nmt.translation.translator",
            "Translator",
            ("load", "translate", "stream", "force", "forced_scores", "cross_entropy", "parameters", "precision"),
        ),
    ),
    "Translations": (
        Public(
            "nmt.translation.translations",
            "Translation",
            ("text", "score", "log_prob", "alignment", "word_links", "word_attention", "mean_attention"),
        ),
        Public("nmt.translation.translations", "Candidate"),
        Public("nmt.translation.translations", "WordLinks"),
    ),
    "Ray Data": (Public("nmt.translation.ray", "TranslateBatch", ("__init__", "__call__")),),
    "Sentences": (Public("nmt.data.sentences", "sentence_spans"), Public("nmt.data.sentences", "Span")),
    "Errors": (
        Public("nmt.errors", "NmtError"),
        Public("nmt.errors", "ConfigError"),
        Public("nmt.errors", "DataError"),
        Public("nmt.errors", "CheckpointError"),
    ),
}
EXAMPLE = """\
```python
import nmt

translator = nmt.load("runs/mine")
[translation] = translator.translate(["A dog runs."], attention=True)
print(translation.text, translation.score, translation.alignment)
```
"""


def page() -> str:
    """The page."""
    lines = [
        "# Python",
        "",
        "`nmt.load`, `nmt.Translator` and `nmt.Translation` are the public names of the package; the other names on "
        "this page are public under their modules. Everything else may change in any version. Loading a model executes "
        "nothing from its folder.",
        "",
        EXAMPLE,
        "Shapes: L layers, H heads, T target pieces, S source pieces.",
        "",
        "`settings` is a `SearchConfig` of `nmt.config.sections`; its fields are "
        "[the keys of the search](commands/train.md#the-search-for-translations). Change some of a model's own with "
        "`dataclasses.replace(translator.settings, beam=8, n_best=3)`.",
        "",
    ]
    for title, among in PUBLIC.items():
        lines += [f"## {title}", ""]
        for each in among:
            lines += _described(each)
    return "\n".join(lines)


def _described(public: Public) -> Iterator[str]:
    text = (ROOT / f"{public.module.replace('.', '/')}.py").read_text("utf-8")
    node = _member(ast.parse(text), public.name)
    yield f"### {public.name} {{ #{public.name} }}"
    yield ""
    short = f"nmt.{public.name}" if public.name in ("load", "Translator", "Translation") else ""
    where = f"{public.module}.{public.name}"
    yield f"`{short}`" if short else f"`{where}`"
    yield ""
    if isinstance(node, ast.FunctionDef):
        yield from _function(node, public.name)
        return
    assert isinstance(node, ast.ClassDef)
    yield from _docstring(node)
    fields = [item for item in node.body if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)]
    if fields:
        rows = [
            [code(ast.unparse(field.target)), code(ast.unparse(field.annotation)), plain(_comment(text, field))]
            for field in fields
        ]
        yield from table(["field", "type", "meaning"], rows)
    for method in public.methods:
        inside = _member(node, method)
        assert isinstance(inside, ast.FunctionDef)
        is_property = any(ast.unparse(each) == "property" for each in inside.decorator_list)
        shown = public.name if method in ("__init__", "__call__") else f"{public.name}.{method}"
        called = "(…)" if method == "__call__" else ""
        yield f"#### {shown}{called} {{ #{where}.{method} }}"
        yield ""
        if is_property:
            yield from [f"Property, `{ast.unparse(inside.returns)}`." if inside.returns else "Property.", ""]
            yield from _docstring(inside)
        else:
            yield from _function(inside, in_snake_case(shown) if method == "__call__" else shown)


def in_snake_case(name: str) -> str:
    """The name of an object of the class."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def _function(node: ast.FunctionDef, name: str) -> Iterator[str]:
    """Its signature, without `self`, then what it says."""
    arguments = node.args
    plain_ones = arguments.args
    defaults: list[ast.expr | None] = [None] * (len(plain_ones) - len(arguments.defaults)) + list(arguments.defaults)
    listed = []
    for argument, default in zip(plain_ones, defaults, strict=True):
        if argument.arg in ("self", "cls"):
            continue
        kind = f": {ast.unparse(argument.annotation)}" if argument.annotation else ""
        listed.append(f"{argument.arg}{kind}" + (f" = {ast.unparse(default)}" if default is not None else ""))
    back = "" if node.returns is None or node.name == "__init__" else f" -> {_without_quotes(node.returns)}"
    one_line = f"{name}({', '.join(listed)}){back}"
    inside = [f"    {each}," for each in listed]
    yield from ["```python", *([one_line] if len(one_line) < 90 else [f"{name}(", *inside, f"){back}"]), "```", ""]
    yield from _docstring(node)


def _without_quotes(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ast.unparse(node)


def _docstring(node: ast.FunctionDef | ast.ClassDef) -> Iterator[str]:
    said = ast.get_docstring(node)
    assert said, f"{node.name} says nothing"
    for paragraph in inspect.cleandoc(said).split("\n\n"):
        before, *items = re.split(r"^(?=`)", paragraph, flags=re.MULTILINE)
        if before:
            yield from [plain(" ".join(before.split())), ""]
        if items:
            yield from [*(f"- {plain(' '.join(item.split()))}" for item in items), ""]


def _comment(text: str, node: ast.AnnAssign) -> str:
    """The comment at the end of the line of a field."""
    line = text.splitlines()[(node.end_lineno or node.lineno) - 1]
    return line[node.end_col_offset :].partition("#")[2].strip() if node.end_col_offset else ""


def _member(node: ast.Module | ast.ClassDef, name: str) -> ast.stmt:
    return next(item for item in node.body if isinstance(item, ast.FunctionDef | ast.ClassDef) and item.name == name)
