"""A page of every group: what there is to choose from, with the keys of each choice."""

import re
from collections.abc import Iterator

import yaml

from docs.commands import part_hints, shown, takes
from docs.markdown import code, plain, table
from nmt.cli.help import PART_GROUPS, comments
from nmt.config.compose import CONFIGS

GROUPS = {
    "attention": "How well a decoder state matches each encoder state. Formulas, sources and advice: "
    "[the scores, one by one](../explanation/scores.md).",
    "data": "Where the sentence pairs come from.",
    "tokenizer": "How text becomes pieces. The keys are those of [nmt train](commands/train.md#the-tokenizer).",
    "encoder": "What reads the source.",
    "decoder": "What writes the target.",
    "optimizer": "How gradients change the weights.",
    "schedule": "How the learning rate changes over a run.",
    "search": "How a translation is found. The keys are those of "
    "[nmt train](commands/train.md#the-search-for-translations).",
    "experiment": "Recipes: files that set keys of several groups at once.",
    "space": "What [nmt tune](commands/tune.md) searches. A key has a range (`low`, `high`, and `log` or `step`) or "
    "`choices`.",
}
COMMAND = re.compile(r"(?:nmt|python) [a-z_/ ]*\w+=\S.*?(?=$|  +\()|nmt \w+(?: \S+=\S+)+")


def page() -> str:
    """The page."""
    lines = [
        "# Choices",
        "",
        "A group is a folder of [configs/](../../configs), and a choice is a file in it: `attention=dot` takes "
        "`configs/attention/dot.yaml`. [How configuration works](configuration.md) says what else can be typed.",
        "",
    ]
    for group, about in GROUPS.items():
        lines += [f"## {group}", "", about, ""]
        for choice in choices(group):
            lines += _choice(group, choice)
    return "\n".join(lines)


def choices(group: str) -> list[str]:
    """The names in a group, those of folders in it included."""
    folder = CONFIGS / group
    return sorted(path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.yaml"))


def _choice(group: str, choice: str) -> Iterator[str]:
    path = CONFIGS / group / f"{choice}.yaml"
    text = path.read_text("utf-8")
    said, commands = _comment(text)
    yield f"### `{group}={choice}` {{ #{group}-{choice.replace('/', '-')} }}"
    yield ""
    if group == "attention":
        said = [f"{_formula(choice)}."]
    if said:
        yield from [plain(" ".join(said)), ""]
    if commands:
        yield from ["```", *commands, "```", ""]
    settings = yaml.safe_load(text) or {}
    if group in PART_GROUPS:
        hints, meant = part_hints(group, settings), comments(path, group)
        keys = [key for key in settings if key not in ("class", "defaults")]
        rows = [
            [code(f"{group}.{key}"), code(shown(settings[key])), takes(hints[key]), plain(meant[f"{group}.{key}"])]
            for key in keys
        ]
        yield from table(["key", "default", "takes", "meaning"], rows) if rows else ["It has no keys of its own.", ""]
    else:
        yield from ["```yaml", *(line for line in text.splitlines() if not line.startswith("#")), "```", ""]


def _comment(text: str) -> tuple[list[str], list[str]]:
    """What the first comment says, sentence by sentence, and the commands in it."""
    said, commands = [], []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        line = line.removeprefix("#").strip()
        if line.startswith("@package"):
            continue
        if found := COMMAND.match(line):
            commands.append(found[0].strip())
            line = line.removeprefix(found[0]).strip().removeprefix("(").removesuffix(")")
        if line:
            said.append(line if line[-1] in ".:,;" or not found else f"{line[0].upper()}{line[1:]}.")
    return said, commands


def _formula(choice: str) -> str:
    from nmt.commands.attentions import configured, formula  # torch takes a second

    return formula(configured()[choice])
