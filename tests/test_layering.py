"""The layout of nmt: who may import whom, and how long a file and a function may be."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LONGEST_FILE, LONGEST_FUNCTION = 300, 50
TOP = "the package itself"  # nmt/__init__.py

# A module imports only from modules above it. Every module of nmt stands here once.
LAYERS = {
    "what everything may use": [
        "errors",
        "unicode",
        "config",
        "roots",
        "schema",
        "interrupts",
        "device",
        "memory",
        "workers",
        "files",
        "atomic",
        "cache",
    ],
    "from files to batches": [
        "readers",
        "corpus",
        "tokenizer",
        "tokenizers",
        "seen",
        "prepare",
        "interfaces",
        "encoded",
        "batching",
    ],
    "the model": [
        "additive",
        "attention",
        "attention_layers",
        "rnn",
        "output",
        "seq2seq",
        "ensemble",
        "int8",
        "loss",
        "optim",
        "build",
    ],
    "the model: transformers": ["positions", "transformer_layers", "transformer"],
    "search and scores": ["hypotheses", "search", "alignment", "aer", "metrics", "testsets", "cautions", "fonts"],
    "pictures": ["attention_text", "figures", "attention_figures", "curves"],
    "run folders": ["weights", "stored_config", "checkpoint", "training_state"],
    "training": ["progress", "kept_points", "report", "training_data", "step", "faults"],
    "the training loop": ["validation", "trainer", "train"],
    "use of a trained model": [
        "shortlist",
        "translations",
        "long_lines",
        "translator",
        "translate",
        "learn_shortlist",
        "align",
        "evaluate",
        "visualise",
        "interactive",
        TOP,
    ],
    "comparison: runs": ["compare_runs", "compare_scores", "significance", "compare_results"],
    "comparison: page": ["compare_table", "compare_figures", "compare_page", "compare"],
    "search for settings": ["overrides", "hydra_app", "space", "plan", "tune_figure", "tune"],
    "the command line": ["sweep", "attentions", "status", "doctor", "cli_help", "cli"],
}
ORDER = [module for modules in LAYERS.values() for module in modules]
SOURCES = sorted(path for folder in ("nmt", "scripts") for path in (ROOT / folder).rglob("*.py"))


def imported(node: ast.AST) -> Iterator[str]:
    """Modules of nmt that the code imports, inside functions too; not what only a type checker reads."""
    if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
        for child in node.orelse:
            yield from imported(child)
        return
    if isinstance(node, ast.ImportFrom):
        module = "." * node.level + (node.module or "")
        assert not module.startswith("."), f"line {node.lineno}: write the whole name, nmt.<module>"
        names = [f"nmt.{alias.name}" for alias in node.names] if module == "nmt" else [module]
    else:
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
    yield from (name.split(".")[1] if "." in name else TOP for name in names if name.split(".")[0] == "nmt")
    for child in ast.iter_child_nodes(node):
        yield from imported(child)


def test_every_module_has_its_place() -> None:
    modules = [TOP if path.stem == "__init__" else path.stem for path in (ROOT / "nmt").rglob("*.py")]
    assert sorted(ORDER) == sorted(modules)


@pytest.mark.parametrize("module", ORDER)
def test_modules_import_only_from_above(module: str) -> None:
    path = ROOT / "nmt" / ("__init__.py" if module == TOP else f"{module}.py")
    below = ORDER[ORDER.index(module) :]
    wrong = [name for name in imported(ast.parse(path.read_text("utf-8"))) if name in below or name not in ORDER]
    assert not wrong, f"{path.name} imports {', '.join(wrong)}, which do not stand above it"


def test_what_counts_as_an_import() -> None:
    code = """
import os, nmt.errors
from nmt import cli as other
if TYPE_CHECKING:
    from nmt.trainer import Trainer
else:
    import nmt
def late():
    from nmt.search import search
"""
    assert list(imported(ast.parse(code))) == ["errors", "cli", TOP, "search"]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_and_functions_are_short(path: Path) -> None:
    text = path.read_text("utf-8")
    assert len(text.splitlines()) <= LONGEST_FILE
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            assert lines <= LONGEST_FUNCTION, f"{node.name} has {lines} lines"
