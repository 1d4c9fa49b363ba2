"""Errors that are the user's to mend: shown as one line, without a traceback."""

from __future__ import annotations

import errno


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
