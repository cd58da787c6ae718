"""Elements of an XML file, one at a time, in bounded memory; no DTD is loaded, no entity expanded, nothing fetched."""

import re
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import BinaryIO

from lxml import etree

from nmt.data.encodings import Utf8, is_one_byte, is_utf8
from nmt.data.packed import unpacked
from nmt.errors import DataError, printable

CHUNK = 1 << 16
LONGEST_TAG = 1 << 10  # bytes of a tag around an embedded document
MOST_BYTES = 1 << 23  # most bytes between the ends of two elements: their tree may take thirty times as much memory


def read_elements(
    path: Path, names: Sequence[str], roots: Sequence[str], embedded: Sequence[str] = ()
) -> Iterator[etree._Element]:
    """Yields the elements with these names, in any namespace, of a file whose root element is one of `roots`.

    The root may be in capitals. Of elements with names in `embedded`, which may hold whole documents, the content is
    not read. Each element is whole; it is gone some elements later. The file may be in any encoding that its XML
    declaration names. Raises DataError for another root, XML that is not well-formed, and elements that are too large.
    """
    etree.clear_error_log()
    waiting = 0
    checked = False
    latest = None
    try:
        with unpacked(path) as file:
            if not file.peek(1):
                raise DataError(f"{path} is empty; name another file")
            start = file.peek(CHUNK)[:CHUNK]
            parser = _parser(names, _encoding(path, start))
            chunks = _chunks(file, embedded)
            if is_one_byte(declared := _declared(start)):
                chunks = _not_utf8(path, chunks, declared)
            for chunk in chunks:
                parser.feed(chunk)
                waiting += len(chunk)
                last = None
                for _, element in parser.read_events():
                    if not checked:
                        _refuse_other_root(path, element.getroottree().getroot(), roots)
                        checked = True
                    yield element
                    last = latest = element
                if last is not None:
                    waiting = 0
                    last.clear(keep_tail=True)
                    _refuse_entities_beside(path, last, preceding=True)
                    _forget_before(last)
                elif waiting > MOST_BYTES:
                    raise DataError(
                        f"{path}: no <{names[0]}> ends within {waiting >> 20} MB; name another file, or another data="
                    )
            first = parser.close()
            _refuse_entities_beside(path, latest, preceding=False)
    except etree.XMLSyntaxError as error:
        raise _malformed(path, error) from error
    if not checked:
        _refuse_other_root(path, first, roots)


def _parser(names: Sequence[str], encoding: str | None) -> "etree.XMLPullParser[etree._Element]":
    return etree.XMLPullParser(
        ("end",),
        encoding=encoding,
        tag=[f"{{*}}{name}" for name in names],
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )  # without collect_ids=False, which would make libxml2 load the DTD


def _chunks(file: BinaryIO, embedded: Sequence[str]) -> Iterator[bytes]:
    """The content of a file without that of elements with these names, of which only line ends stay."""
    chunks = iter(partial(file.read, CHUNK), b"")
    if not embedded:
        yield from chunks
        return
    begin = re.compile(rb"<(?:[\w.-]+:)?(?:%s)(?:\s[^<>]*)?>" % "|".join(embedded).encode())
    end = re.compile(rb"</(?:[\w.-]+:)?(?:%s)\s*>" % "|".join(embedded).encode())
    rest, within = b"", False
    for chunk in chunks:
        data, kept, at = rest + chunk, [], 0
        while found := (end if within else begin).search(data, at):
            if within:
                kept.append(_line_ends(data[at : found.start()]) + found[0])
                within = False
            else:
                kept.append(data[at : found.end()])
                within = not found[0].endswith(b"/>")
            at = found.end()
        cut = max(at, data.rfind(b"<", max(at, len(data) - LONGEST_TAG)))  # a tag may go on in the next chunk
        cut = cut if data[cut : cut + 1] == b"<" else len(data)
        kept.append(_line_ends(data[at:cut]) if within else data[at:cut])
        rest = data[cut:]
        if ready := b"".join(kept):
            yield ready
    if rest:
        yield rest


def _line_ends(content: bytes) -> bytes:
    return b"\n" * content.count(b"\n")


def local_name(element: etree._Element) -> str:
    """The element's name without its namespace."""
    return str(element.tag).rpartition("}")[2]


def is_named(element: etree._Element, name: str) -> bool:
    """Does the element have this name, in any namespace or none?"""
    return element.tag == name or local_name(element) == name


def refuse_entity(path: Path, element: etree._Element) -> None:
    """Refuses a node that is not an element but a reference to an entity that the file itself defines."""
    if not isinstance(element.tag, str):
        raise DataError(
            f"{path}, line {element.sourceline}: {printable(element.text or '')} is an entity, which nmt never expands;"
            " write its text in its place"
        )


def refuse_entities(path: Path, element: etree._Element, holders: Collection[str]) -> None:
    """Refuses references to entities in elements with these local names, which hold no text of their own."""
    for entity in element.iter(etree.Entity):
        if local_name(entity.getparent()) in holders:
            refuse_entity(path, entity)


def _refuse_entities_beside(path: Path, element: etree._Element | None, preceding: bool) -> None:
    """Refuses references to entities among the siblings of the element and of its ancestors, before or after them."""
    while element is not None:
        for entity in element.itersiblings(etree.Entity, preceding=preceding):
            refuse_entity(path, entity)
        element = element.getparent()


def _forget_before(element: etree._Element) -> None:
    """Removes everything before the element from the tree, so that the tree does not grow."""
    while element is not None:
        parent = element.getparent()
        if parent is not None:
            del parent[: parent.index(element)]
        element = parent


def _refuse_other_root(path: Path, found: etree._Element, roots: Sequence[str]) -> None:
    if local_name(found).lower() not in roots:
        wanted = " or ".join(f"<{root}>" for root in roots)
        raise DataError(
            f"{path}: its first element is <{printable(local_name(found))[:40]}>, not {wanted};"
            " name another file, or another data="
        )


def _malformed(path: Path, error: etree.XMLSyntaxError) -> DataError:
    """The parser's error as one line; the parser reports some errors, such as an unknown entity, only in its log."""
    reason, line = error.msg or "", error.lineno or 0
    if not line and (entry := error.error_log.last_error) is not None:
        reason, line = entry.message, entry.line
    reason = printable(reason.partition("\n")[0]).partition(", line ")[0]
    remedy = "correct the file, or export it again"
    if error.code == etree.ErrorTypes.ERR_INVALID_ENCODING:
        remedy = 'convert the file, or name its encoding in its first line: <?xml version="1.0" encoding="…"?>'
    return DataError(f"{path}, line {line or 1}: not well-formed XML ({reason}); {remedy}")


def _encoding(path: Path, start: bytes) -> str | None:
    """The encoding to read a file with this beginning in, where it is not the one that it declares.

    ISO-8859-1 means Windows-1252, which has quotes and dashes in place of control characters, as it does in browsers.
    Raises DataError if the declaration is wrong.
    """
    name = _declared(start)
    if name.startswith(("utf-16", "utf16", "ucs")) or (is_one_byte(name) and is_utf8([start])):
        raise _wrongly_declared(path, name)
    return "windows-1252" if name == "iso-8859-1" else None


def _declared(start: bytes) -> str:
    """The encoding that a file with this beginning declares; empty if it declares none."""
    declared = re.match(rb"""(?:\xef\xbb\xbf)?<\?xml[^>]*encoding=["']([^"']*)""", start, re.IGNORECASE)
    return "" if declared is None else declared[1].decode("ascii", "replace").lower()


def _not_utf8(path: Path, chunks: Iterator[bytes], declared: str) -> Iterator[bytes]:
    """The chunks; at the end, refuses them if they are UTF-8, which text in another encoding never is by chance."""
    found = Utf8()
    for chunk in chunks:
        found.add(chunk)
        yield chunk
    if found:
        raise _wrongly_declared(path, declared)


def _wrongly_declared(path: Path, name: str) -> DataError:
    return DataError(
        f"{path}, line 1: it declares the encoding {printable(name)}, which is wrong; declare the right one, such as "
        "UTF-8"
    )
