"""What README, docs/ and CONTRIBUTING tell people to type can be typed: keys, targets, files. Nothing is trained."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from helpers.pages import (
    BLOCK,
    HOW_TO,
    LENIENT,
    PAGES,
    ROOT,
    STRICT,
    UnknownLineError,
    commands,
    in_blocks,
    script_commands,
    typed,
)
from helpers.small_runs import make_run

from command_line import run as run_script
from demo.demonstration import parse_arguments
from nmt.cli import main as cli
from nmt.cli.main import main
from nmt.compare.runs import Sweep
from nmt.config.run import RunConfig
from nmt.config.verbs import TrainCommand
from nmt.training.untrainable import refuse_untrainable
from nmt.tune.plan import Plan

YAML = sorted((ROOT / "configs").rglob("*.yaml"))
VERBS = list(cli.VERBS)
IN_YAML = re.compile(r"# .*?(nmt [a-z]+ \w[^()]*?=[^()]*?)(?:  +\(.*| < .*)?$", re.MULTILINE)
TYPED = {f"{name}: {' '.join(command.words)}": command for command, name in commands().items()}
TYPED |= {
    f"{path.relative_to(ROOT)}: {text}": command
    for path in YAML
    for text in IN_YAML.findall("\n".join(path.read_text("utf-8").split("\n")[:4]))
    if (command := typed(text)) is not None
}
SCRIPTS = [words for words in script_commands() if words[0].isidentifier() and words[0].islower()]
MAIN = {
    "demo": "demo.demonstration",
    "demo_corpus": "demo_corpus.write",
    "mutation": "mutation.run",
}  # that do one thing
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
EXAMPLES = ("configs/attention/biased.yaml",)  # files that a reader is to write
READING = ("scores", "attention", "rnn", "beam", "trainer")  # the order of the files


@pytest.fixture
def composed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Any]:
    """What the verbs were called with, in a folder of their own; they do no work."""
    seen: list[Any] = []
    module = ModuleType("recording_verb")

    def verb(given: Any, more: Any = None) -> None:
        if isinstance(given, Sweep):
            seen.extend(job.config for job in given.jobs)
        else:
            seen.append(more if isinstance(given, Plan) else given)

    module.__dict__["verb"] = verb
    monkeypatch.setitem(sys.modules, "recording_verb", module)
    for name in VERBS:
        monkeypatch.setitem(cli.VERBS, name, cli.Verb("", "recording_verb:verb"))
    monkeypatch.chdir(tmp_path)
    own = tmp_path / "my_configs" / "experiment"
    own.mkdir(parents=True)
    (own / "mine.yaml").write_text("# @package _global_\nseed: 2\n")
    return seen


def check(given: Any) -> None:
    """What `nmt train` checks before it reads the corpus."""
    config = given.run if isinstance(given, TrainCommand) else given
    if isinstance(config, RunConfig):
        refuse_untrainable(config)


def targets() -> set[str]:
    """Targets that the Makefile declares."""
    declared = re.findall(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)
    return set(" ".join(declared).split())


def words_of_make(verb: str, given: list[str]) -> list[str]:
    """The words that make passes on, as make itself expands them; none of a target that runs another program."""
    shown = subprocess.run(
        ["make", "--dry-run", verb, *given], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout  # fmt: skip
    called = [re.search(rf"\.venv/bin/(?:nmt {verb}|python scripts/{verb}) ?(.*)", line) for line in shown.splitlines()]
    return next((shlex.split(each[1]) for each in called if each is not None), [])


def test_the_commands_are_found() -> None:
    verbs = {command.words[1] for command in TYPED.values()}
    assert {*VERBS, "demo", "test", "check", "setup", "tensorboard"} <= verbs
    places = {place.split(":")[0] for place in TYPED}
    assert places >= {"README.md", "CONTRIBUTING.md", "configs/train.yaml", "docs/tutorial/first-translator.md"}


def test_a_line_that_no_test_knows_is_refused() -> None:
    page = "```\nnmt train data=demo_en_de\nrm -r runs\n```\n"
    assert [command.words for command in in_blocks(page, strict=True)] == [("nmt", "train", "data=demo_en_de")]
    with pytest.raises(UnknownLineError, match="nmd train"):
        in_blocks(page.replace("nmt", "nmd"), strict=True)


@pytest.mark.slow
@pytest.mark.parametrize("place", TYPED)
def test_every_command_can_be_typed(place: str, composed: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    program, verb, *rest = TYPED[place].words
    rest = [word for word in rest if not word.startswith(("hydra/launcher=", "hydra.launcher."))]  # test_launchers.py
    if program == "make":
        assert verb in targets()
        rest = words_of_make(verb, rest)
        if verb == "demo":
            verb, rest = "train", parse_arguments(rest)[1]
        if verb not in VERBS:
            return
    code = main([verb, *(word.split(",")[0] if word.startswith("seed=") else word for word in rest)])
    error = TYPED[place].error
    if error is not None:  # errors of the work itself are those of test_docs_run.py
        assert composed or (code, capsys.readouterr().err) == (2, f"{error}\n")
        return
    assert code == 0, capsys.readouterr().err
    shows = {"--help", "--cfg", "--version"} & {verb, *rest}
    assert bool(composed) != bool(shows)
    for config in composed:
        check(config)


@pytest.mark.parametrize("words", SCRIPTS, ids=" ".join)
def test_every_script_has_the_options_that_a_page_gives_it(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """Words without dashes are those of `nmt train`; they are composed."""
    folder, *rest = words
    parts = getattr(import_module(f"{folder}.__main__"), "PARTS", {})
    part = [rest.pop(0)] if rest and rest[0] in parts else []
    called = partial(run_script, folder, parts) if parts else import_module(MAIN.get(folder, folder)).main
    with pytest.raises(SystemExit) as stop:
        called([*part, "--help"])
    assert stop.value.code == 0
    known = set(re.findall(r"--[\w-]+", capsys.readouterr().out))
    assert {word.split("=")[0] for word in rest if word.startswith("--")} <= known


def test_the_python_examples_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_run(tmp_path / "runs" / "mine")
    monkeypatch.chdir(tmp_path)
    examples = [text for language, text in BLOCK.findall(PAGES["docs/how-to/python.md"]) if language == "python"]
    assert len(examples) >= 3
    for example in examples:
        exec(example, {})
        assert capsys.readouterr().out.strip()


@pytest.mark.parametrize("name", [*STRICT, "CONTRIBUTING.md", "CHANGELOG.md", ".github/SECURITY.md"])
def test_linked_files_and_titles_exist(name: str) -> None:
    page = (ROOT / name).read_text("utf-8")
    links = [link for link in re.findall(r"\]\(([^)]+)\)", BLOCK.sub("", page)) if not link.startswith("http")]
    for link in links:
        path, _, title = link.partition("#")
        linked = (ROOT / name).parent / path if path else ROOT / name
        assert linked.exists(), link
        if title:
            assert title in anchors(linked.read_text("utf-8")), link
        if name.startswith("docs/") and path != os.path.relpath(ROOT / "CONTRIBUTING.md", (ROOT / name).parent):
            assert (ROOT / "docs") in linked.resolve().parents, f"{link} leaves docs/, which the site does not have"


def anchors(page: str) -> set[str]:
    """The anchors of its titles, as GitHub and mkdocs make them."""
    titles = re.findall(r"^#+ (.*)$", BLOCK.sub("", page), re.MULTILINE)
    return {re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", title).strip().lower()) for title in titles}


def test_named_files_exist() -> None:
    pages = "".join(PAGES[name] for name in ("CONTRIBUTING.md", *STRICT))
    named = {path for path in re.findall(r"`((?:nmt|configs|tests|scripts)/[\w./]+)`", pages) if path not in EXAMPLES}
    assert named
    assert not [path for path in sorted(named) if not (ROOT / path).exists()]


def test_the_scores_of_the_page_exist() -> None:
    """Not the reverse: `nmt attentions` lists them all, so that a new score needs no edit elsewhere."""
    section = PAGES["docs/how-to/attention.md"].partition("## Attention scores")[2].partition("\n## ")[0]
    described = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    assert len(described) >= 9
    assert {*described} <= {path.stem for path in (ROOT / "configs" / "attention").glob("*.yaml")}
    assert all(f"`{name}`" in PAGES["README.md"] for name in described)


def test_every_format_is_described() -> None:
    section = PAGES["docs/how-to/own-data.md"].partition("## Formats")[2].partition("\n## ")[0]
    described = re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (`.*?`) \|", section, re.MULTILINE)))
    assert sorted(described) == sorted(path.stem for path in (ROOT / "configs" / "data").glob("*.yaml"))


def test_the_readme_is_one_screen_and_its_reading_order_holds() -> None:
    readme = PAGES["README.md"]
    assert len(readme.splitlines()) <= 120
    rows = re.findall(r"^\| \[(nmt/\S+?)\]\(\1\) \| (\d+) \|", readme, re.MULTILINE)
    assert [Path(path).stem for path, _ in rows] == list(READING)
    for path, lines in rows:
        now = len((ROOT / path).read_text("utf-8").splitlines())
        assert abs(int(lines) - now) <= 0.2 * now, f"{path} has {now} lines"


def test_every_how_to_page_is_listed_and_begins_with_what_it_is_for() -> None:
    pages = [path for path in HOW_TO if path.parent.name == "how-to" and path.stem != "index"]
    assert {path.name for path in pages} == set(re.findall(r"\]\(([\w-]+\.md)\)", PAGES["docs/how-to/index.md"]))
    for path in pages:
        assert re.match(r"# .+\n\nThis page (says|lists) ", path.read_text("utf-8")), path


@pytest.mark.parametrize("name", ["docs/tutorial/attention.md"])
def test_code_that_is_shown_is_the_code_that_runs(name: str) -> None:
    scores = (ROOT / "nmt/model/scores.py").read_text("utf-8")
    [shown] = [text for language, text in BLOCK.findall(PAGES[name]) if language == "python"]
    assert shown in scores


def test_the_citation_is_of_this_version_in_both_forms() -> None:
    package = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    citation = yaml.safe_load((ROOT / "docs" / "CITATION.cff").read_text("utf-8"))
    assert (citation["version"], citation["license"]) == (package["version"], package["license"]["text"])
    bibtex = dict(re.findall(r"^  (\w+) += {+([^}]+)}", PAGES["docs/how-to/reproduce-results.md"], re.MULTILINE))
    assert citation["title"] == bibtex["title"]
    assert [author["name"] for author in citation["authors"]] == [bibtex["author"]]
    assert (bibtex["version"], bibtex["license"]) == (citation["version"], citation["license"])


def test_no_page_is_checked_twice() -> None:
    assert not set(STRICT) & set(LENIENT)
