"""The pages that are made while the site is built, so that they cannot differ from the program."""

from docs import choices, commands, http_api, python_api


def made() -> dict[str, str]:
    """Path below docs/ -> Markdown."""
    return {
        **commands.pages(),
        "reference/choices.md": choices.page(),
        "reference/python.md": python_api.page(),
        "reference/http.md": http_api.page(),
    }
