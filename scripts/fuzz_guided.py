"""Looks for inputs that reach code which none has reached yet, for a property of `make fuzz`, with atheris.

pip install '.[fuzz]'
python scripts/fuzz_guided.py overrides                       (100,000 inputs)
python scripts/fuzz_guided.py config --runs 500000 --seed 2

Prints libFuzzer's own report. An input for which the property does not hold ends it, with an exit code other than 0;
libFuzzer leaves the input in a file crash-… here.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import atheris
from hypothesis import given, settings

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
with atheris.instrument_imports(include=["nmt"]):
    from fuzz_commands import COMMANDS  # type: ignore[import-not-found]
    from fuzz_properties import PROPERTIES  # type: ignore[import-not-found]

LONGEST = 4096  # bytes that an input is made of


def main() -> None:
    """Ends the process."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("property", choices=[*PROPERTIES, *COMMANDS], help="see tests/fuzz_properties.py")
    parser.add_argument("--runs", type=int, default=100_000, help="inputs that are tried (100,000)")
    parser.add_argument("--seed", type=int, default=1, help="of the inputs (1)")
    arguments = parser.parse_args()
    what = (PROPERTIES | COMMANDS)[arguments.property]

    @settings(deadline=None, database=None)
    @given(what.inputs)
    def check(value: object) -> None:
        what.check(value)

    with tempfile.TemporaryDirectory() as found:
        options = [
            f"-atheris_runs={arguments.runs}",
            f"-seed={arguments.seed}",
            f"-max_len={LONGEST}",
            "-len_control=0",
        ]
        atheris.Setup([sys.argv[0], *options, "-timeout=20", found], check.hypothesis.fuzz_one_input)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
