"""`python scripts/demo`, which `make demo` calls."""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])  # scripts/: its folders are packages
    from command_line import stop_by_exception
    from demo.demonstration import main
    from nmt.cli.exit_codes import INTERRUPTED, exit_code_of

    stop_by_exception()
    code = exit_code_of(lambda: main(sys.argv[1:]), "scripts/demo")
    if code == INTERRUPTED:
        print("the same command continues", file=sys.stderr)
    sys.exit(code)
