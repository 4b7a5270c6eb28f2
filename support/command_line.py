"""How a command ends: errors that a user can cause are one line, and a closed pipe or Ctrl-C is no traceback."""

import os
import sys
from collections.abc import Callable


def run(command: Callable[[], int | None], errors: tuple[type[Exception], ...], failure: int) -> int:
    """Runs a command and returns the exit status: its own, or `failure` after one of these errors.

    What the terminal cannot show is printed as "?", such as a minus sign in ASCII.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        status = command() or 0
        if sys.stdout:  # None where the shell has closed it
            sys.stdout.flush()  # here, where a closed pipe is expected, and not when Python ends
        return status
    except BrokenPipeError:  # the reader of the pipe has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except errors as error:
        if os.environ.get("BOOK_TRACEBACK"):
            raise
        print(f"error: {told(error)}", file=sys.stderr)
        return getattr(error, "status", failure)


def told(error: Exception) -> str:
    """What an error says, without the number that the operating system gives it."""
    return f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else str(error)
