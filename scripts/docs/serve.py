"""Shows the documentation site in a browser, and builds it again when a page changes.

    make docs ARGS=serve
    python scripts/docs serve --port 8001

The site is at http://127.0.0.1:8000 until Ctrl-C.
"""

from collections.abc import Sequence

from command_line import new_parser
from docs.site import mkdocs


def main(words: Sequence[str]) -> int:
    """The exit code of mkdocs, which runs until Ctrl-C."""
    parser = new_parser("docs serve", __doc__)
    parser.add_argument("--port", type=int, default=8000, help="port to listen at, on this machine alone (%(default)s)")
    arguments = parser.parse_args(words)
    if not 0 < arguments.port < 65536:
        parser.error(f"--port {arguments.port} is not a port; give 1 to 65535")
    return mkdocs("serve", "--dev-addr", f"127.0.0.1:{arguments.port}", "--watch", "docs")
