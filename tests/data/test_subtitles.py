"""Subtitles: texts on the screen at the same time are a pair, whatever the number of cues."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from helpers.small_corpora import data_config
from hypothesis import given
from hypothesis import strategies as st

from nmt.config.sections import SplitConfig
from nmt.data.formats.subtitles import SHARE, Cue, passages, read_cues
from nmt.data.readers import find_split
from nmt.errors import DataError

Spoken = tuple[float, float, str]


def stamp(seconds: float, comma: str = ",") -> str:
    whole = round(seconds * 1000)
    return f"{whole // 3_600_000:02}:{whole // 60_000 % 60:02}:{whole // 1000 % 60:02}{comma}{whole % 1000:03}"


def srt(cues: Sequence[Spoken]) -> str:
    return "\n".join(f"{i}\n{stamp(a)} --> {stamp(b)}\n{text}\n" for i, (a, b, text) in enumerate(cues, 1))


def vtt(cues: Sequence[Spoken]) -> str:
    blocks = (f"{stamp(a, '.')} --> {stamp(b, '.')} align:left\n{text}\n" for a, b, text in cues)
    return "WEBVTT - a film\n\nNOTE\nnothing\n\nSTYLE\n::cue { color: red }\n\n" + "\n".join(blocks)


def pairs_and_counts(folder: Path, src: str | bytes, tgt: str | bytes) -> tuple[list[tuple[str, str]], str]:
    """The pairs of two files, and what the report says of them."""
    for name, content in {"film.en.srt": src, "film.de.srt": tgt}.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    train = SplitConfig("film.en.srt", "film.de.srt", None)
    split = find_split(
        data_config("auto", root=str(folder), train=train, src_lang="en", tgt_lang="de"), "train", folder
    )
    assert split is not None
    return list(split.pairs()), str(split.tallies[0])


SRC = [
    (1, 3, "<i>Hello, I am</i>"), (3.1, 5, "a bear."), (6, 7, "- Who?\n- You."), (9, 10, "Alone."),
    (12, 16, "One long line that the other divides."), (20, 21, "Bye."),
]  # fmt: skip
TGT = [
    (0.8, 5.1, "{\\an8}Hallo, ich bin ein B&auml;r."), (6.1, 6.6, "Wer?"), (6.6, 7.2, "Du."),
    (12.2, 14, "Eine lange Zeile,"), (14, 16.1, "die der andere teilt."), (20.1, 21, "Tschüss."), (30, 31, "Ende."),
]  # fmt: skip
PAIRS = [
    ("Hello, I am a bear.", "Hallo, ich bin ein Bär."), ("Who? You.", "Wer? Du."),
    ("One long line that the other divides.", "Eine lange Zeile, die der andere teilt."), ("Bye.", "Tschüss."),
]  # fmt: skip


def test_tracks_with_different_numbers_of_cues(tmp_path: Path) -> None:
    pairs, said = pairs_and_counts(tmp_path, srt(SRC), vtt(TGT))
    assert pairs == PAIRS
    assert said == "film.en.srt and film.de.srt: 6 passages, 4 pairs; left out: 1 without German, 1 without English"


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_odd_files(tmp_path: Path, ends: str) -> None:
    """UTF-16, other line ends, no empty line between cues, hours that are missing."""
    crowded = srt(SRC).replace("\n\n", "\n").replace("\n", ends).encode("utf-16")
    short = "\ufeff" + vtt(TGT).replace("00:00:", "00:").replace("\n", ends)
    assert pairs_and_counts(tmp_path, crowded, short)[0] == PAIRS


def test_a_sentence_that_goes_on_in_the_next_cue_is_one(tmp_path: Path) -> None:
    src = [(1, 2, "When I was"), (2.5, 4, "young, we laughed."), (5, 6, "I said"), (9, 10, "nothing."), (11, 12, "No")]
    tgt = [
        (1, 2, "Als ich jung war,"),
        (2.5, 4, "lachten wir."),
        (5, 6, "Ich sagte"),
        (9, 10, "nichts."),
        (11, 12, "OK"),
    ]
    pairs, _ = pairs_and_counts(tmp_path, srt(src), srt(tgt))
    assert pairs == [
        ("When I was young, we laughed.", "Als ich jung war, lachten wir."), ("I said", "Ich sagte"),
        ("nothing.", "nichts."), ("No", "OK"),
    ]  # fmt: skip


@pytest.mark.parametrize(("shift", "cautioned"), [(0.0, False), (0.4, False), (1.2, True), (-1.3, True)])
def test_times_of_another_version_of_the_film_get_a_caution(tmp_path: Path, shift: float, cautioned: bool) -> None:
    cues = [(5 + 3.0 * number, 7.8 + 3.0 * number, f"Line {number}.") for number in range(40)]
    (tmp_path / "a.en.srt").write_text(srt(cues))
    (tmp_path / "a.de.srt").write_text(
        srt([(a + shift, b + shift, text.replace("Line", "Zeile")) for a, b, text in cues])
    )
    train = SplitConfig("a.en.srt", "a.de.srt", None)
    split = find_split(data_config("subtitles", root=str(tmp_path), train=train), "train", tmp_path)
    assert split is not None
    assert any("caution: half of the cues that overlap begin more than 1." in note for note in split.notes) == cautioned


def test_many_cues_that_hang_together_have_no_clear_counterpart(tmp_path: Path) -> None:
    src = [(n, n + 1, f"Word {n}.") for n in range(6)] + [(10, 11, "Last.")]
    pairs, said = pairs_and_counts(tmp_path, srt(src), srt([(0, 6, "Alles."), (10, 11, "Letztes.")]))
    assert pairs == [("Last.", "Letztes.")]
    assert said.endswith("left out: 1 without a clear counterpart")


CUES = st.lists(
    st.tuples(st.integers(0, 40), st.integers(1, 12)).map(lambda times: Cue(times[0], sum(times), f"{times}")),
    max_size=12,
).map(sorted)


@given(CUES, CUES)
def test_passages_are_what_overlaps(src: list[Cue], tgt: list[Cue]) -> None:
    """By comparing every cue with every other, and following what hangs together."""

    def linked(one: Cue, other: Cue) -> bool:
        shorter = min(one.end - one.start, other.end - other.start)
        return min(one.end, other.end) - max(one.start, other.start) > SHARE * shorter

    nodes = [(0, i) for i in range(len(src))] + [(1, j) for j in range(len(tgt))]
    edges = {((0, i), (1, j)) for i, one in enumerate(src) for j, other in enumerate(tgt) if linked(one, other)}
    expected, left = set(), set(nodes)
    while left:
        group, waiting = set(), [left.pop()]
        while waiting:
            node = waiting.pop()
            group.add(node)
            near = {a if b == node else b for a, b in edges if node in (a, b)} & left
            left -= near
            waiting += near
        expected.add(frozenset(group))
    found = passages(src, tgt)
    assert len(found) == len(expected)
    assert sorted((sorted(map(str, each.src)), sorted(map(str, each.tgt))) for each in found) == sorted(
        (sorted(str(src[i]) for side, i in group if not side), sorted(str(tgt[j]) for side, j in group if side))
        for group in expected
    )
    starts = [min(cue.start for cues in each for cue in cues) for each in found]
    assert starts == sorted(starts)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"1\n00:00:01,000 -> 00:00:02,000\nHi.\n", "line 2: no times can be read in 00:00:01,000 -> "),
        (b"10 -> 20\n", "has no cue of subtitles, as 00:00:01,000 --> 00:00:02,500; name"),
        (b"1\n" + b"9" * 5000 + b":00:01,000 --> 00:00:02,000\nHi.\n", "line 2: no times can be read in 9999"),
        (b"1\n00:00:01,000 --> 00:00:02,000\n\xfcber\n", "line 3: byte 0xfc is not valid UTF-8; set data.encoding="),
        (b"1\n00:00:01,000 --> bad\nHi.\n", "line 2: no times can be read in 00:00:01,000 --> bad; correct it"),
        (
            srt([(n / 10, n / 10 + 1, "Ha.") for n in range(400)]).encode(),
            "has more than 300 cues within a minute; name",
        ),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "a.srt").write_bytes(content)
    with pytest.raises(DataError) as error:
        read_cues(tmp_path / "a.srt", None)
    assert str(error.value).startswith(f"{tmp_path}/a.srt")
    assert said in str(error.value)
