"""The layout of nmt: a package imports only from packages above it, nobody but `cli` names a command."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

NMT = Path(__file__).parents[1] / "nmt"
# The way of the data; a package imports only from itself and from what is above it.
ORDER = (
    "errors machine config data model scoring search figures runs training translation compare tune serve commands cli"
).split()
MODULES = {".".join(path.relative_to(NMT).with_suffix("").parts): path for path in NMT.rglob("*.py")}


def imported(node: ast.AST) -> Iterator[str]:
    """Modules of nmt that the code imports, without that word, inside functions too; not for type checkers alone."""
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return
    if isinstance(node, ast.ImportFrom) and (node.module or "nmt").split(".")[0] == "nmt":
        assert node.level == 0, f"line {node.lineno}: write the whole name, nmt.<package>.<module>"
        assert node.module is not None
        whole = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        yield from (name.partition(".")[2] for name in whole if name.partition(".")[2] in MODULES)
    for child in ast.iter_child_nodes(node):
        yield from imported(child)


IMPORTS = {module: set(imported(ast.parse(path.read_text("utf-8")))) for module, path in MODULES.items()}


def reached(module: str, seen: set[str]) -> set[str]:
    """What importing a module imports of its own package."""
    for other in IMPORTS[module] - seen:
        if other.split(".")[0] == module.split(".")[0]:
            reached(other, seen | {other})
            seen |= {other} | reached(other, seen | {other})
    return seen


@pytest.mark.parametrize("module", [name for name in MODULES if name != "__init__"])
def test_a_module_imports_from_above(module: str) -> None:
    package = module.split(".")[0]
    for other in IMPORTS[module]:
        above = ORDER.index(other.split(".")[0]) <= ORDER.index(package)
        assert above, f"nmt.{module} imports nmt.{other}, whose package is below"
    commands = {other for other in IMPORTS[module] if other.startswith("commands.")}
    assert package == "cli" or not commands, f"nmt.{module} imports {commands}; a command is a leaf"
    assert module not in reached(module, set()), f"nmt.{module} imports itself through its own package"


@pytest.mark.parametrize("package", ORDER[1:])
def test_a_package_says_what_comes_in_and_what_goes_out(package: str) -> None:
    text = (NMT / package / "__init__.py").read_text("utf-8")
    assert "→" in (ast.get_docstring(ast.parse(text)) or "")
