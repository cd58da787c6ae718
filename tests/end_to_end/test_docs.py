"""What README.md and CONTRIBUTING.md tell people to type can be typed: keys, targets, files. Nothing is trained."""

import re
import shlex
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from helpers.small_runs import make_run

from demo.__main__ import parse_arguments
from nmt.cli import main as cli
from nmt.cli.main import main
from nmt.compare.runs import Sweep
from nmt.config.run import RunConfig
from nmt.config.verbs import TrainCommand
from nmt.training.parts import refuse_untrainable
from nmt.tune.plan import Plan

ROOT = Path(__file__).parents[2]
NAMES = (
    "README.md",
    "CONTRIBUTING.md",
    "data/README.md",
    "docs/many-files.md",
    "docs/cleaning.md",
    "docs/sentences.md",
)
PAGES = {name: (ROOT / name).read_text(encoding="utf-8") for name in NAMES}
YAML = sorted((ROOT / "configs").rglob("*.yaml"))
COMMAND = re.compile(r"(?:nmt|make) [a-z-].*")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
VERBS = list(cli.VERBS)
BARE = [f"nmt {verb}" for verb in VERBS]  # names a verb, is no command


def commands(page: str) -> list[str]:
    """Every command of ours on the page, in blocks of code and in running text, as typed."""
    lines, running = [], page
    for block in BLOCK.finditer(page):
        running = running.replace(block[0], "")
        if block[1] in ("", "console"):
            lines += [line.removeprefix("$ ") for line in block[2].splitlines()]
    lines += [text for text in re.findall(r"`([^`\n]+)`", running) if text not in BARE]
    return [line for line in lines if COMMAND.fullmatch(line) and "…" not in line]


def words(command: str) -> list[str]:
    """The words as a shell passes them on: without comments, without redirections."""
    return shlex.split(re.sub(r"\s[<>]\s*\S+", " ", command), comments=True)


TYPED = {f"{name}: {command}": words(command) for name, page in PAGES.items() for command in commands(page)}
IN_YAML = re.compile(r"# .*?(nmt [a-z]+ \w[^()]*?=[^()]*?)(?:  +\(.*| < .*)?$", re.MULTILINE)
TYPED |= {
    f"{path.relative_to(ROOT)}: {command}": words(command)
    for path in YAML
    for command in IN_YAML.findall("\n".join(path.read_text("utf-8").split("\n")[:4]))
}


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
    declared = re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    return set(" ".join(declared).split())


def test_the_commands_are_found() -> None:
    verbs = {typed[1] for typed in TYPED.values()}
    assert {*VERBS, "demo", "test", "check", "setup", "tensorboard"} <= verbs
    assert {place.split(":")[0] for place in TYPED} >= {"README.md", "CONTRIBUTING.md", "configs/train.yaml"}


@pytest.mark.parametrize("place", TYPED)
def test_every_command_can_be_typed(
    place: str, composed: list[Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program, verb, *rest = TYPED[place]
    if program == "make":
        assert verb in targets()
        arguments = next((word.removeprefix("ARGS=") for word in rest if word.startswith("ARGS=")), "")
        rest = shlex.split(arguments)
        if verb == "demo":
            verb, rest = "train", parse_arguments(rest)[1]
        if verb not in VERBS:
            return
    line = PAGES.get(place.partition(":")[0], "").partition(place.partition(": ")[2])[2].splitlines()[1:2]
    if line and line[0].startswith("error: "):
        check_mistake([verb, *rest], line[0], composed, capsys)
        return
    code = main([verb, *rest])
    assert code == 0, capsys.readouterr().err
    shows = {"--help", "--cfg"} & set(rest)
    assert bool(composed) != bool(shows)
    for config in composed:
        check(config)


def check_mistake(typed: list[str], message: str, composed: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    """The page shows the error that the command line gives; errors of the work itself are tested elsewhere."""
    code = main(typed)
    assert composed or (code, capsys.readouterr().err) == (2, f"{message}\n")


def test_the_python_example_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_run(tmp_path / "runs" / "mine")
    monkeypatch.chdir(tmp_path)
    [example] = [block[2] for block in BLOCK.finditer(PAGES["README.md"]) if block[1] == "python"]
    exec(example, {})
    assert capsys.readouterr().out.strip()


@pytest.mark.parametrize("name", [name for name in PAGES if "/" not in name] + ["CHANGELOG.md"])
def test_linked_files_exist(name: str) -> None:
    page = (ROOT / name).read_text("utf-8")
    links = [link for link in re.findall(r"\]\(([^)]+)\)", page) if not link.startswith("http")]
    assert all((ROOT / name).parent.joinpath(link).exists() for link in links), links


def test_named_files_exist() -> None:
    named = re.findall(r"`((?:nmt|configs|tests)/[\w./]+)`", PAGES["CONTRIBUTING.md"])
    assert named
    assert all((ROOT / path).exists() for path in named), named


def test_the_scores_of_the_readme_exist() -> None:
    """Not the reverse: `nmt attentions` lists them all, so that a new score needs no edit elsewhere."""
    section = PAGES["README.md"].partition("## Attention")[2].partition("\n## ")[0]
    described = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    assert len(described) >= 9
    assert {*described} <= {path.stem for path in (ROOT / "configs" / "attention").glob("*.yaml")}


def test_every_format_stands_in_the_readme() -> None:
    section = PAGES["README.md"].partition("## Formats")[2].partition("\n## ")[0]
    described = re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (`.*?`) \|", section, re.MULTILINE)))
    assert sorted(described) == sorted(path.stem for path in (ROOT / "configs" / "data").glob("*.yaml"))
