"""`nmt keys`: adds a key and prints its secret once, revokes one, or lists them."""

import sys
from collections.abc import Mapping

from nmt.config.verbs import KeysCommand
from nmt.figures.table import NONE, grid, text_table
from nmt.machine.home import expanded
from nmt.serve.key_changes import add_key, revoke_key
from nmt.serve.keys import Entry, Key, read_entries


def main(command: KeysCommand) -> int:
    """Adds a key, revokes one or lists them; for a new key only its secret goes to stdout."""
    path = expanded(command.file)
    if command.add is not None:
        print(add_key(path, Key(command.add, command.characters_per_minute, command.requests_per_minute)))
        print(f"caution: this is the only time that the secret of {command.add} is shown; keep it", file=sys.stderr)
    elif command.revoke is not None:
        revoke_key(path, command.revoke)
        print(f"{command.revoke} is revoked", file=sys.stderr)
    elif entries := read_entries(path):
        print(text_table(grid([row(entry) for entry in entries])))
    else:
        print(f"note: {path} holds no key; nmt keys file={path} add=NAME makes one", file=sys.stderr)
    return 0


def row(entry: Entry) -> Mapping[str, str]:
    """A row of the list of keys."""
    return {
        "name": entry.key.name,
        "created": entry.created.isoformat(),
        "characters per minute": limit(entry.key.characters_per_minute),
        "requests per minute": limit(entry.key.requests_per_minute),
    }


def limit(value: int | None) -> str:
    """A limit per minute as text; a dash for none."""
    return NONE if value is None else f"{value:,}"
