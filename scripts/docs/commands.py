"""A page for every verb: its groups, and every key with its default, what it takes and what it means."""

import inspect
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from typing import Any, Literal, get_args, get_origin, get_type_hints

from omegaconf import DictConfig, OmegaConf

from docs.markdown import code, plain, table
from nmt.cli.help import PART_GROUPS, comments, meanings
from nmt.cli.main import VERBS
from nmt.config.compose import CONFIGS, choices, composed, dotted_keys, loader, without_hydra
from nmt.config.keys import LARGEST_NUMBER, Limits, allowed_types, hints_of, notes
from nmt.config.parts import LAYERS, SCORES, Group
from nmt.config.run import PARTS, AttentionConfig, RunConfig
from nmt.config.verbs import COMMANDS
from nmt.errors import ConfigError

SECTIONS = {
    "": "Keys of the command",
    "data": "The corpus",
    "data.filters": "Filters of training pairs",
    "tokenizer": "The tokenizer",
    "model": "Sizes that belong to no single part",
    "encoder": "The encoder",
    "decoder": "The decoder",
    "attention": "Attention",
    "optimizer": "The optimizer",
    "schedule": "The learning rate over time",
    "search": "The search for translations",
    "train": "The training loop",
}
LIKE_TRAIN = ("prepare", "compare", "tune")  # their sections are those of nmt train
REQUIRED = "*required*"


@dataclass(frozen=True)
class Key:
    """A row of the table."""

    name: str
    default: str  # as it is typed; "???": it must be given
    takes: str
    meaning: str

    @property
    def section(self) -> str:
        """The section of SECTIONS that it is shown in."""
        parents = self.name.split(".")[:-1]
        while parents and ".".join(parents) not in SECTIONS:
            parents.pop()
        return ".".join(parents)


def pages() -> dict[str, str]:
    """Path below docs/ -> Markdown, for all verbs and the list of them."""
    found = {"reference/commands/index.md": _index()}
    for verb in VERBS:
        found[f"reference/commands/{verb}.md"] = page(verb)
    return found


def _index() -> str:
    rows = [(f"[`nmt {verb}`]({verb}.md)", plain(about.about)) for verb, about in VERBS.items()]
    return "\n".join(
        [
            "# Commands",
            "",
            "One program, `nmt`, has a verb for each task. Every word after the verb sets one key: "
            '[how configuration works](../configuration.md). `make VERB ARGS="…"` passes the same words on.',
            "",
            *table(["command", "what it does"], rows),
            "`nmt VERB --help` prints the keys of a verb with the values that the words before it give them. These "
            "pages are made from the same descriptions.",
            "",
        ]
    )


def page(verb: str) -> str:
    """The page of a verb."""
    with loader() as available:
        config = composed(verb, [])
        chosen = choices(config.hydra)
        groups = {key: available.get_group_options(key) for key in sorted(chosen)}
    keys = list(keys_of(verb, without_hydra(config), chosen))
    about, *examples = _top(verb)
    lines = [f"# nmt {verb}", "", plain(about), ""]
    lines += ["```", *examples, "```", ""] if examples else []
    if verb in LIKE_TRAIN:
        lines += ["Every key of [nmt train](train.md) works here, too.", ""]
    if chosen:
        lines += ["## Choices", "", "Each word picks one file of a [group](../choices.md), `word=choice`.", ""]
        named = [
            [code(key), code(chosen[key] or "null"), ", ".join(code(option) for option in options)]
            for key, options in groups.items()
        ]
        lines += table(["word", "default", "choices"], named)
    if verb in ("train", "prepare"):
        lines += [
            "!!! note",
            "",
            "    With `recipe=auto`, the default, values that nobody typed are chosen for a corpus of your own: "
            "[the rules](../../recipe.md).",
            "",
        ]
    for section, title in SECTIONS.items():
        inside = [key for key in keys if key.section == section]
        if verb in LIKE_TRAIN and not section:  # its own first
            inside.sort(key=lambda key: key.name in hints_below(COMMANDS["train"]))
        if inside:
            hidden = " { data-search-exclude }" if verb in LIKE_TRAIN and section else ""
            lines += [f"## {title}{hidden}", ""]
            rows = [[_named(key), _default(key), key.takes, plain(key.meaning)] for key in inside]
            lines += table(["key", "default", "takes", "meaning"], rows)
    return "\n".join(lines)


def _named(key: Key) -> str:
    return f'<code id="{key.name}">{key.name.replace("_", "&#95;")}</code>'


def _default(key: Key) -> str:
    return REQUIRED if key.default == "???" else code(key.default)


def _top(verb: str) -> list[str]:
    """What the first comment of the verb's file says, then the commands in it."""
    text = (CONFIGS / f"{verb}.yaml").read_text("utf-8")
    comment = [
        line.removeprefix("# ") for line in text.splitlines() if line.startswith("# ") and "@package" not in line
    ]
    command = re.compile(rf'(echo "[^"]*" \| )?nmt {verb} (?!-)\S.*$')
    said, examples = [], []
    for line in comment:
        about = line.removeprefix(f"nmt {verb}: ")
        found = command.search(about)
        examples += [found[0]] if found else []
        said.append(about[: found.start()].rstrip() if found else about)
    whole = " ".join(said)
    return [whole[:1].upper() + whole[1:], *examples]


OF_SPACE = {
    "low": "number",
    "high": "number",
    "step": "number",
    "log": f"{code('true')}, {code('false')}",
    "choices": "list",
}


def keys_of(verb: str, config: DictConfig, chosen: Mapping[str, str | None]) -> Iterator[Key]:
    """Every key of the verb's configuration, which `chosen` made."""
    settings: Any = OmegaConf.to_container(config)
    hints = {**hints_below(RunConfig), **hints_below(COMMANDS[verb])}
    meant = {**meanings(RunConfig), **meanings(COMMANDS[verb])}
    for group, choice in chosen.items():
        path = CONFIGS / group / f"{choice}.yaml"
        if path.is_file() and group in PART_GROUPS:
            meant |= comments(path, group)
            hints |= {f"{group}.{name}": hint for name, hint in part_hints(group, settings[group]).items()}
    for name in dotted_keys(config):
        value: Any = settings
        for word in name.split("."):
            value = value[word]
        known = hints.get(name)
        kind = "the class's name" if name.endswith(".class") else "" if known is None else takes(known)
        if not kind and name.startswith("space."):
            kind = OF_SPACE.get(name.rpartition(".")[2], "range or choices")
        meaning = meant.get(name) or ("which class; choose it by its group" if name.endswith(".class") else "")
        yield Key(name, shown(value), kind, meaning)


def hints_below(cls: type, prefix: str = "") -> dict[str, Any]:
    """Dotted key -> annotation, of a dataclass's fields and of the sections among them."""
    found: dict[str, Any] = {}
    for name, hint in hints_of(cls).items():
        inner = next((option for option in allowed_types(hint) if is_dataclass(option)), None)
        if inner is None:
            found[f"{prefix}{name}"] = hint
        else:
            found |= hints_below(inner, "" if inner is RunConfig else f"{prefix}{name}.")  # type: ignore[arg-type]
    return found


def part_hints(group: str, section: Mapping[str, Any]) -> dict[str, Any]:
    """Key -> annotation, of the constructor that the section of a part names."""
    found = dict(hints_of(AttentionConfig)) if group == "attention" else {}
    if section["class"] is not None:
        made_by = part_class(group, section["class"])
        found |= get_type_hints(made_by.__init__ if inspect.isclass(made_by) else made_by, include_extras=True)
    return found


def part_class(group: str, name: str) -> Any:
    """The class of nmt's own that a file of this group names."""
    for among in _groups(group):
        among.load()
        if name in among.members:
            return among.members[name]
    raise ConfigError(f"{name} is not a class of the group {group}")


def _groups(group: str) -> tuple[Group, ...]:
    return (SCORES, LAYERS) if group == "attention" else (PARTS[group],)


def shown(value: Any) -> str:
    """A value as it is typed."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(", ", ": "))


NAMES = {
    bool: f"{code('true')}, {code('false')}",
    int: "whole number",
    float: "number",
    str: "text",
    type(None): code("null"),
    Any: "value",
}


def takes(hint: Any) -> str:
    """What a key takes, for people: types, words and limits."""
    from nmt.config.changes import Changes

    limits = next((note for note in notes(hint) if isinstance(note, Limits)), None)
    words = []
    for option in allowed_types(hint):
        if get_origin(option) is Literal:
            words.append(", ".join(code(str(word)) for word in get_args(option)))
        elif get_origin(option) is list:
            inner = get_args(option)[0]
            words.append("list of numbers" if inner is float else "list of texts")
        elif get_origin(option) is dict or option is Changes:
            words.append("section")
        elif option in (int, float) and limits is not None:
            words.append(f"{NAMES[option]} {_within(limits)}".strip())
        elif option in NAMES:
            words.append(NAMES[option])
        else:
            words.append("section")
    return "; ".join(dict.fromkeys(words))


def _within(limits: Limits) -> str:
    words = []
    if limits.least is not None:
        words.append(f"{limits.least:,} or more")
    if limits.above is not None:
        words.append(f"above {limits.above:,}")
    if limits.below is not None:
        words.append(f"below {limits.below:,}")
    elif limits.most < LARGEST_NUMBER:
        if limits.least is not None:
            return f"from {limits.least:,} to {limits.most:,}"
        words.append(f"{limits.most:,} or less")
    return " and ".join(words)
