"""Runs the tortures side by side on two cores and adds up what they counted.

make torture                       (100 kills, 200 faults of disks and files, 60 of numbers and memory)
make torture ARGS="--quick"        (12 kills and a few faults: to see that everything runs)
make torture ARGS="--seed 2"       (at other instants and places)
"""

import argparse
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter

from torture.small import LOW

FOLDER = Path(__file__).parent
FULL = {
    "torture_resume.py": ("--kills", 100),
    "torture_storage.py": ("--faults", 200),
    "torture_numbers.py": ("--faults", 60),
}
QUICK = {"torture_resume.py": 12, "torture_storage.py": 20, "torture_numbers.py": 12}


def main() -> int:
    """1 if any of them fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1, help="of instants and places (1)")
    parser.add_argument("--quick", action="store_true", help="a few of each")
    arguments = parser.parse_args()
    start = perf_counter()
    if LOW != "bf16":
        print("this processor has no LSTM in bf16: float32 is tortured in its place", flush=True)

    def run(script: str) -> subprocess.CompletedProcess[str]:
        option, count = FULL[script]
        words = [option, str(QUICK[script] if arguments.quick else count), "--seed", str(arguments.seed)]
        return subprocess.run([sys.executable, str(FOLDER / script), *words], stdout=subprocess.PIPE, text=True)

    with ThreadPoolExecutor(2) as two:
        done = list(two.map(run, FULL))
    for script, each in zip(FULL, done, strict=True):
        print(
            f"\n{script}\n\n{each.stdout}" + ("" if each.returncode == 0 else f"FAILED, exit code {each.returncode}\n")
        )
    print(f"all in {(perf_counter() - start) / 60:.1f} minutes")
    return int(any(each.returncode for each in done))


if __name__ == "__main__":
    sys.exit(main())
