"""Words of the command line: quoted where Hydra's grammar needs it, and made into the name of a run."""

import hashlib
import os
import re

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, Quote, QuotedString
from hydra.errors import HydraException

from nmt.errors import ConfigError

# Keys that do not change the model are left out of the run's name.
NOT_IN_NAME = {
    "experiment", "seed", "runs_dir", "cache_dir", "trust", "data.root", "split", "output", "trials",
    "train.device", "train.workers", "train.peer_timeout_s", "train.log_every", "train.examples",
}  # fmt: skip
LONGEST_NAME = 100
OUTSIDE_QUOTES = r""",(?=(?:[^'"]|'[^']*'|"[^"]*")*$)"""  # a comma between items, not inside quotes


def parse(word: str) -> Override:
    """The override in a word that has passed `readable`."""
    return OverridesParser.create().parse_override(word)


def readable(word: str, sweep: bool) -> str:
    """The word, its value quoted if it is a text that Hydra would misread, such as a file name."""
    key, equals, value = word.partition("=")
    if word.startswith("~") and not word.startswith("~hydra"):
        raise ConfigError(f"'{word}' removes a setting, and nmt needs every setting; set it to null to turn it off")
    if not (equals and key.strip("+ ").partition("@")[0].strip()):
        raise ConfigError(f"'{word}' sets nothing; type key=value")
    quoted = f"{key}={_quote(value)}"
    if value.strip() != value or (not sweep and re.search(r"[^\w./-]", value) and os.path.exists(value)):
        return _checked(word, quoted)
    try:
        override = parse(word)
    except HydraException as error:
        return _repaired(word, quoted, error)
    if override.is_sweep_override() and not sweep:
        raise ConfigError(
            f"'{word}' gives several values; add -m for a run with each, "
            f'or type it as one text: "{quoted}", or as a list: {key}=[{value}]'
        )
    return word


def text_of(override: Override) -> str:
    """The value as it was typed, without quotes."""
    value = override.input_line.partition("=")[2] if override.input_line else ""
    if value in ("True", "False"):  # Hydra's spelling of a typed true or false
        return value.lower()
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"" else value


def changed_key(override: Override) -> str:
    """The key or group that a word changes: attention.score for attention@attention.score=dot."""
    return override.package or override.key_or_group


def run_name(base: str, overrides: list[Override], seed: int) -> str:
    """A folder name that tells the runs of a sweep apart: `base`, the typed words, the seed."""
    named = [o for o in overrides if o.key_or_group not in NOT_IN_NAME]
    changed = {changed_key(each): text_of(each) for each in named}
    changed = {key: value for key, value in changed.items() if (key, value) != ("data", base)}
    raw = "_".join([base, *(f"{key}-{value}" for key, value in sorted(changed.items())), f"seed{seed}"])
    return folder_name(raw)


def folder_name(raw: str) -> str:
    """The text, if it can be a folder name; else its usable characters and a digest. The text may not be UTF-8."""
    name = re.sub(r"[^\w.-]+", "-", raw)
    if name == raw and len(name) <= LONGEST_NAME:
        return name
    return f"{name[:LONGEST_NAME]}_{hashlib.sha256(os.fsencode(raw)).hexdigest()[:8]}"


def _repaired(word: str, quoted: str, error: HydraException) -> str:
    """A word that Hydra cannot parse, with its value or the items of its list quoted."""
    key, _, value = word.partition("=")
    attempt = quoted
    if value.startswith("[") and value.endswith("]"):
        items = [item.strip() for item in re.split(OUTSIDE_QUOTES, value[1:-1])]
        attempt = f"{key}=[{','.join(i if i[:1] in ('', chr(34), chr(39)) else _quote(i) for i in items)}]"
    elif value[:1] in ("{", "'", '"'):
        raise ConfigError(f"'{word}' cannot be read; as one text type it so: \"{quoted}\"") from error
    return _checked(word, attempt)


def _checked(word: str, attempt: str) -> str:
    """The repaired word `attempt` if Hydra can parse it; else refuses `word`."""
    try:
        parse(attempt)
    except HydraException as error:
        raise ConfigError(f"'{word}' is not of the form key=value; nmt <verb> --help shows every key") from error
    return attempt


def _quote(text: str) -> str:
    return QuotedString(text=text, quote=Quote.single).with_quotes()
