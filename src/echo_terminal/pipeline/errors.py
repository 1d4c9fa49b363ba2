"""Errors that are the user's to mend: shown as one line, without a traceback."""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable


class UserError(Exception):
    """One line that says what is wrong and what to do."""


def os_error_line(error: OSError) -> str | None:
    """What to do about a full disk or a folder that cannot be written; None for other errors."""
    place = f" ({error.filename})" if error.filename else ""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"the disk is full{place}: free some space and run the same command again"
    if error.errno in (errno.EACCES, errno.EROFS, errno.EPERM):
        return f"no permission to write here{place}: use a folder of your own, or chmod -R u+w it"
    return None


def exit_status(work: Callable[[], None], interrupted: str = "interrupted") -> int:
    """Of a command: 0; 1 after an error that is the user's to mend, 130 after an interrupt, each said in one line."""
    try:
        work()
    except KeyboardInterrupt:
        print(interrupted, file=sys.stderr)
        return 130
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        line = os_error_line(error)
        if line is None:
            raise
        print(f"error: {line}", file=sys.stderr)
        return 1
    return 0
