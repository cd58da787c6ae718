"""Translation speed: sentences per second, time for a single sentence and to the first one, with BLEU beside them.

    python scripts/bench translate --model RUN --multi30k FOLDER                      (beam 5 and greedy)
    python scripts/bench translate --model RUN --multi30k FOLDER precision=fp32       (words for nmt translate)
    python scripts/bench translate --model RUN --multi30k FOLDER --ab "precision=fp32"
    python scripts/bench translate --model RUN --multi30k FOLDER --ab "" --ab-code OTHER_CHECKOUT

Translates test_2016_flickr whole, the model loaded and one round done before the clock starts. Every case is a
process of its own. With --ab there are two of them: a, with the words given, and b, with those of --ab as well (and
with the code of another checkout); their rounds alternate, a b a b, so that both meet the same machine. On a busy
machine the ratio of processor times (OMP_NUM_THREADS=1) is the steadier one.
"""

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from bench import machine
from bench.arguments import add_model, add_multi30k, add_rounds, check_model, parse_measuring, whole_numbers
from bench.processes import command_of, nmt_command
from bench.spread import spread
from bench.usage import Usage, peak_memory_mb
from command_line import ROOT, new_parser, one_or_more
from nmt.config import compose
from nmt.config.verbs import TranslateCommand
from nmt.scoring.metrics import score_corpus
from nmt.translation.open import open_model
from nmt.translation.translator import Translator

WORDS = 13  # of the sentences to be translated one at a time
SINGLE = 60  # of them at most
STARTS = 3  # of a whole process


@dataclass(frozen=True)
class Case:
    """What is measured: `name` for the table, words for nmt translate, the checkout whose code runs."""

    name: str
    beam: int
    words: list[str]
    code: Path


class Measured:
    """A case's process, which measures when it is told to."""

    def __init__(self, case: Case, arguments: argparse.Namespace) -> None:
        self.case = case
        fixed = ["--model", str(arguments.model), "--multi30k", str(arguments.multi30k)]
        chosen = ["--sentences", str(arguments.sentences), "--case", f"search.beam={case.beam}", *case.words]
        self.process = subprocess.Popen(
            command_of("translate", [*fixed, *chosen]),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(case.code),
        )
        self.seconds: list[float] = []
        self.processor: list[float] = []
        self.others: list[float] = []
        self.ask("round")  # warm-up

    def ask(self, what: str) -> dict[str, Any]:
        """The answer to one request."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{what}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit(self.process.wait() or 1)  # it has said why
        answer: dict[str, Any] = json.loads(line)
        return answer

    def round(self) -> None:
        """The whole set once."""
        answer = self.ask("round")
        self.seconds.append(answer["seconds"])
        self.processor.append(answer["processor_s"])
        self.others.append(answer["others"])

    def result(self, latency: bool) -> dict[str, Any]:
        """Everything known of the case; the process ends."""
        single = self.ask("single")["milliseconds"] if latency else None
        result = self.ask("result") | {"single_ms": single}
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()
        return result


def main(given: Sequence[str]) -> int:
    """Measures every case and prints the table."""
    arguments, words = parse_arguments(given)
    if arguments.case:
        answer_requests(arguments, words)
        return 0
    print(machine.describe())
    heads = f"{'best':>8}{'median':>8}{'tokens/s':>10}{'length':>8}{'BLEU':>7}{'MB':>7}{'one, ms':>9}{'others':>8}"
    print(f"{'':<12}{heads}    (best, median: sentences/s)")
    for beam in arguments.beam:
        measure(beam, arguments, words)
    if arguments.starts:
        print(f"process start to first translation: {first_translation_s(arguments, words):.2f} s")
    return 0


def parse_arguments(given: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """Own options, and words for `nmt translate`."""
    parser = new_parser("bench translate", __doc__)
    add_model(parser)
    add_multi30k(parser)
    parser.add_argument("--beam", type=whole_numbers, default=[5, 1], help="one or several, with commas (5,1)")
    add_rounds(parser, 5)
    parser.add_argument(
        "--sentences", type=one_or_more, default=1000, help="of the test set, from its beginning (1000)"
    )
    parser.add_argument("--ab", metavar="WORDS", help="more words for a second configuration, measured in turn")
    parser.add_argument("--ab-code", type=Path, help="checkout whose code the second one runs, with --ab")
    parser.add_argument("--no-starts", dest="starts", action="store_false", help="without starts and single sentences")
    parser.add_argument("--case", action="store_true", help=argparse.SUPPRESS)
    arguments, rest = parse_measuring(parser, given, "test_2016_flickr.en")
    check_model(parser, arguments.model)
    if arguments.ab_code is not None:
        if not (arguments.ab_code / "nmt" / "__init__.py").is_file():
            parser.error(f"--ab-code {arguments.ab_code} is not a checkout of nmt; name the folder that holds nmt/")
        if arguments.ab is None:
            parser.error('--ab-code needs --ab; add --ab ""')
    if arguments.starts and not arguments.case and not of_words(read(arguments, "en")):
        what = f"--sentences {arguments.sentences}: none has {WORDS} words, which one is translated alone"
        parser.error(f"{what}; give more, or --no-starts")
    return arguments, rest


def environment(code: Path) -> dict[str, str]:
    """Ours, with that checkout's nmt."""
    return os.environ | {"PYTHONPATH": str(code.resolve())}


def measure(beam: int, arguments: argparse.Namespace, words: list[str]) -> None:
    """The lines of one beam width: of a alone, or of a and b and the ratio of their speeds."""
    cases = [Case(f"beam {beam}", beam, words, ROOT)]
    if arguments.ab is not None:
        both = [*words, *shlex.split(arguments.ab)]
        cases = [
            Case(f"beam {beam}, a", beam, words, ROOT),
            Case(f"beam {beam}, b", beam, both, arguments.ab_code or ROOT),
        ]
    measured = [Measured(case, arguments) for case in cases]
    for _ in range(arguments.rounds):
        for each in measured:
            each.round()
    for each in measured:
        show(each, each.result(arguments.starts))
    if len(measured) == 2:
        first, second = measured
        clock = compared(first.seconds, second.seconds)
        print(f"a is {clock} times as fast as b; by processor time {compared(first.processor, second.processor)}")


def compared(first: Sequence[float], second: Sequence[float]) -> str:
    """Ratios of seconds of the second to those of the first, pair by pair."""
    return spread([b / a for a, b in zip(first, second, strict=True)])


def show(measured: Measured, result: dict[str, Any]) -> None:
    """One line of the table."""
    best, median = (result["sentences"] / each(measured.seconds) for each in (min, statistics.median))
    tokens = result["tokens"] / min(measured.seconds)
    single = "" if result["single_ms"] is None else f"{result['single_ms']:.1f}"
    lengths = f"{result['tokens'] / result['sentences']:>8.2f}{result['bleu']:>7.2f}{result['memory_mb']:>7,.0f}"
    speeds = f"{best:>8,.1f}{median:>8,.1f}{tokens:>10,.0f}"
    others = f"{statistics.median(measured.others):>8.0%}"
    print(f"{measured.case.name:<12}{speeds}{lengths}{single:>9}{others}    {result['signature']}", flush=True)


def first_translation_s(arguments: argparse.Namespace, words: list[str]) -> float:
    """Seconds from the start of `nmt translate` to its first line, the median of a few."""
    command = nmt_command("translate", f"model={arguments.model.resolve()}", *words)
    sentence = read(arguments, "en")[0]
    seconds = []
    for _ in range(STARTS):
        start = perf_counter()
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with subprocess.Popen(command, text=True, env=environment(ROOT), **pipes) as process:  # type: ignore[call-overload]
            process.stdin.write(f"{sentence}\n")
            process.stdin.close()
            if not process.stdout.readline():
                sys.exit(process.wait() or 1)
            seconds.append(perf_counter() - start)
    return statistics.median(seconds)


def read(arguments: argparse.Namespace, side: str) -> list[str]:
    """Sentences of the test set."""
    text: str = (arguments.multi30k / f"test_2016_flickr.{side}").read_text("utf-8")
    return text.removesuffix("\n").split("\n")[: arguments.sentences]


def answer_requests(arguments: argparse.Namespace, words: list[str]) -> None:
    """A case's process: one JSON object on standard output for each word on standard input."""
    sources = read(arguments, "en")
    translator = load(arguments.model, words)
    found = []
    for request in map(str.strip, sys.stdin):
        answer: dict[str, Any]
        if request == "round":
            before = process_time()
            with Usage() as usage:
                found = translator.translate(sources)
            answer = {"seconds": usage.wall_s, "processor_s": process_time() - before, "others": usage.others}
        elif request == "single":
            answer = {"milliseconds": single_ms(translator, sources)}
        else:
            bleu = score_corpus([each.text for each in found], [read(arguments, "de")], "de", intervals=False)[0]
            answer = {
                "sentences": len(sources),
                "tokens": sum(len(each.tgt_pieces) + 1 for each in found),
                "bleu": bleu.score,
                "signature": bleu.signature,
                "memory_mb": peak_memory_mb(),
            }
        print(json.dumps(answer), flush=True)


def load(model: Path, words: list[str]) -> Translator:
    """The translator as `nmt translate` opens it."""
    command: TranslateCommand = compose.command_of("translate", [f"model={model.resolve()}", *words])
    return open_model(command)


def of_words(sources: Sequence[str]) -> list[str]:
    """Those with the usual number of words."""
    return [source for source in sources if len(source.split()) == WORDS]


def single_ms(translator: Translator, sources: Sequence[str]) -> float:
    """Median milliseconds of one sentence by itself."""
    chosen = of_words(sources)[:SINGLE]
    translator.translate(chosen[:1])
    return statistics.median(each_ms(translator, chosen))


def each_ms(translator: Translator, sources: Sequence[str]) -> list[float]:
    """Milliseconds of each sentence by itself."""
    seconds = []
    for source in sources:
        start = perf_counter()
        translator.translate([source])
        seconds.append(perf_counter() - start)
    return [1000 * each for each in seconds]
