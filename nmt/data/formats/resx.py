"""Strings of .NET: resource files in XML, .resx and .resw.

Source: https://learn.microsoft.com/en-us/dotnet/core/extensions/work-with-resx-files-programmatically
"""

from pathlib import Path

from lxml import etree

from nmt.data.formats.inline import Code, read_text
from nmt.data.formats.keyed import Keyed, Place, Strings
from nmt.data.formats.xml_stream import read_elements, refuse_entities


def read_resx(path: Path) -> Strings:
    """The strings of a file, without its pictures, sizes and other values; it does not name its language."""
    texts: dict[Place, Keyed] = {}
    for element in read_elements(path, ["data"], ["root"]):
        refuse_entities(path, element, {"data"})
        name = element.get("name") or ""
        if _is_text(element) and not name.startswith(">>"):  # what the designer of forms knows of a control
            value = next(element.iterchildren("{*}value"), None)
            texts[Place(name)] = Keyed(read_text(path, value, lambda *_: Code()))
    return Strings(None, texts)


def _is_text(element: etree._Element) -> bool:
    return element.get("mimetype") is None and (element.get("type") or "System.String").startswith("System.String")
