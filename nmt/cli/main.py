"""The console command `nmt`: finds the verb, and reports every user mistake in one line, with exit code 2.

Nothing heavy is imported before a verb runs, so that help is immediate.
"""

import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from io import TextIOWrapper

from nmt.cli.exit_codes import exit_code_of
from nmt.errors import ConfigError, nearest
from nmt.machine.launch import quiet_torch, refuse_several


@dataclass(frozen=True)
class Verb:
    """A word after `nmt`; configs/<verb>.yaml is the root of its configuration."""

    about: str
    entry: str  # module:function(command), see nmt.config.verbs


VERBS = {
    "clean": Verb("drop pairs of a corpus that are not translations", "nmt.commands.clean:main"),
    "prepare": Verb("make the tokenizer and the encoded corpus (train does it too)", "nmt.commands.prepare:main"),
    "train": Verb("train a model, resume a run, fine-tune", "nmt.commands.train:main"),
    "compare": Verb("train and evaluate variants; a page and a table of them", "nmt.commands.compare:main"),
    "tune": Verb("search for good settings: trials, and a picture of what mattered", "nmt.commands.tune:main"),
    "evaluate": Verb("BLEU, chrF and TER of a model", "nmt.commands.evaluate:main"),
    "translate": Verb("translate lines of text", "nmt.commands.translate:main"),
    "interactive": Verb("a prompt to type sentences at", "nmt.commands.interactive:main"),
    "keys": Verb("who may use a server: add, list and revoke keys", "nmt.commands.keys:main"),
    "serve": Verb("a page to translate in, and an API for programs", "nmt.commands.serve:main"),
    "shortlist": Verb("learn which pieces a model may write: faster translation", "nmt.commands.shortlist:main"),
    "average": Verb("a model between several: the mean of their weights", "nmt.commands.average:main"),
    "align": Verb("word alignments of given sentence pairs", "nmt.commands.align:main"),
    "visualise": Verb("pictures of where the model looks", "nmt.commands.visualise:main"),
    "attentions": Verb("every attention: formula, source, parameters, cost", "nmt.commands.attentions:main"),
    "status": Verb("how far a run is, and what went wrong in it", "nmt.commands.status:main"),
    "doctor": Verb("what this machine can do, and a self-test", "nmt.commands.doctor:main"),
}

HELP = """\
nmt <verb> [key=value …]   or   nmt --version
{verbs}

nmt <verb> --help         every key that the verb takes, with its value
nmt <verb> --cfg job      the configuration as it would be used, without running
nmt train -m seed=1,2     one run for each value
eval "$(nmt -sc install=bash)"    completion of verbs, keys and values by the tab key
Start with:  nmt train data=demo_en_de name=first
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    if isinstance(sys.stdout, TextIOWrapper):  # prints file names that are not UTF-8 byte for byte
        sys.stdout.reconfigure(errors="surrogateescape")
    return exit_code_of(lambda: _dispatch(words), " ".join(["nmt", *words[:1]]))


def _dispatch(words: list[str]) -> int:
    """Runs the command that the words name and returns its exit code."""
    if not words or words[0] in ("--help", "-h"):
        width = max(map(len, VERBS)) + 2
        verbs = "\n".join(f"  {name:<{width}}{verb.about}" for name, verb in VERBS.items())
        print(HELP.format(verbs=verbs), end="")
    elif "--version" in words:
        from nmt.machine.installed import nmt_version, packages, system

        print(f"nmt {nmt_version()}", system(), packages(), sep="\n")
    elif words[0] in ("-sc", "--shell-completion"):
        _complete(words)
    elif words[0] not in VERBS:
        if "=" in words[0] or words[0].startswith("-"):
            raise ConfigError(f"'{words[0]}' stands before the verb; type nmt <verb> {words[0]}")
        raise ConfigError(f"unknown verb '{words[0]}'; {nearest(words[0], VERBS)}")
    elif "--help" in words or "-h" in words:
        from nmt.cli.help import describe

        print(describe(words[0], words[1:]), end="")
    else:
        if words[0] == "train":
            quiet_torch()
        else:
            refuse_several(f"nmt {words[0]}")
        if words[0] == "compare":  # called once, with all jobs of its sweep
            from nmt.cli.run_many import run_comparison as run
        elif words[0] == "tune":  # composes a configuration for each trial
            from nmt.cli.run_many import run_study as run
        else:
            from nmt.cli.run import run

        return run(words[0], VERBS[words[0]].entry, words[1:])
    return 0


def _complete(words: list[str]) -> None:
    """Shell completion: nmt completes the verb, Hydra the keys and values of its configuration."""
    from nmt.cli.run import run

    if not any(word.startswith("query=") for word in words):
        run("train", VERBS["train"].entry, words)
        return
    line = os.environ.get("COMP_LINE", "")
    before = line.split()[1:] if line.endswith(" ") else line.split()[1:-1]
    if not before:
        typed = line.split()[-1] if line and not line.endswith(" ") else ""
        print("\n".join(verb for verb in VERBS if verb.startswith(typed)))
    elif before[0] in VERBS:
        os.environ["COMP_LINE"] = re.sub(r"^(\S+\s+)\S+\s+", r"\1", line)
        run(before[0], VERBS[before[0]].entry, words)


if __name__ == "__main__":
    sys.exit(main())
