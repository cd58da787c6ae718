"""Ours beside JoeyNMT and OpenNMT-py: the same model, on the same segmented text, on this machine's processor.

    python scripts/bench peers --multi30k FOLDER                     (an hour on two cores; half of it once)
    python scripts/bench peers --multi30k FOLDER --only setup        (environments, text, trained models)
    python scripts/bench peers --multi30k FOLDER --only translate --translate-word search.batch_sentences=256

FOLDER holds Multi30k: train, val and test_2016_flickr, .en and .de. Ours and the peer are measured in turn, each in a
new process: real target tokens per second of training (20 updates warm up), sentences per second of translating
test_2016_flickr (without loading the model). Nothing else should run meanwhile; the last column says what did.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TypeVar

import torch

from bench import machine
from bench.arguments import WORK, add_multi30k
from bench.peers import tables
from bench.peers.environments import PEERS, set_up, workplace
from bench.peers.tables import Comparison
from bench.peers.text import require_corpus, segment
from bench.peers.toolkits import UPDATES, Toolkits, Training, Translation
from command_line import above_zero, new_parser, one_or_more
from nmt.errors import ConfigError
from nmt.machine.device import computes_bf16

SEARCHES = [("beam 5", 5, False), ("beam 5, ours with a shortlist", 5, True), ("greedy", 1, False)]
WITHOUT_SHORTLIST = ("joeynmt",)  # no figure of these says anything new beside a shortlist
Figures = TypeVar("Figures", Training, Translation)


def main(words: Sequence[str]) -> int:
    """Sets up, measures, prints; the exit code."""
    arguments = parse_arguments(words)
    toolkits = prepare(arguments)
    if arguments.only != "setup":
        compare(toolkits, arguments)
    return 0


def parse_arguments(words: Sequence[str]) -> argparse.Namespace:
    """What was typed."""
    parser = new_parser("bench peers", __doc__)
    add_multi30k(parser)
    parser.add_argument("--work", type=Path, default=WORK, help="folder for all this (%(default)s)")
    parser.add_argument("--peers", default=",".join(PEERS), help="which, with commas (%(default)s)")
    parser.add_argument("--rounds", type=one_or_more, default=3, help="measurements of each, in turn (%(default)s)")
    parser.add_argument("--seconds", type=above_zero, default=60.0, help="of each training measurement (%(default)s)")
    parser.add_argument("--only", choices=["setup", "train", "translate"], help="one part alone")
    parser.add_argument("--precision", choices=["auto", "fp32", "bf16"], default="auto", help="ours (%(default)s)")
    for verb in ("train", "translate"):
        parser.add_argument(f"--{verb}-word", action="append", default=[], help=f"another word for our nmt {verb}")
    parser.add_argument("--torch-index", help="package index that torch is installed from")
    parser.add_argument("--json", type=Path, help="file for everything that was measured")
    arguments = parser.parse_args(words)
    if arguments.json is not None and not arguments.json.resolve().parent.is_dir():
        parser.error(f"--json {arguments.json} cannot be written; name a folder that exists")
    return arguments


def prepare(arguments: argparse.Namespace) -> Toolkits:
    """Everything that the measurements need; makes only the parts that are missing."""
    keys = arguments.peers.split(",")
    for key in keys:
        if key not in PEERS:
            raise ConfigError(f"no peer {key!r} in --peers {arguments.peers}; choose from: {', '.join(PEERS)}")
    require_corpus(arguments.multi30k)
    place = workplace(arguments.work, arguments.multi30k, arguments.torch_index)
    translating = arguments.only != "train"
    for key in dict.fromkeys([*keys, *(["opennmt"] if translating else [])]):  # JoeyNMT translates with its model
        set_up(place, key)
    text = segment(place)
    toolkits = Toolkits(place, text, keys, arguments.precision, arguments.train_word, arguments.translate_word)
    toolkits.take_censuses()
    if translating:
        toolkits.make_models()
    return toolkits


def compare(toolkits: Toolkits, arguments: argparse.Namespace) -> None:
    """Measures and shows, and writes the record."""
    device = torch.device("cpu")
    dtypes = {"fp32": torch.float32} | ({"bf16": torch.bfloat16} if computes_bf16(device) else {})
    rates = {name: machine.matrix_rate(dtype, device) for name, dtype in dtypes.items()}
    date = datetime.now(UTC).astimezone().isoformat(timespec="minutes")
    record: dict[str, object] = {"date": date, "machine": machine.describe(device), "matrix_rate": rates}
    shown = ", ".join(f"{rate / 1e9:,.0f} in {name}" for name, rate in rates.items())
    print(f"{date}: {machine.describe(device)}; Gflop/s of matrix products: {shown}\n", flush=True)
    rounds = arguments.rounds
    if arguments.only != "translate":
        trained = compare_training(toolkits, rounds, arguments.seconds)
        print(f"Training, medians of {rounds} rounds ({words_of('train', arguments)})\n")
        print(tables.training_table(trained) + "\n", flush=True)
        record["training"] = [comparison.record("tokens_per_s") for comparison in trained]
    if arguments.only != "train":
        translated = compare_translation(toolkits, rounds)
        print(f"Translation, medians of {rounds} rounds ({words_of('translate', arguments)})\n")
        print(tables.translation_table(translated) + "\n")
        print("\n".join(tables.signatures(translated)))
        print(f"Ours and OpenNMT-py's models: {UPDATES} updates each, one recipe; JoeyNMT's has OpenNMT-py's weights.")
        record["translation"] = [comparison.record("sentences_per_s") for comparison in translated]
    if arguments.json:
        arguments.json.write_text(json.dumps(record, indent=1) + "\n", "utf-8")


def words_of(verb: str, arguments: argparse.Namespace) -> str:
    """How ours was called."""
    return " ".join([f"ours: precision {arguments.precision}", *getattr(arguments, f"{verb}_word")])


def compare_training(toolkits: Toolkits, rounds: int, seconds: float) -> list[Comparison]:
    """Without input feeding, and with it where the peer does the same then."""
    cases = [(key, False) for key in toolkits.keys] + [(key, True) for key in toolkits.keys if key == "opennmt"]
    found = []
    for key, feeding in cases:
        run = partial(toolkits.train, feeding=feeding, seconds=seconds)
        setting = "input feeding" if feeding else "no input feeding"
        found.append(Comparison(PEERS[key].name, setting, in_turn(run, key, rounds, "tokens_per_s")))
    return found


def compare_translation(toolkits: Toolkits, rounds: int) -> list[Comparison]:
    """With a beam, over the whole vocabulary and over a shortlist, and without."""
    cases = [(key, *search) for search in SEARCHES for key in toolkits.keys]
    found = []
    for key, setting, beam, shortlist in cases:
        if not (shortlist and key in WITHOUT_SHORTLIST):
            run = partial(toolkits.translate, beam=beam, shortlist=shortlist)
            found.append(Comparison(PEERS[key].name, setting, in_turn(run, key, rounds, "sentences_per_s")))
    return found


def in_turn(run: Callable[[str | None], Figures], key: str, rounds: int, figure: str) -> list[tuple[Figures, Figures]]:
    """Ours, the peer's, ours, the peer's, …; stderr shows each round."""
    found = []
    for number in range(rounds):
        ours, peer = run(None), run(key)
        shown = f"{getattr(ours, figure):,.1f} and {getattr(peer, figure):,.1f} {figure}"
        print(f"{PEERS[key].name}, round {number + 1}: ours and theirs {shown}", file=sys.stderr, flush=True)
        found.append((ours, peer))
    return found
