"""Builds the documentation site; a dead link or anchor, or a page that the navigation lacks, is an error.

    make docs                                 (the site, in site/)
    python scripts/docs --output FOLDER       (in another folder)

Commands, choices, Python and HTTP in the reference are made from the program while the site is built.
"""

from collections.abc import Sequence
from pathlib import Path

from command_line import ROOT, new_parser
from docs.site import SITE, build, is_site


def main(words: Sequence[str]) -> int:
    """The exit code: 1 where mkdocs has a warning, 2 where it is not installed."""
    parser = new_parser("docs", __doc__)
    parser.add_argument("--output", type=Path, default=SITE, help="folder of the site, whose old pages go (site/)")
    arguments = parser.parse_args(words)
    output = arguments.output.expanduser().resolve()
    if output.exists() and not is_site(output):
        parser.error(f"--output {arguments.output} has other files; name a new folder, or that of a site")
    code = build(output)
    if code == 0 and arguments.output == SITE:
        print(f"open {SITE.relative_to(ROOT)}/index.html in a browser, or: make docs ARGS=serve")
    return code
