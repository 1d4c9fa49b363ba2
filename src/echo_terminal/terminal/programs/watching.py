"""Ends programs written here when the time of their command is over: bashkit waits for a program as long as it runs."""

from __future__ import annotations

import ctypes
import itertools
import os
import threading
import time

from echo_terminal.terminal.programs.limits import TIME, Limits, Stopped

PERIOD = 0.1  # seconds between two looks at what runs


class Late(Stopped):
    """The time is over."""

    def __init__(self) -> None:
        super().__init__(TIME)


class watched:
    """Raise ``Late`` in what runs in this context once ``limits.until`` has passed; a call of C ends first."""

    def __init__(self, limits: Limits) -> None:
        self.limits, self.thread, self.raised = limits, threading.get_ident(), False

    def __enter__(self) -> None:
        if not _watchers:
            _watchers.append(threading.Thread(target=_watch, name="time", daemon=True))
            _watchers[0].start()
        self._number = next(_numbers)
        _running[self._number] = self

    def __exit__(self, *_: object) -> None:
        if _running.pop(self._number, None) is None:  # the watcher has it: wait for what it raises
            while not self.raised:
                time.sleep(0)
            _raise(ctypes.c_ulong(self.thread), None)


_running: dict[int, watched] = {}  # whoever takes a run out of it may end it: its program, or the watcher
_numbers = itertools.count()
_watchers: list[threading.Thread] = []
os.register_at_fork(after_in_child=_watchers.clear)  # threads are not forked
_raise = ctypes.pythonapi.PyThreadState_SetAsyncExc


def _watch() -> None:
    while True:
        time.sleep(PERIOD)
        for number, run in list(_running.items()):
            if time.monotonic() > run.limits.until and _running.pop(number, None) is not None:
                _raise(ctypes.c_ulong(run.thread), ctypes.py_object(Late))
                run.raised = True
