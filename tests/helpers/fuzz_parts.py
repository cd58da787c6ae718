"""The parts of `python scripts/fuzz serve`: which share of the cases each has, and how they are tried."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import requests

from helpers.described_cases import conforms, every_kind, narrowed, tried
from helpers.fuzz_server import ANSWERED_S, Fuzzed
from helpers.small_runs import make_run, sentences
from nmt.serve.key_changes import add_key
from nmt.serve.keys import Key
from nmt.translation.translator import Translator

SETTINGS = (
    "characters=400", "texts=5", "n_best=4", "body_mb=1", "body_timeout_s=1", "timeout_s=10", "queue_pieces=5000",
    "cache_mb=1", "suggestions=true",
)  # fmt: skip


@dataclass(frozen=True)
class Part:
    """A kind of cases."""

    share: float
    tried: Callable[[str, int, int], Counter[int]]  # address, cases, seed → how often each status was answered


def words_of(folder: Path) -> list[str]:
    """For `nmt serve`: two small models with short limits, and a file of keys."""
    make_run(folder / "first", max_length_a=2.0)
    make_run(folder / "back", "none", seed=2, data={"src_lang": "de", "tgt_lang": "en"}, max_length_a=2.0)
    add_key(folder / "keys.json", Key("any", None, None))
    return [f"models=[{folder / 'first'},{folder / 'back'}]", f"keys={folder / 'keys.json'}", *SETTINGS]


def description_of(url: str) -> dict[str, Any]:
    """What the server says that it answers."""
    found: dict[str, Any] = httpx.get(f"{url}/spec").json()
    return found


def described(url: str, cases: int, start: int) -> Counter[int]:
    """Cases of schemathesis, from the description."""
    counts: Counter[int] = Counter()
    with requests.Session() as session:

        def check(case: Any) -> None:
            response = case.call(base_url=url, session=session, timeout=ANSWERED_S)
            counts[response.status_code] += 1
            conforms(case, response)

        kinds = [
            (operation, mode)
            for operation, mode in every_kind(narrowed(description_of(url), ["en", "de"]))
            if operation.body or operation.query or operation.path_parameters
        ]
        for operation, mode in kinds:
            tried(operation, mode, max(2, cases // len(kinds)), start, check)
    return counts


def valid(url: str, cases: int, start: int) -> Counter[int]:
    """Valid HTTP with any content."""
    fuzzed = Fuzzed(url, description_of(url))
    return fuzzed.tried(fuzzed.any_request, cases, start)


def almost(url: str, cases: int, start: int) -> Counter[int]:
    """Bytes that are almost HTTP."""
    fuzzed = Fuzzed(url, description_of(url))
    return fuzzed.tried(fuzzed.any_bytes, cases, start)


def at_once(url: str, cases: int, start: int) -> Counter[int]:
    """Several requests at once over one connection."""
    fuzzed = Fuzzed(url, description_of(url))
    return fuzzed.tried(fuzzed.pipelined, cases, start)


PARTS = {
    "described": Part(0.02, described),
    "requests": Part(0.58, valid),
    "garbage": Part(0.37, almost),
    "pipelined": Part(0.03, at_once),
}


class Normal:
    """Normal requests, whose right answers are known."""

    def __init__(self, run: Path) -> None:
        self.texts = [text for text in sentences(40, seed=99) if "." not in text][:20]  # one sentence each
        translator = Translator.load(run, device="cpu", precision="fp32")
        self.expected = [each.text for each in translator.translate(self.texts)]

    def check(self, url: str) -> None:
        """Raises where one is answered wrongly."""
        for text, expected in zip(self.texts, self.expected, strict=True):
            body = {"text": text, "source": "en", "target": "de", "model": "first", "split": False}
            found = httpx.post(f"{url}/v1/translate", json=body, timeout=ANSWERED_S)
            assert found.status_code == 200, found.text
            assert found.json()["texts"][0]["text"] == expected
