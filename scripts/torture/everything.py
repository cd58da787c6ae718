"""Runs the tortures side by side on two cores and adds up what they counted.

    make torture                       (120 kills, 200 faults of disks and files, 60 of numbers and memory)
    make torture ARGS="--quick"        (14 kills and a few faults: to see that everything runs)
    make torture ARGS="--seed 2"       (at other instants and places)

One alone, with the options that --help names: python scripts/torture resume|storage|numbers|processes --help
"""

import sys
from collections.abc import Sequence
from time import perf_counter

from command_line import SCRIPTS, new_parser
from processes import side_by_side
from torture.small import LOW

FULL = {
    "resume": ("--kills", 100),
    "storage": ("--faults", 200),
    "numbers": ("--faults", 60),
    "processes": ("--kills", 20),
}
QUICK = {"resume": 12, "storage": 20, "numbers": 12, "processes": 2}


def main(words: Sequence[str]) -> int:
    """1 if any of them fails."""
    parser = new_parser("torture", __doc__)
    parser.add_argument("--seed", type=int, default=1, help="of instants and places (1)")
    parser.add_argument("--quick", action="store_true", help="a few of each")
    arguments = parser.parse_args(words)
    start = perf_counter()
    if LOW != "bf16":
        print("this processor has no LSTM in bf16: float32 is tortured in its place", flush=True)

    commands = []
    for part, (option, count) in FULL.items():
        chosen = [option, str(QUICK[part] if arguments.quick else count), "--seed", str(arguments.seed)]
        commands.append([sys.executable, str(SCRIPTS / "torture"), part, *chosen])
    done = list(side_by_side(commands, 2))
    for part, each in zip(FULL, done, strict=True):
        print(f"\n{part}\n\n{each.stdout}" + ("" if each.returncode == 0 else f"FAILED, exit code {each.returncode}\n"))
    print(f"all in {(perf_counter() - start) / 60:.1f} minutes")
    return int(any(each.returncode for each in done))
