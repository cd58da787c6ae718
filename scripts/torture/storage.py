"""Lets disks fail under training runs, and damages every file of finished and stopped ones.

    python scripts/torture storage                      (200 faults)
    python scripts/torture storage --faults 2000 --seed 2

While a run trains, the disk is full, gone, read-only or forbidden from a random touch of its files on, or from so many
bytes of one file on. In every second run this happens again when the run is resumed. The process must end with exit
code 2 and one line that names the file. The run, resumed on a sound disk, must come to the same bits as one that
nothing happened to. Each file of a stopped run is deleted, cut, filled with zeros or has a bit changed, at a random
place. Translating and resuming must then refuse it with one line, or come to the same bits. Exit code 1 if anything is
lost.
"""

import argparse
import errno
import json
import os
import random
import shutil
import signal
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter

import nmt
from command_line import new_parser
from nmt.errors import NmtError
from torture.outcomes import add_options, check_work, conclude, lost
from torture.same_run import differences
from torture.small import Setting, last_line, trained, words_of, write_corpus
from torture.victims import Fate, Victims

PLAIN = ("train.precision=fp32", "tokenizer.joint=false")
WHOLE = Setting("a whole run", (*PLAIN, "train.max_updates=28"))
HALF = Setting("half a run", (*PLAIN, "train.max_updates=14"))
LONGER = ("train.max_updates=28", "resume_with=train.max_updates")
ERRORS = {"full": errno.ENOSPC, "read-only": errno.EROFS, "forbidden": errno.EACCES, "failing": errno.EIO}
RECORD = {"metrics.jsonl", "tensorboard"}
INSIDE = "full inside of a file"
SENTENCES = ["a dog runs .", "the man is here"]
Damage = Callable[[Path, random.Random], None]


def main(words: Sequence[str]) -> int:
    """Half of the faults while runs train, half at rest; prints the counts."""
    arguments = parse_arguments(words)
    chance, start = random.Random(arguments.seed), perf_counter()
    counts: Counter[tuple[str, str]] = Counter()
    with tempfile.TemporaryDirectory(dir=arguments.work) as folder:
        place = Path(folder)
        write_corpus(place)
        whole, end = trained(place, WHOLE, "whole", Fate())
        largest = max(path.stat().st_size for path in whole.rglob("*") if path.is_file())
        for number in range(arguments.faults // 2):
            kind = chance.choice([*ERRORS, INSIDE])
            fates = [fate_of(kind, end.touches, largest, chance) for _ in range(1 + number % 2)]
            counts[f"disk {kind}", while_it_trains(place, whole, fates)] += 1
        stopped, _ = trained(place, HALF, "stopped", Fate())
        right = translated(place, stopped)
        files = [path for path in sorted(stopped.rglob("*")) if path.is_file()]
        for number in range(arguments.faults - arguments.faults // 2):
            name = files[number % len(files)].relative_to(stopped)
            kind = chance.choice(list(DAMAGES))
            counts[f"file {kind}", at_rest(place, whole, stopped, right, name, DAMAGES[kind], chance)] += 1
    return conclude("fault", counts, start)


def parse_arguments(words: Sequence[str]) -> argparse.Namespace:
    """What was typed."""
    parser = new_parser("torture storage", __doc__)
    parser.add_argument("--faults", type=int, default=200, help="in all (200)")
    add_options(parser)
    arguments = parser.parse_args(words)
    if arguments.faults < 2:
        parser.error(f"--faults {arguments.faults} injects nothing; give 2 or more")
    check_work(parser, arguments.work)
    return arguments


def fate_of(kind: str, touches: int, largest: int, chance: random.Random) -> Fate:
    """From which touch of a file, or from how many of its bytes on, the disk fails."""
    if kind == INSIDE:
        return Fate("write", chance.randrange(largest), errno.EFBIG)
    return Fate("file", chance.randint(1, touches), ERRORS[kind])


def while_it_trains(place: Path, whole: Path, fates: Sequence[Fate]) -> str:
    """What comes of a run whose disk fails, the next process's too if there is a second fate, and that goes on then."""
    run, log = place / "runs" / "faulty", place / "faulty.log"
    shutil.rmtree(run, ignore_errors=True)
    said = 0
    for fate in [*fates, Fate()]:
        words = [f"resume={run}"] if (run / "manifest.json").exists() else words_of(place, WHOLE, "faulty")
        if not (run / "manifest.json").exists():
            shutil.rmtree(run, ignore_errors=True)
        end = Victims(run, log).train(words, fate)
        if end.code == 0:
            break
        if fate.way is None:
            return lost(place, "storage", f"cannot go on: {last_line(log)}")
        if end.code != 2 or not is_refusal(log, run):
            return lost(place, "storage", f"exit code {end.code}: {last_line(log)}")
        said += 1
    found = list(differences(run, whole))
    if found:
        return lost(place, "storage", found[0])
    return "said, resumed, same bits" if said else "came too late"


def translated(place: Path, run: Path) -> list[str] | str:
    """What a process makes of some sentences with the run, or its refusal."""
    output = place / "translated.json"
    output.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        try:
            output.write_text(json.dumps([each.text for each in nmt.load(run).translate(SENTENCES)]))
        except NmtError as error:
            output.write_text(json.dumps(str(error)))
        finally:
            os._exit(0)
    try:
        os.waitpid(child, 0)
    except BaseException:  # this process is stopped
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise
    found: list[str] | str = json.loads(output.read_text()) if output.exists() else "it died"
    return found


def at_rest(
    place: Path, whole: Path, stopped: Path, right: list[str] | str, name: Path, damage: Damage, chance: random.Random
) -> str:
    """What comes of translating with a run one of whose files is damaged, and of resuming it."""
    run, log = place / "runs" / "damaged", place / "damaged.log"
    shutil.rmtree(run, ignore_errors=True)
    shutil.copytree(stopped, run)
    damage(run / name, chance)
    texts = translated(place, run)
    if isinstance(texts, str) and (str(run) not in texts or "\n" in texts):
        return lost(place, "storage", f"{name}: {texts}")
    if isinstance(texts, list) and texts != right:
        return lost(place, "storage", f"{name}: another model was loaded")
    end = Victims(run, log).train([f"resume={run}", *LONGER], Fate())
    if end.code == 2 and is_refusal(log, run):
        return "refused"
    if end.code != 0:
        return lost(place, "storage", f"{name}: exit code {end.code}: {last_line(log)}")
    found = [line for line in differences(run, whole) if not (name.parts[0] in RECORD and known(line))]
    if found:
        return lost(place, "storage", f"{name}: {found[0]}")
    return "harmless" if isinstance(texts, list) else "translation refused, resuming mends it"


def is_refusal(log: Path, run: Path) -> bool:
    """Is the last line of what a process said its one error, and does it name the run or a file of it?"""
    errors = [line for line in log.read_text().splitlines() if line.startswith(("error: ", "Traceback"))]
    return errors == [last_line(log)] and errors[0].startswith("error: ") and str(run) in errors[0]


def known(line: str) -> bool:
    """Is it about the record of training? Damaged, it is not restored but kept aside; nothing is decided by it."""
    return line.startswith((*RECORD, "damaged."))


def vanish(path: Path, chance: random.Random) -> None:
    path.unlink()


def cut(path: Path, chance: random.Random) -> None:
    os.truncate(path, chance.randrange(max(1, path.stat().st_size)))


def flip(path: Path, chance: random.Random) -> None:
    content = bytearray(path.read_bytes())
    if content:
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    path.write_bytes(content)


def zero(path: Path, chance: random.Random) -> None:
    content = bytearray(path.read_bytes())
    first = chance.randrange(max(1, len(content)))
    content[first : first + 4096] = bytes(len(content[first : first + 4096]))
    path.write_bytes(content)


DAMAGES: dict[str, Damage] = {"deleted": vanish, "cut": cut, "with a flipped bit": flip, "with a block of zeros": zero}
