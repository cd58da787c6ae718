"""Looks for inputs that reach code which none has reached yet, for a property of `make fuzz`, with atheris.

    .venv/bin/python -m pip install -c constraints.txt -e '.[fuzz]'
    python scripts/fuzz guided overrides                       (100,000 inputs)
    python scripts/fuzz guided config --runs 500000 --seed 2

Prints libFuzzer's own report. An input for which the property does not hold ends it, with an exit code other than 0;
libFuzzer leaves the input in a file crash-… here.
"""

import sys
import tempfile
from collections.abc import Sequence

from hypothesis import given, settings

from command_line import ROOT, new_parser, one_or_more
from nmt.errors import ConfigError

LONGEST = 4096  # bytes that an input is made of


def main(words: Sequence[str]) -> int:
    """Ends the process."""
    parser = new_parser("fuzz guided", __doc__)
    parser.add_argument("property", help="see tests/helpers/fuzz_properties.py")
    parser.add_argument("--runs", type=one_or_more, default=100_000, help="inputs that are tried (100,000)")
    parser.add_argument("--seed", type=int, default=1, help="of the inputs (1)")
    arguments = parser.parse_args(words)
    try:
        import atheris
    except ModuleNotFoundError:
        how = ".venv/bin/python -m pip install -c constraints.txt -e '.[fuzz]'"
        raise ConfigError(f"atheris is not installed; {how}") from None
    sys.path.insert(0, str(ROOT / "tests"))
    with atheris.instrument_imports(include=["nmt"]):
        from helpers.fuzz_commands import COMMANDS  # type: ignore[import-not-found]
        from helpers.fuzz_properties import PROPERTIES  # type: ignore[import-not-found]
    properties = PROPERTIES | COMMANDS
    if arguments.property not in properties:
        raise ConfigError(f"no property {arguments.property}; choose from: {', '.join(properties)}")
    what = properties[arguments.property]

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
    return 0
