"""`bench cautions`: what nmt says of good corpora, and how noise shows in the lengths."""

from pathlib import Path

import pytest

from bench.cautions import main

DEMO = Path(__file__).parents[2] / "data" / "demo_en_de"


def lines(language: str) -> list[str]:
    return (DEMO / f"train.{language}").read_text("utf-8").splitlines()[:700]


def write_po(folder: Path, locale: str, sources: list[str], targets: list[str]) -> None:
    place = folder / "program" / locale / "LC_MESSAGES"
    place.mkdir(parents=True)
    head = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n'
    entries = (f'\nmsgid "{src}"\nmsgstr "{tgt}"\n' for src, tgt in dict(zip(sources, targets, strict=True)).items())
    (place / "app.po").write_text(head + "".join(entries), "utf-8")


def test_each_locale_is_a_corpus_and_noise_lowers_its_correlation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_po(tmp_path, "de", lines("en"), lines("de"))
    write_po(tmp_path, "fr", lines("en"), lines("de"))  # no French
    write_po(tmp_path, "it", lines("en")[:20], lines("de")[:20])  # too little
    write_po(tmp_path, "de_Formal", lines("en"), lines("de"))  # no language code
    text = ",".join(str(DEMO / f"dev.{language}") for language in ("en", "de"))
    assert main(["--po", str(tmp_path), "--text", text, "--noise", "0.5"]) == 0
    out, err = capsys.readouterr()
    first, *rest = out.splitlines()
    assert first.startswith("fr: caution: ")
    assert "look German, not French" in first
    assert rest[0] == "1 of 3 corpora have a caution"
    whole, noisy = (float(line.split(" wrong: ")[1].split()[0]) for line in rest[1:])
    assert rest[1].startswith("0% wrong: ")
    assert rest[1].endswith(", 3 corpora")
    assert rest[2].startswith("50% wrong: ")
    assert noisy < whole - 0.2
    assert "de_Formal left out: data.tgt_lang=de-Formal is not a language code; " in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "neither --po nor --text is given; name what to look at"),
        (["--po", "."], "--po . has no LC_MESSAGES/*.po below it"),
        (["--text", "a.en"], "--text a.en is not two files with a comma between them"),
        (["--text", "a,b"], "--text a,b: a is not a file; name one with a sentence a line"),
        (["--text", "a,b", "--noise", "much"], "--noise much is not numbers with commas between them"),
    ],
)
def test_mistakes_are_named(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        main(words)
    assert message in capsys.readouterr().err
