"""Progress of long loops: a logged line every few seconds, with rate, time left and the latest values.

Lines go to the logger ``echo_terminal``, never to standard output, so that notebooks stay quiet.
"""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path

LOGGER = logging.getLogger("echo_terminal")
LOG_VARIABLE = "ECHO_TERMINAL_LOG"


def log_to_file() -> None:
    """Send the log to the file that the runner named in the environment; without one, to nowhere.

    Each line is one append, so processes may share the file.
    """
    LOGGER.handlers.clear()
    LOGGER.propagate = False
    LOGGER.setLevel(logging.INFO)
    path = os.environ.get(LOG_VARIABLE)
    if path is None:
        LOGGER.addHandler(logging.NullHandler())
        return
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    handler = logging.FileHandler(path)
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S"))
    LOGGER.addHandler(handler)


class Progress:
    """Counts ``total`` units of work; ``update`` logs at most one line every ``every`` seconds."""

    def __init__(self, label: str, total: int, unit: str = "step", every: float = 5.0) -> None:
        self.label, self.total, self.unit, self.every = label, total, unit, every
        self.done = 0
        self._start = self._last = time.monotonic()

    def update(self, count: int = 1, **values: float) -> None:
        """``count`` more units are done; ``values`` are shown beside (a pass rate, say)."""
        self.done += count
        now = time.monotonic()
        if now - self._last >= self.every or self.done >= self.total:
            self._last = now
            LOGGER.info(
                progress_line(self.label, self.done, self.total, self.unit, now - self._start, values)
            )


def progress_line(
    label: str, done: int, total: int, unit: str, seconds: float, values: dict[str, float]
) -> str:
    """One line: ``train 40/100 step · 2.0 step/s · 30 s left · pass 0.52``."""
    rate = done / seconds if seconds > 0 else float("inf")
    parts = [f"{label} {done}/{total} {unit}", f"{rate:.3g} {unit}/s"]
    if 0 < done < total:
        parts.append(f"{(total - done) / rate:.0f} s left")
    return " · ".join(parts + [f"{name} {value:.4g}" for name, value in values.items()])
