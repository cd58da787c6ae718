"""Small changes of Python source, each of which a good test suite notices."""

import ast
import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

COMPARISONS: dict[type[ast.cmpop], list[ast.cmpop]] = {
    ast.Lt: [ast.LtE(), ast.GtE()],
    ast.LtE: [ast.Lt(), ast.Gt()],
    ast.Gt: [ast.GtE(), ast.LtE()],
    ast.GtE: [ast.Gt(), ast.Lt()],
    ast.Eq: [ast.NotEq()],
    ast.NotEq: [ast.Eq()],
    ast.Is: [ast.IsNot()],
    ast.IsNot: [ast.Is()],
    ast.In: [ast.NotIn()],
    ast.NotIn: [ast.In()],
}
OPERATORS: dict[type[ast.operator], ast.operator] = {
    ast.Add: ast.Sub(),
    ast.Sub: ast.Add(),
    ast.Mult: ast.Div(),
    ast.Div: ast.Mult(),
    ast.FloorDiv: ast.Mult(),
    ast.Mod: ast.Mult(),
    ast.Pow: ast.Mult(),
    ast.BitOr: ast.BitAnd(),
    ast.BitAnd: ast.BitOr(),
}
MODULES = {"torch", "nn", "functional", "math"}  # a call of their functions is no method's
PLAIN = {
    "len",
    "range",
    "isinstance",
    "zip",
    "enumerate",
    "int",
    "float",
    "str",
    "list",
    "tuple",
    "dict",
    "type",
    "getattr",
}
NEVER = {"TypeVar", "super"}  # calls that are no behaviour


@dataclass(frozen=True)
class Mutant:
    """One replacement in one file, from byte `start` to byte `end`."""

    path: Path
    start: int
    end: int
    replacement: str
    line: int
    function: str  # that it lies in, as Class.method

    def apply(self, source: bytes) -> bytes:
        """The changed file."""
        return source[: self.start] + self.replacement.encode() + source[self.end :]

    def diff(self, root: Path) -> str:
        """As a unified diff."""
        source = (root / self.path).read_bytes()
        before, after = (text.decode().splitlines(keepends=True) for text in (source, self.apply(source)))
        return "".join(difflib.unified_diff(before, after, f"a/{self.path}", f"b/{self.path}"))


def mutants(root: Path, path: Path) -> list[Mutant]:
    """All inside a file's functions, each different, in the order of the file."""
    source = (root / path).read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    different: dict[bytes, Mutant] = {}
    for function, node, text in found_in(ast.parse(source).body, ""):
        assert isinstance(node, ast.expr | ast.stmt)
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
        mutant = Mutant(path, start, end, text, node.lineno, function)
        if isinstance(node, ast.stmt) or ast.dump(ast.parse(text, mode="eval").body) != ast.dump(node):
            different.setdefault(mutant.apply(source), mutant)
    return sorted(different.values(), key=lambda mutant: (mutant.start, mutant.end, mutant.replacement))


def found_in(body: list[ast.stmt], outer: str) -> Iterator[tuple[str, ast.AST, str]]:
    """Function, node of the tree, and the source that replaces it."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from found_in(node.body, f"{outer}{node.name}.")
        elif isinstance(node, ast.FunctionDef):
            for changed, text in _Finder().function(node):
                yield f"{outer}{node.name}", changed, text


class _Finder:
    """Walks over behaviour: no annotations, defaults, decorators, asserts, docstrings or messages of errors."""

    def function(self, node: ast.FunctionDef) -> Iterator[tuple[ast.AST, str]]:
        yield from self.body(node.body, node, {argument.arg for argument in node.args.args})

    def body(
        self, statements: list[ast.stmt], inside: ast.FunctionDef, bound: set[str]
    ) -> Iterator[tuple[ast.AST, str]]:
        for statement in statements:
            yield from self.statement(statement, inside, bound)

    def statement(self, node: ast.stmt, inside: ast.FunctionDef, bound: set[str]) -> Iterator[tuple[ast.AST, str]]:
        match node:
            case ast.Import() | ast.ImportFrom() | ast.Assert() | ast.Pass() | ast.Global() | ast.Nonlocal():
                return
            case ast.FunctionDef():
                yield from self.function(node)
            case ast.Raise():
                if "NotImplementedError" not in ast.unparse(node):  # an abstract method
                    yield node, "pass"
            case ast.Return():
                yield from self.returned(node, inside)
            case ast.If() | ast.While():
                yield from self.condition(node.test)
                yield from self.body([*node.body, *node.orelse], inside, bound)
            case ast.For():
                yield from self.expression(node.iter)
                yield from self.body([*node.body, *node.orelse], inside, bound)
            case ast.With():
                for item in node.items:
                    yield from self.expression(item.context_expr)
                yield from self.body(node.body, inside, bound)
            case ast.Try():
                yield from self.body([*node.body, *node.orelse, *node.finalbody], inside, bound)
                for handler in node.handlers:
                    yield from self.body(handler.body, inside, bound)
            case ast.Match():
                for case in node.cases:
                    if case.guard is not None:
                        yield from self.condition(case.guard)
                    yield from self.body(case.body, inside, bound)
            case ast.Continue() | ast.Break():
                yield node, "pass"
            case ast.Expr():
                if not isinstance(node.value, ast.Constant):  # a docstring or "..."
                    if not isinstance(node.value, ast.Yield) and not ast.unparse(node.value).startswith("super("):
                        yield node, "pass"
                    yield from self.expression(node.value)
            case ast.AugAssign():
                yield node, "pass"
                if type(node.op) in OPERATORS:
                    other = OPERATORS[type(node.op)]
                    yield node, ast.unparse(ast.AugAssign(node.target, other, node.value))
                yield from self.expression(node.value)
            case ast.Assign():
                names = {name.id for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name)}
                stored = all(isinstance(target, ast.Attribute | ast.Subscript) for target in node.targets)
                if stored or names <= bound:  # else what follows lacks the name
                    yield node, "pass"
                bound |= names
                yield from self.expression(node.value)
            case ast.AnnAssign():
                if node.value is not None:
                    yield from self.expression(node.value)

    def condition(self, test: ast.expr) -> Iterator[tuple[ast.AST, str]]:
        yield test, "True"
        yield test, "False"
        yield from self.expression(test)

    def returned(self, node: ast.Return, inside: ast.FunctionDef) -> Iterator[tuple[ast.AST, str]]:
        if node.value is None:
            return
        kind = ast.unparse(inside.returns) if inside.returns is not None else ""
        if kind == "bool":
            yield node.value, f"not ({ast.unparse(node.value)})"
        elif kind in ("int", "float", "Tensor") or kind.startswith(("Float[", "Int[")):
            yield node.value, f"-({ast.unparse(node.value)})"
        yield from self.expression(node.value)

    def expression(self, node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
        if isinstance(node, ast.JoinedStr | ast.Lambda):
            if isinstance(node, ast.Lambda):
                yield from self.expression(node.body)
            return
        if isinstance(node, ast.keyword) and node.arg == "strict":
            return
        yield from self.own(node)
        for child in ast.iter_child_nodes(node):
            yield from self.expression(child)

    def own(self, node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
        """The changes of one node, which leave those inside it as they are."""
        match node:
            case ast.Compare() if len(node.ops) == 1:
                for op in COMPARISONS[type(node.ops[0])]:
                    yield node, f"({ast.unparse(ast.Compare(node.left, [op], node.comparators))})"
            case ast.Compare():
                for place, old in enumerate(node.ops):
                    for op in COMPARISONS[type(old)]:
                        ops = [*node.ops[:place], op, *node.ops[place + 1 :]]
                        yield node, f"({ast.unparse(ast.Compare(node.left, ops, node.comparators))})"
            case ast.BinOp() if type(node.op) in OPERATORS:
                yield node, f"({ast.unparse(ast.BinOp(node.left, OPERATORS[type(node.op)], node.right))})"
            case ast.BoolOp():
                other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
                yield node, f"({ast.unparse(ast.BoolOp(other, node.values))})"
            case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert()):
                yield node, f"({ast.unparse(node.operand)})"
            case ast.IfExp():
                yield node, f"({ast.unparse(node.body)})"
                yield node, f"({ast.unparse(node.orelse)})"
            case ast.Constant(value=bool()):
                yield node, str(not node.value)
            case ast.Constant(value=int() | float() as number):
                yield node, repr(number + 1)
            case ast.Subscript(slice=ast.Slice() as bounds):
                for one in ("lower", "upper"):
                    if getattr(bounds, one) is not None:
                        kept = {name: getattr(bounds, name) for name in ("lower", "upper", "step") if name != one}
                        yield node, ast.unparse(ast.Subscript(node.value, ast.Slice(**kept)))
            case ast.comprehension():
                for test in node.ifs:
                    yield test, "True"
            case ast.Call():
                yield from self.call(node)

    def call(self, node: ast.Call) -> Iterator[tuple[ast.AST, str]]:
        """Without one keyword; without the call: its first argument, or what its method belongs to."""
        function = node.func
        name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
        if name in NEVER or ast.unparse(function).startswith("super("):
            return
        for place in range(len(node.keywords)):
            if node.keywords[place].arg == "strict":  # an assertion
                continue
            rest = [*node.keywords[:place], *node.keywords[place + 1 :]]
            yield node, ast.unparse(ast.Call(node.func, node.args, rest))
        if isinstance(function, ast.Attribute) and not _of_module(function.value):
            yield node, f"({ast.unparse(function.value)})"
        elif node.args and name[:1].islower() and name not in PLAIN and not isinstance(node.args[0], ast.Starred):
            yield node, f"({ast.unparse(node.args[0])})"


def _of_module(owner: ast.expr) -> bool:
    """Has it functions, not methods?"""
    words = ast.unparse(owner)
    return words == "self" or words.split(".")[0] in MODULES or words.startswith("super(")
