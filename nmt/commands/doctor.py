"""`nmt doctor`: what this machine and this installation can do, and a self-test that trains and translates."""

import os
import platform
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter

import torch

from nmt.config.overrides import readable
from nmt.config.verbs import DoctorCommand
from nmt.errors import CheckpointError, counted
from nmt.machine.device import choose_device, choose_dtype, choose_int8
from nmt.machine.home import expanded
from nmt.machine.installed import nmt_version, packages, system
from nmt.machine.launch import cores
from nmt.machine.safe_files import refuse_unwritable
from nmt.machine.threads import workers_on
from nmt.translation.translator import Translator

FREE_BYTES = 1e9  # free space that every folder should have
WORDS = "a red dog runs home and then my old cat sleeps here".split()
TARGETS = "ein roter hund rennt heim und dann meine alte katze schläft hier".split()
SENTENCES, RIGHT = 20, 18  # sentences that the self-test translates, and how many must be right
TRAINING = (
    "data=text", "data.train.src=train.src", "data.train.tgt=train.tgt", "data.dev_size=20", "data.test_size=0",
    "tokenizer=word", "tokenizer.vocab_size=28", "tokenizer.byte_fallback=false", "model.d_embed=32",
    "encoder.d_hidden=32", "decoder.d_hidden=64", "encoder.dropout=0", "decoder.dropout=0", "model.embed_dropout=0",
    "train.batch_tokens=400", "train.max_updates=100", "train.max_epochs=null", "train.validate_every=100",
    "train.bleu_sentences=0", "train.metric=loss", "train.patience=null", "train.examples=0", "train.init_range=0.3",
    "optimizer.lr=0.02", "schedule=linear", "schedule.warmup=10", "name=self-test",
)  # fmt: skip


def main(command: DoctorCommand) -> int:
    """Prints the report; if something is wrong, the exit code is 2 and stderr names it."""
    device = choose_device(command.device)
    problems: list[str] = []
    for label, text in (*installed(), *machine_rows(device, command.workers), *places(command, problems)):
        print(f"{label:<12}{text}", flush=True)
    if command.self_test:
        print(f"{'self-test':<12}{self_test(command.device, command.workers, problems)}")
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    return 2 if problems else 0


def installed() -> Iterator[tuple[str, str]]:
    """Versions of nmt and its packages, and the system."""
    yield "nmt", f"{nmt_version()}, {system()}"
    yield "packages", packages()


def machine_rows(device: torch.device, workers: int | None) -> Iterator[tuple[str, str]]:
    """Processor, memory, GPU, and what precision=auto means here."""
    capabilities = torch.cpu.get_capabilities()
    known = [name for name in ("amx_bf16", "avx512_bf16", "avx512_vnni", "avx512_f", "avx2") if capabilities.get(name)]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    yield (
        "processor",
        f"{counted(cores(), 'core')}, {', '.join(known) or platform.machine()}, {memory / 1e9:.0f} GB of memory",
    )
    yield "workers", f"{workers_on(device, workers).count}, for training and search"
    gpus = [torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count())]
    yield "GPU", ", ".join(gpus) or "none"
    dtype = str(choose_dtype("auto", device)).removeprefix("torch.")
    searching = ", the decoder of a search in 8-bit integers" if choose_int8("auto", device) else ""
    yield "precision", f"auto: {dtype} on {device.type}{searching}"


def places(command: DoctorCommand, problems: list[str]) -> Iterator[tuple[str, str]]:
    """The folders that training writes, with their free space; adds what is wrong with them to `problems`."""
    for key, named in (("runs_dir", command.runs_dir), ("cache_dir", command.cache_dir)):
        folder = expanded(named).absolute()
        there = next(path for path in (folder, *folder.parents) if path.exists())
        free = shutil.disk_usage(there).free
        if free < FREE_BYTES:
            problems.append(f"{key}={named} has {free / 1e6:,.0f} MB left; make room, or choose another")
        try:
            refuse_unwritable(folder, key)
        except CheckpointError as error:
            problems.append(str(error))
        yield key, f"{folder}, {free / 1e6:,.0f} MB free"


def self_test(device: str, workers: int | None, problems: list[str]) -> str:
    """Trains a small word-by-word model in a process of its own, and translates new sentences with it."""
    start = perf_counter()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        pairs = sentences(random.Random(1), 600)
        for side, suffix in enumerate(("src", "tgt")):
            text = "".join(pair[side] + "\n" for pair in pairs[SENTENCES:])
            (folder / f"train.{suffix}").write_text(text, "utf-8")
        keys = ("data.root", "runs_dir", "cache_dir")
        places = [readable(f"{key}={folder}", sweep=False) for key in keys]
        words = [*TRAINING, *places, f"train.device={device}", f"train.workers={workers or 'null'}"]
        done = subprocess.run(
            [sys.executable, "-m", "nmt.cli.main", "train", *words], capture_output=True, text=True, check=False
        )
        if done.returncode:
            said = (done.stderr.strip().splitlines() or ["nothing was said"])[-1]
            problems.append(f"the self-test's training ended with code {done.returncode}: {said}")
            return "FAILED in training"
        translator = Translator.load(folder / "self-test", device=device)
        found = translator.translate([source for source, _ in pairs[:SENTENCES]])
    right = sum(each.text == target for each, (_, target) in zip(found, pairs[:SENTENCES], strict=True))
    said = f"{right} of {SENTENCES} new sentences translated right, {perf_counter() - start:.1f} s"
    if right < RIGHT:
        problems.append(f"self-test: {said}; this installation computes wrongly: install torch again")
        return f"FAILED: {said}"
    return f"trained, saved, loaded; {said}"


def sentences(chance: random.Random, count: int) -> Sequence[tuple[str, str]]:
    """Different sentences of two to six words with their translations."""
    found: dict[str, str] = {}
    while len(found) < count:
        numbers = chance.choices(range(len(WORDS)), k=chance.randint(2, 6))
        found[" ".join(WORDS[n] for n in numbers)] = " ".join(TARGETS[n] for n in numbers)
    return list(found.items())
