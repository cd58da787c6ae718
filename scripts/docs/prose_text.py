"""The sentences of a file: Markdown without code, docstrings and comments of Python, comments of YAML."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

Block = tuple[int, list[str], bool]  # first line's number, lines, in a table?
DIRECTIVE = re.compile(r"(type: ignore|noqa|fmt:|pragma|!/)")  # comments for programs


def sentences_of(path: Path) -> Iterator[tuple[int, str, bool]]:
    """Line number, text, and whether it is in a table, of each sentence of the file."""
    return sentences(READERS[path.suffix](path.read_text("utf-8")))


def sentences(blocks: Iterator[Block]) -> Iterator[tuple[int, str, bool]]:
    """Of each block."""
    for first, block, in_table in blocks:
        text = plain(" ".join(block))
        for sentence in re.split(r"(?<=[.?!])[\"'”*)]*\s+(?=[A-ZÄÖÜ`“\"*(\[0-9])", text):
            if sentence.strip():
                yield first, sentence.strip(), in_table


def of_python(source: str) -> Iterator[Block]:
    """Paragraphs of docstrings, without what is indented in them, and comments."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            docstring = ast.get_docstring(node)
            if docstring is not None:
                first = node.body[0].lineno
                unindented = re.sub(r"(?m)^ +(?![-*] ).*$", "", docstring)
                yield from ((first + number - 1, lines, table) for number, lines, table in of_markdown(unindented))
    comments = [
        (each.start, each.string.lstrip("# "), each.line.strip().startswith("#"))
        for each in tokenize.generate_tokens(io.StringIO(source).readline)
        if each.type == tokenize.COMMENT and not DIRECTIVE.match(each.string.lstrip("# "))
    ]
    yield from _joined([(row, text, whole) for (row, _), text, whole in comments])


def of_yaml(source: str) -> Iterator[Block]:
    """Comments."""
    lines = enumerate(source.splitlines(), 1)
    found = [(number, line, re.search(r"(?:^|\s)#\s?(.*)", line)) for number, line in lines]
    yield from _joined([(number, text[1], line.strip().startswith("#")) for number, line, text in found if text])


def _joined(comments: list[tuple[int, str, bool]]) -> Iterator[Block]:
    """Comments of whole lines that follow one another are one text; a comment behind code is one by itself."""
    block: list[str] = []
    first = 0
    for row, text, whole in comments:
        if block and (not whole or row != first + len(block)):
            yield first, block, False
            block = []
        if whole:
            first = first if block else row
            block.append(text)
        else:
            yield row, [text], False
    if block:
        yield first, block, False


def of_markdown(markdown: str) -> Iterator[Block]:
    """Paragraphs, items of lists and cells of tables."""
    inside, fence, first = list[str](), "", 1
    for number, line in enumerate([*markdown.splitlines(), ""], 1):
        text = line.strip()
        mark = re.match(r"(```+|~~~+)", text)
        ends = bool(fence or mark or not text or text.startswith(("|", "#", "!", "$$", "<!--")))
        if inside and (ends or re.match(r"([-*+]|\d+\.) ", text)):
            yield first, inside, False
            inside = []
        if mark and (not fence or text == fence):
            fence = "" if fence else mark[1]
        elif not fence and text.startswith("|"):
            cells = re.split(r"(?<!\\)\|", text.strip("|"))
            yield from ((number, [cell], True) for cell in cells if re.search(r"\w", cell))
        elif not fence and text.startswith("#"):
            yield number, [text.lstrip("# ")], True
        elif not ends:
            first = first if inside else number
            inside.append(re.sub(r"^([-*+]|\d+\.) ", "", text))


def plain(text: str) -> str:
    """Markdown without code, formulas and addresses."""
    text = re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", "Code", text)
    text = re.sub(r"\$[^$\n]+\$", "Formula", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"\*\*|(?<!\w)[*_]|[*_](?!\w)", "", text)


READERS = {".md": of_markdown, ".py": of_python, ".yaml": of_yaml}  # suffix of a file -> its blocks
