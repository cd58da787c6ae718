"""The pages that are made while the site is built, so that they cannot differ from the program."""

from command_line import ROOT
from docs import choices, commands, http_api, python_api

CONTRIBUTING = "contributing.md"  # the page that is CONTRIBUTING.md


def made() -> dict[str, str]:
    """Path below docs/ -> Markdown."""
    return {
        CONTRIBUTING: (ROOT / "CONTRIBUTING.md").read_text("utf-8"),
        **commands.pages(),
        "reference/choices.md": choices.page(),
        "reference/python.md": python_api.page(),
        "reference/http.md": http_api.page(),
    }
