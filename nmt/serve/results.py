"""Results that wait for their download, each in a file of a private folder under a name that nobody can guess."""

import json
import os
import re
import secrets
import time
from dataclasses import dataclass
from pathlib import Path

from nmt.serve.refusal import Refusal

TOKEN = re.compile("[A-Za-z0-9_-]{32}")


@dataclass(frozen=True)
class Result:
    """A file for a client to download, and the name that the client sees."""

    name: str
    content: bytes


@dataclass(frozen=True)
class Results:
    """A bounded folder of results. Several processes may share it, because a result's file holds all of its data."""

    folder: Path
    most_files: int = 1000
    most_bytes: int = 256 << 20
    seconds: float = 3600.0

    def keep(self, result: Result) -> str:
        """Stores a result and returns its token. Raises Refusal(503) if the folder is full."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        sizes = self.remove_old()
        if len(sizes) >= self.most_files or sum(sizes) + len(result.content) > self.most_bytes:
            raise Refusal(503, "too many translated files wait for their download; try again later", 60)
        token = secrets.token_urlsafe(24)
        head = json.dumps({"name": result.name}).encode() + b"\n"
        part = self.folder / f"{token}.part"
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(head + result.content)
        os.replace(part, self.folder / token)
        return token

    def find(self, token: str) -> Result:
        """The result with this token. Raises Refusal(404) if it is missing or too old."""
        missing = Refusal(404, "there is no such file: it was downloaded already, or an hour has passed")
        if not TOKEN.fullmatch(token):
            raise missing
        file = self.folder / token
        try:
            if time.time() - file.stat().st_mtime > self.seconds:
                raise missing
            head, _, content = file.read_bytes().partition(b"\n")
        except FileNotFoundError:
            raise missing from None
        return Result(json.loads(head)["name"], content)

    def remove(self, token: str) -> None:
        """Deletes the result, if it is still there."""
        if TOKEN.fullmatch(token):
            (self.folder / token).unlink(missing_ok=True)

    def remove_old(self) -> list[int]:
        """Deletes results that have waited too long, and returns the sizes of the others."""
        sizes: list[int] = []
        now = time.time()
        for file in self.folder.glob("*"):
            try:
                state = file.stat()
            except FileNotFoundError:  # another process was quicker
                continue
            if now - state.st_mtime > self.seconds:
                file.unlink(missing_ok=True)
            else:
                sizes.append(state.st_size)
        return sizes
