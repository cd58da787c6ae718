"""What mkdocs calls while it builds: adds the pages of the reference, formulas, and the order of folders."""

import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # scripts/: its folders are packages

from command_line import ROOT
from docs import formulas, pages

LINK = re.compile(r"(!?)\[([^\]\n]*)\]\(([^)\s]+)\)")
LINKED_PAGE = re.compile(r"\]\(([\w-]+\.md)")
CODE = re.compile(r"^(```+|~~~+).*?^\1[ \t]*$|(?<!`)(`+)(?!`).+?(?<!`)\2(?!`)", re.MULTILINE | re.DOTALL)

_made: dict[str, str] = {}
_formulas: dict[str, str] = {}


def on_config(config: Any) -> Any:
    """Makes the reference, and puts its pages and those of the other folders where the navigation names a folder."""
    _made.clear()
    _made.update(pages.made())
    docs = Path(config.docs_dir)
    known = [path.relative_to(docs).as_posix() for path in docs.rglob("*.md")]
    config.nav = _expanded(config.nav, sorted({*known, *_made}), docs)
    return config


def on_files(files: Any, config: Any) -> Any:
    """Adds the pages that are made."""
    from mkdocs.structure.files import File

    for name, text in _made.items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Text whose formulas are taken out; links to files outside of docs/ become the names of the files.

    CONTRIBUTING.md is a page of the site; its links start from the folder above docs/.
    """
    docs, name = Path(config.docs_dir), page.file.src_uri
    folder = ROOT if name == pages.CONTRIBUTING else (docs / name).parent
    to_top = "../" * name.count("/")

    def outside(link: re.Match[str]) -> str:
        target, sign, title = link[3].partition("#")
        path = (folder / target).resolve()
        if target and path == ROOT / "CONTRIBUTING.md":
            return f"[{link[2]}]({to_top}{pages.CONTRIBUTING}{sign}{title})"
        if target and folder == ROOT and path.is_relative_to(docs):
            return f"[{link[2]}]({path.relative_to(docs).as_posix()}{sign}{title})"
        if "://" in link[3] or not target or path.is_relative_to(docs) or not path.exists():
            return link[0]  # mkdocs warns where there is no such file
        file = f"`{path.relative_to(ROOT)}`"
        return file if link[2].strip("`").rstrip("/") == file.strip("`") else f"{link[2]} ({file})"

    return _apart_from_code(markdown, lambda text: formulas.taken_out(LINK.sub(outside, text), _formulas))


def on_page_content(html: str, page: Any, config: Any, files: Any) -> str:
    """The page with its formulas as MathML."""
    return formulas.put_in(html, _formulas)


def _apart_from_code(markdown: str, change: Any) -> str:
    """The text with everything changed that is not code."""
    done, at = [], 0
    for code in CODE.finditer(markdown):
        done += [change(markdown[at : code.start()]), code[0]]
        at = code.end()
    return "".join([*done, change(markdown[at:])])


def _expanded(nav: Any, known: list[str], docs: Path) -> Any:
    """The navigation with pages in place of folders; a title without pages is left out."""
    if isinstance(nav, list):
        items = [_expanded(each, known, docs) for each in nav]
        return [each for item in items for each in (item if isinstance(item, list) else [item]) if each]
    if isinstance(nav, dict):
        return {title: inside for title, item in nav.items() if (inside := _expanded(item, known, docs))}
    if not nav.endswith("/"):
        return nav
    inside = [name for name in known if name.startswith(nav)]
    index = f"{nav}index.md"
    text = _made.get(index) or ((docs / index).read_text("utf-8") if index in inside else "")
    order = [index, *(f"{nav}{name}" for name in LINKED_PAGE.findall(text))]
    return sorted(inside, key=lambda name: (order.index(name) if name in order else len(order), name))
