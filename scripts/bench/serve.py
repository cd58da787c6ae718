"""A server under load, on loopback: throughput, what HTTP adds to the search, overload, clients that leave, its end.

    python scripts/bench serve --model RUN --input FILE
    python scripts/bench serve --model RUN --input FILE --only throughput,lone --requests 500
    python scripts/bench serve --model RUN --input FILE search.beam=1          (words for nmt serve)

FILE has a sentence a line in the model's source language; those of --words words are taken (13). Each measurement is
beside its own yardstick in the same minute: the same sentences, translated in this process as `nmt translate` does it.
The clients are a process of their own on the same cores. Answers are compared with the yardstick's, each by its number:
one that is another sentence's is swapped; one of the same score, to rounding, is a tie, and named on stderr.
"""

import argparse
import asyncio
import itertools
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import urlopen

import torch

from bench import machine, page
from bench.arguments import add_model, check_model, chosen
from bench.http_clients import Client, Load, Outcome, exchange
from bench.neighbours import busy_neighbours
from bench.processes import nmt_command
from bench.translate import WORDS, load
from command_line import above_zero, new_parser, one_or_more, own_and_words
from nmt.data.paths import read_lines
from nmt.runs.folder import read_run
from nmt.serve.search_wish import Search

CLIENTS = 64
OF_SEARCH = ("search", "precision=", "workers=", "shortlist", "device=")  # keys that nmt translate has, too
ROUNDING, COARSE_ROUNDING = 0.001, 0.01  # of a probability's logarithm, relative: in fp32, and in bf16 or less
ROUNDS = 8  # in turn, with and without clients whose bodies are slow
FEWEST_REQUESTS = 2 * ROUNDS
WARM_UP_S = 20.0  # of overload, after which no batch needs more memory than those before
TRICKLES = 200  # clients whose bodies are slow


@dataclass
class Serving:
    """A server, and what it should answer."""

    process: "subprocess.Popen[str]"
    load: Load

    @property
    def memory_mb(self) -> float:
        """Resident."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def main(given: Sequence[str]) -> int:
    """Prints a line for each figure."""
    arguments, words = parse_arguments(given)
    sentences = read_sentences(arguments.input, arguments.words)
    yardstick = Yardstick(arguments.model, sentences, [word for word in words if word.startswith(OF_SEARCH)])
    print(machine.describe())
    print(f"{len(sentences):,} sentences of {arguments.words} words, {yardstick.about}\n")
    print("| figure | measured | bar | |\n|---|---:|---:|---|")
    for name in arguments.only:
        MEASUREMENTS[name](arguments, yardstick, words)
    return 0


def parse_arguments(given: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """Own options, and words for `nmt serve`."""
    parser = new_parser("bench serve", __doc__)
    add_model(parser)
    parser.add_argument("--input", type=Path, required=True, help="file with a sentence a line")
    parser.add_argument(
        "--words", type=one_or_more, default=WORDS, help="of the sentences that are taken (%(default)s)"
    )
    parser.add_argument("--requests", type=one_or_more, default=2000, help="of each measurement (%(default)s)")
    parser.add_argument("--seconds", type=above_zero, default=60, help="of overload (%(default)s)")
    parser.add_argument("--times", type=one_or_more, default=20, help="ends and changes of the model (%(default)s)")
    parser.add_argument("--connected", type=one_or_more, default=1000, help="clients that stay connected (%(default)s)")
    parser.add_argument("--only", default=",".join(MEASUREMENTS), help=f"some of {', '.join(MEASUREMENTS)} (all)")
    arguments, words = own_and_words(parser, given)
    check_model(parser, arguments.model)
    if not arguments.input.is_file():
        parser.error(f"--input {arguments.input} is not a file; name one with a sentence a line")
    if arguments.requests < FEWEST_REQUESTS:
        parser.error(f"--requests {arguments.requests} are too few; give {FEWEST_REQUESTS} or more")
    arguments.only = chosen(parser, "--only", arguments.only, list(MEASUREMENTS))
    return arguments, words


def read_sentences(file: Path, words: int) -> list[str]:
    """The lines with so many words, each once."""
    lines = dict.fromkeys(line.strip() for line in read_lines(file))
    found = [line for line in lines if len(line.split()) == words]
    if not found:
        sys.exit(f"error: {file} has no line of {words} words; choose others by --words")
    return found


class Yardstick:
    """The same model in this process; `words`: for its search."""

    def __init__(self, model: Path, sentences: list[str], words: list[str]) -> None:
        self.model, self.sentences = model, sentences
        self.translator = load(model, words)
        self.settings = Search().settings(self.translator.settings)
        self.expected = self.translator.translate(sentences, settings=self.settings)
        data = read_run(model)[0].data
        self.languages = {"source": str(data.src_lang), "target": str(data.tgt_lang)}
        workers = self.translator.workers.count
        self.about = f"{self.translator.precision}, {workers} workers, beam {self.settings.beam}"

    def per_s(self, count: int) -> float:
        """Sentences a second, as many in a file."""
        lines = [self.sentences[number % len(self.sentences)] for number in range(count)]
        start = time.perf_counter()
        self.translator.translate(lines, settings=self.settings)
        return count / (time.perf_counter() - start)

    def one(self, number: int) -> float:
        """Seconds to translate one sentence on one thread."""
        start = time.perf_counter()
        self.translator.translate([self.sentences[number % len(self.sentences)]], settings=self.settings)
        return time.perf_counter() - start

    def wrong(self, outcome: Outcome) -> tuple[int, int]:
        """Answers that are not what is expected: wrong or swapped, and ties. Both are printed on stderr.

        In a tie, rounding has chosen another hypothesis of about the same probability.
        """
        wrong = ties = 0
        rounding = ROUNDING if self.translator.precision == "fp32" else COARSE_ROUNDING
        others = {each.text for each in self.expected}
        for number, (text, log_prob) in outcome.answers.items():
            expected = self.expected[number % len(self.expected)]
            if text != expected.text:
                close = abs(log_prob - expected.log_prob) < rounding * max(1.0, abs(expected.log_prob))
                tie = close and text not in others
                wrong, ties = wrong + (not tie), ties + tie
                both = f"{expected.text} ({expected.log_prob:.4f}), {text} ({log_prob:.4f})"
                print(f"{'tie' if tie else 'wrong'}: {both}", file=sys.stderr)
        return wrong, ties


@contextmanager
def serving(yardstick: Yardstick, *words: str) -> Iterator[Serving]:
    """A server of its own for each measurement."""
    command = nmt_command("serve", f"model={yardstick.model}", "port=0", "cache_mb=0", *words)
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        line = next((line for line in process.stderr if line.startswith("open http")), None)
        if line is None:
            sys.exit(f"error: the server did not start, exit code {process.wait()}")
        place = urlsplit(line.split()[1])
        load = Load(str(place.hostname), int(place.port or 0), yardstick.sentences, yardstick.languages)
        asyncio.run(load.closed(4, 16))
        yield Serving(process, load)
    finally:
        process.terminate()
        process.wait(60)


def row(figure: str, measured: str, bar: str, holds: bool) -> None:
    """A line of the table."""
    print(f"| {figure} | {measured} | {bar} | {'holds' if holds else 'MISSED'} |", flush=True)


def throughput(arguments: argparse.Namespace, yardstick: Yardstick, words: list[str]) -> None:
    """Many clients, a sentence a request, beside a file: in turn, five times."""
    with serving(yardstick, *words) as server:
        shares, rates = [], []
        swapped = ties = 0
        for _ in range(5):
            file = yardstick.per_s(arguments.requests // 5)
            outcome = asyncio.run(server.load.closed(CLIENTS, arguments.requests // 5))
            shares.append(outcome.per_s / file)
            rates.append(outcome.per_s)
            wrong = yardstick.wrong(outcome)
            swapped, ties = swapped + wrong[0], ties + wrong[1]
        together = metric(server.load, "nmt_batch_sentences_sum") / metric(server.load, "nmt_batch_sentences_count")
        print(f"| sentences that it searches together, mean | {together:.1f} | | |")
        print(f"| resident memory of the server then | {server.memory_mb:,.0f} MB | | |")
    share = statistics.median(shares)
    rate = f"{share:.2f} ({min(shares):.2f}–{max(shares):.2f}; {statistics.median(rates):.0f} requests/s)"
    row(f"throughput, {CLIENTS} clients ÷ a file", rate, "≥ 0.6", share >= 0.6)
    row("its answers: wrong or swapped; ties", f"{swapped}; {ties}", "0", swapped == 0)


def lone(arguments: argparse.Namespace, yardstick: Yardstick, words: list[str]) -> None:
    """One client, then beside a busy neighbour. The same searches in this process take turns with its requests."""
    torch.set_num_threads(1)
    with serving(yardstick, *words) as server:
        idle = added(server, yardstick, arguments.requests // 4)
        median, late = idle.median_ms, idle.late_ms
        row(
            "a lone request: HTTP adds, median; 99 %",
            f"{median:.1f}; {late:.1f} ms",
            "≤ 3; ≤ 10 ms",
            median <= 3 and late <= 10,
        )
        print(f"| its search in the server, in this process | {idle.search_ms:.0f}, {idle.apart_ms:.0f} ms | | |")
        with busy_neighbours(1):
            beside = added(server, yardstick, arguments.requests // 4)
        ratio = beside.whole_ms / idle.whole_ms
        row("the whole request beside a busy neighbour ÷ idle, median", f"{ratio:.2f}", "≤ 2", ratio <= 2)


@dataclass(frozen=True)
class Added:
    """Milliseconds."""

    median_ms: float  # HTTP adds
    late_ms: float  # the same of the slowest in a hundred
    whole_ms: float
    search_ms: float  # by the server's own figures
    apart_ms: float  # in this process


def added(server: Serving, yardstick: Yardstick, count: int) -> Added:
    """What a request takes more than its search, whose time is the server's own figure (nmt_search_seconds)."""

    load = server.load
    apart, searches, wholes = [], [], []
    with socket.create_connection((load.host, load.port)) as connected:
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        before = metric(load, "nmt_search_seconds_sum")
        for number in range(count):
            apart.append(1000 * yardstick.one(number))
            wholes.append(1000 * exchange(connected, load.request(number)))
            after = metric(load, "nmt_search_seconds_sum")
            searches.append(1000 * (after - before))
            before = after
    more = [whole - search for search, whole in zip(searches, wholes, strict=True)]
    late = statistics.quantiles(more, n=100)[98]
    return Added(
        statistics.median(more), late, statistics.median(wholes), statistics.median(searches), statistics.median(apart)
    )


def metric(load: Load, name: str) -> float:
    """What the server's own metric of this name says, over all its labels."""
    with urlopen(f"http://{load.host}:{load.port}/metrics") as answer:
        text = answer.read().decode()
    return sum(float(line.split()[-1]) for line in text.splitlines() if line.startswith(name))


def overload(arguments: argparse.Namespace, yardstick: Yardstick, words: list[str]) -> None:
    """Ten times what it can do."""
    with serving(yardstick, "queue_pieces=2000", *words) as server:
        able = asyncio.run(server.load.closed(CLIENTS, 500)).per_s
        asyncio.run(server.load.open(10 * able, WARM_UP_S, 2000))
        before = server.memory_mb
        outcome = asyncio.run(server.load.open(10 * able, arguments.seconds, 2000))
        growth = server.memory_mb / before - 1
    swapped, ties = yardstick.wrong(outcome)
    late = 1000 * statistics.quantiles(outcome.refused, n=100)[98] if len(outcome.refused) > 1 else 0.0
    counts = f"{len(outcome.answers):,} answered, {len(outcome.refused):,} refused"
    row(
        f"10 × overload for {arguments.seconds:.0f} s: refusals within, 99 %",
        f"{late:.0f} ms ({counts})",
        "≤ 50 ms",
        late <= 50,
    )
    row("its memory grows by", f"{growth:.1%}", "≤ 10 %", growth <= 0.1)
    bad = swapped + outcome.lost + len(outcome.other)
    row("wrong, swapped or lost; ties", f"{bad}; {ties}", "0", bad == 0)


def leaving(arguments: argparse.Namespace, yardstick: Yardstick, words: list[str]) -> None:
    """Many connections, and every tenth client hangs up without waiting."""
    with serving(yardstick, *words) as server:
        load = server.load
        outcome = Outcome()
        numbers = iter(range(5 * arguments.requests))

        async def client_() -> None:
            client = Client(load.host, load.port)
            for number in numbers:
                if number % 10 == 0:
                    left = asyncio.create_task(load.one(client, number, Outcome()))
                    await asyncio.sleep(random.random() / 50)
                    client.close()
                    await left
                else:
                    await load.one(client, number, outcome)
            client.close()

        async def work() -> None:
            idle = [await asyncio.open_connection(load.host, load.port) for _ in range(arguments.connected - CLIENTS)]
            for _, writer in idle:
                writer.write(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
            await asyncio.gather(*(client_() for _ in range(CLIENTS)))
            for _, writer in idle:
                writer.close()

        asyncio.run(work())
    swapped, ties = yardstick.wrong(outcome)
    bad = swapped + outcome.lost + len(outcome.other) + len(outcome.refused)
    figure = f"{arguments.connected:,} connected, {5 * arguments.requests:,} requests, every 10th client leaves: lost or swapped; ties"  # noqa: E501
    row(figure, f"{bad}; {ties}", "0", bad == 0)


def ends(arguments: argparse.Namespace, yardstick: Yardstick, words: list[str]) -> None:
    """SIGTERM under load: every accepted request is answered."""
    lost = answered = 0
    for _ in range(arguments.times):
        with serving(yardstick, *words) as server:
            outcome = asyncio.run(until_end(server))
        bad = [outcome.lost, len(outcome.other), len(outcome.refused), yardstick.wrong(outcome)[0]]
        if any(bad):
            print("lost, other status, refused, wrong:", *bad, file=sys.stderr)
        lost += sum(bad)
        answered += len(outcome.answers)
    row(
        f"{arguments.times} × SIGTERM under load: lost of what was accepted",
        f"{lost} of {answered + lost:,}",
        "0",
        lost == 0,
    )


async def until_end(server: Serving) -> Outcome:
    """Clients with a new connection for each request, until no connection can be made."""
    load, outcome = server.load, Outcome()
    loop = asyncio.get_running_loop()
    loop.call_later(1.0, server.process.send_signal, signal.SIGTERM)
    numbers = iter(range(10**9))

    async def work() -> None:
        for number in numbers:
            client = Client(load.host, load.port)
            try:
                await client.connect()
            except OSError:
                return
            await load.one(client, number, outcome)
            client.close()

    await asyncio.gather(*(work() for _ in range(16)))
    return outcome


def swaps(arguments: argparse.Namespace, yardstick: Yardstick, words: list[str]) -> None:
    """The model is written anew under load."""
    weights = yardstick.model / "model.safetensors"
    with serving(yardstick, "watch_s=0.2", *words) as server:

        async def work() -> Outcome:
            running = asyncio.create_task(server.load.closed(16, arguments.requests))
            for _ in range(arguments.times):
                await asyncio.sleep(0.5)
                os.utime(weights)
            return await running

        outcome = asyncio.run(work())
    bad = outcome.lost + len(outcome.other) + len(outcome.refused) + yardstick.wrong(outcome)[0]
    row(f"{arguments.times} × a new model under load: lost or wrong", f"{bad} of {arguments.requests:,}", "0", bad == 0)


def slow(arguments: argparse.Namespace, yardstick: Yardstick, words: list[str]) -> None:
    """200 clients whose bodies trickle in.

    Their process works on the same cores. What this costs is left out: others send the same to a socket that nobody
    reads.
    """
    with serving(yardstick, "body_timeout_s=60", *words) as server, socket.create_server(("127.0.0.1", 0)) as unread:
        unread.listen(ROUNDS * TRICKLES)
        load = server.load
        nowhere = unread.getsockname()[1]

        def seconds() -> list[float]:
            return asyncio.run(load.closed(4, arguments.requests // (2 * ROUNDS))).seconds

        def beside(port: int) -> list[float]:
            clients = get_context("fork").Process(target=trickle, args=(load.host, port), daemon=True)
            clients.start()
            time.sleep(1.5)
            try:
                found = seconds()
                if not clients.is_alive():
                    sys.exit("error: the server has hung up on the slow clients; give it a longer body_timeout_s")
                return found
            finally:
                clients.terminate()
                clients.join()

        found: list[list[float]] = [[], [], []]
        for _ in range(ROUNDS):
            found[0] += seconds()
            found[1] += beside(nowhere)
            found[2] += beside(load.port)
        alone, clients, all_ = map(statistics.median, found)
    effect = all_ / clients - 1
    row(
        f"{TRICKLES} clients with slow bodies: the others' median grows by (with the work of the clients themselves)",
        f"{effect:.1%} ({all_ / alone - 1:.1%})",
        "≤ 10 %",
        effect <= 0.1,
    )


def trickle(host: str, port: int) -> None:
    """Sends many bodies, a byte of each in a second, one after another."""
    connections = [socket.create_connection((host, port)) for _ in range(TRICKLES)]
    for each in connections:
        each.sendall(b"POST /v1/translate HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n")
    for each in itertools.cycle(connections):
        time.sleep(1 / TRICKLES)
        each.sendall(b" ")


def in_browser(arguments: argparse.Namespace, yardstick: Yardstick, words: list[str]) -> None:
    """The page: what a person waits for, the search included."""
    if not page.CHROMIUM.exists() or find_spec("playwright") is None:
        print(f"| the page | not measured without {page.CHROMIUM} and Playwright | | |")
        return
    with serving(yardstick, *words) as server:
        found = page.measure(f"http://{server.load.host}:{server.load.port}/", yardstick.sentences[0])
    for name, milliseconds in found.items():
        bar = 300 if name == "first paint" else 250
        what = name if name == "first paint" else f"from {name} to the translation"
        holds = statistics.median(milliseconds) <= bar
        row(f"the page: {what}, median; slowest", page.described(milliseconds), f"≤ {bar} ms", holds)


MEASUREMENTS: dict[str, Callable[[argparse.Namespace, Yardstick, list[str]], None]] = {
    "throughput": throughput,
    "lone": lone,
    "overload": overload,
    "leaving": leaving,
    "ends": ends,
    "swaps": swaps,
    "slow": slow,
    "page": in_browser,
}
