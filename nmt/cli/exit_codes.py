"""How a command ends: the exit code, and one line on standard error where something stopped it."""

import os
import sys
from collections.abc import Callable

from nmt.errors import FAILING, FORBIDDEN, NO_ROOM, NmtError, in_one_line, place_of, printable, remedy

BAD_INPUT, INTERRUPTED, BROKEN_PIPE = 2, 130, 141  # a bug in nmt gives a traceback and 1


def exit_code_of(command: Callable[[], int], name: str) -> int:
    """Runs a command, which is called so in messages; NMT_DEBUG=1 shows tracebacks instead of these."""
    debug = os.environ.get("NMT_DEBUG") == "1"
    try:
        code = command()
        if sys.stdout is not None:  # it is None if it was closed when Python began
            sys.stdout.flush()
    except NmtError as error:
        if debug:
            raise
        if not _is_first_to_say(error):
            return BAD_INPUT
        print(f"error: {in_one_line(error)}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        if debug:
            raise
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except (MemoryError, RuntimeError) as error:
        from nmt.machine.allocator import lacks_memory

        if debug or not lacks_memory(error):
            raise
        if not _is_first_to_say(error):
            return BAD_INPUT
        said = printable(" ".join(str(error).split())[:200])
        helps = "free some, or lower train.batch_tokens, search.batch_sentences or the size of the model"
        print(f"error: {name} ran out of memory{said and f' ({said})'}; {helps}", file=sys.stderr)
        return BAD_INPUT
    except BrokenPipeError:  # the reader of the output has closed it, as `head` does
        _let_go_of_output()
        return BROKEN_PIPE
    except OSError as error:
        if debug or error.errno not in (*NO_ROOM, *FORBIDDEN, *FAILING):
            raise
        if error.filename is None:
            _let_go_of_output()
        if not _is_first_to_say(error):
            return BAD_INPUT
        where, helps = place_of(error) or "standard output or a file", remedy(error)
        print(f"error: cannot use {where} ({error.strerror}); {helps}, or use another folder", file=sys.stderr)
        return BAD_INPUT
    return code


def _is_first_to_say(error: Exception) -> bool:
    """Should this process print the error, rather than another one that torchrun started with it?"""
    if os.environ.get("WORLD_SIZE", "1") == "1":
        return True
    from nmt.machine.peers import is_first_to_say

    return is_first_to_say(error)


def _let_go_of_output() -> None:
    """Sends buffered output to /dev/null, so that Python exits without an error message."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
