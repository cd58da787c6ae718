"""The check of the documentation's words: finds its own examples, and nothing in what there is."""

from pathlib import Path

import pytest

from docs import prose
from docs.prose import RULES, Rule, broken, main
from docs.prose_text import of_markdown, of_python, of_yaml, sentences


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.example)
def test_every_rule_finds_its_example(rule: Rule) -> None:
    assert rule.instead in list(broken(rule.example))


@pytest.mark.parametrize(
    "sentence",
    [
        "The report lists the files that were skipped.",
        "A folder stands for its pages.",
        "Of course this works.",
        "What is attention for?",
        "A standard model has a number of layers.",
        "The value is None without a limit.",
    ],
)
def test_good_sentences_pass(sentence: str) -> None:
    assert not list(broken(sentence))


def test_long_sentences_are_found_outside_of_tables() -> None:
    assert not list(broken("word " * 45 + "."))
    assert list(broken("word " * 46 + ".")) == ["46 words, two sentences"]
    assert not list(broken("word " * 46 + ".", in_table=True))


def test_sentences_are_those_that_people_read() -> None:
    page = (
        "# A title\n\nOne line. Another `nmt x. Y`\nends *here*.\n\n```\ncode. Not read.\n```\n- an item\n"
        "- [a link](x.md) is text\n\n| a | b |\n|---|---|\n| one | two |\n"
    )
    found = list(sentences(of_markdown(page)))
    assert [text for _, text, _ in found] == [
        "A title", "One line.", "Another Code ends here.", "an item", "a link is text", "a", "b", "one", "two",
    ]  # fmt: skip
    assert [line for line, _, _ in found] == [1, 3, 3, 9, 10, 12, 12, 14, 14]


def test_sentences_of_a_program_are_docstrings_and_comments() -> None:
    source = (
        '"""What it is.\n\n    python x.py   (not read)\n\nMore of it\nhere."""\n\nx = "no"  # why\n# one\n# two\n\n'
        'y = 1  # noqa: E1\n\n\ndef f():\n    """One. Two."""\n    # three\n'
    )
    found = [(line, text) for line, text, _ in sentences(of_python(source))]
    assert found == [
        (1, "What it is."), (5, "More of it here."), (16, "One."), (16, "Two."),
        (8, "why"), (9, "one two"), (17, "three"),
    ]  # fmt: skip


def test_sentences_of_yaml_are_comments() -> None:
    found = [(line, text) for line, text, _ in sentences(of_yaml("# a\n# b\nx: 1 # c\ny: a#b\n"))]
    assert found == [(1, "a b"), (3, "c")]


@pytest.mark.slow
def test_what_there_is_passes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0, capsys.readouterr().err


@pytest.mark.parametrize("name", ["missing.md", "picture.png"])
def test_a_file_that_cannot_be_read_is_one_line(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([name])
    assert stop.value.code == 2
    assert capsys.readouterr().err.endswith(f"error: {name} is not a file of these kinds: .md, .py, .yaml\n")


def test_a_file_in_another_encoding_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_bytes("Ein Café.\n".encode("latin-1"))
    with pytest.raises(SystemExit) as stop:
        main([str(page)])
    assert stop.value.code == 2
    assert capsys.readouterr().err.endswith(f"error: {page} is not UTF-8 (byte 8); convert it\n")


def test_findings_and_exceptions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page, exceptions = tmp_path / "page.md", tmp_path / "exceptions.yaml"
    page.write_text("It is said that this is old. This is new.\n", "utf-8")
    exceptions.write_text("{}", "utf-8")
    monkeypatch.setattr(prose, "EXCEPTIONS", exceptions)
    monkeypatch.setattr(prose, "ROOT", tmp_path)
    assert main([str(page)]) == 1
    assert "page.md:1: name who says it" in capsys.readouterr().err
    exceptions.write_text("page.md: [It is said that]", "utf-8")
    assert main([str(page)]) == 0
    monkeypatch.setattr(prose, "checked_files", lambda: [page])
    assert main([]) == 0
    page.write_text("This is new.\n", "utf-8")
    assert main([]) == 1
    assert "needs the exception 'It is said that'" in capsys.readouterr().err
