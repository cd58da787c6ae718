"""Better translations that users propose, kept as JSON lines beside the run."""

import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

from nmt.serve.refusal import Refusal

FILE_NAME = "suggestions.jsonl"
MOST_CHARACTERS = 10_000  # of a text and of its proposed translation, each
MOST_BYTES = 64 << 20  # of the file


def add_suggestion(file: Path, text: str, suggestion: str, source: str, target: str) -> None:
    """Appends one line, with one write, so that lines of several processes never mix. Raises Refusal on failure."""
    for name, value in (("q", text), ("s", suggestion)):
        if len(value) > MOST_CHARACTERS:
            raise Refusal(400, f"{name} has {len(value):,} characters; a suggestion may have {MOST_CHARACTERS:,}")
    date = datetime.now(UTC).isoformat(timespec="seconds")
    record = {"q": text, "s": suggestion, "source": source, "target": target, "date": date}
    line = (json.dumps(record, ensure_ascii=False) + "\n").encode("utf-8", "replace")
    try:
        _append(file, line)
    except OSError as error:  # the folder is not writable, or the disk is full
        print(f"{file}: a suggestion was not kept ({error.strerror})", file=sys.stderr, flush=True)
        raise Refusal(503, "this server cannot keep suggestions now; tell its operator", 60) from None


def _append(file: Path, line: bytes) -> None:
    handle = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        if os.fstat(handle).st_size + len(line) > MOST_BYTES:
            raise Refusal(403, "this server holds as many suggestions as it may; tell its operator")
        os.write(handle, line)
    finally:
        os.close(handle)
