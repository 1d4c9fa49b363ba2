"""Child processes that never outlive their parent, and the use of all cores with one thread a process."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any

import psutil

from echo_terminal.progress import log_to_file

RUN_VARIABLE = "ECHO_TERMINAL_RUN"  # process id of the command that all this is done for
_PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """Be killed when the parent process ends, even by SIGKILL; end now if that happened before this call.

    The latter is seen from the process that ``ECHO_TERMINAL_RUN`` names: it is neither this one nor above it. Linux
    only: elsewhere this does nothing.
    """
    if sys.platform != "linux":
        return
    tie_to_parent()
    run = os.environ.get(RUN_VARIABLE)
    me = psutil.Process()
    if run is not None and int(run) not in (process.pid for process in (me, *me.parents())):
        os._exit(1)


def tie_to_parent() -> None:
    """The system call alone: for the moment between fork and exec, where nothing can have happened yet."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def lead_the_run() -> None:
    """Name this process to its descendants as the one that their work is for."""
    os.environ[RUN_VARIABLE] = str(os.getpid())


def allow_open_files() -> None:
    """Raise the soft limit of open files to the hard one: a batch of terminals needs four each, 1,024 are usual."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def run_parallel(
    function: Callable[..., Any], jobs: Mapping[str, Mapping[str, Any]], workers: int = 2
) -> dict[str, Any]:
    """Call ``function(**arguments)`` for each job, at most ``workers`` at once, each in a fresh one-thread process.

    ``function`` must be importable by name (not defined in a notebook). Results come in the order of ``jobs``; they
    do not depend on ``workers``.

    Raises:
        RuntimeError: a job failed: its name and traceback. The other running jobs are ended.
    """
    context = multiprocessing.get_context("spawn")
    waiting = list(jobs.items())
    running: dict[Connection, tuple[str, Any]] = {}
    results: dict[str, Any] = {}
    saved = {name: os.environ.get(name) for name in _ONE_THREAD}
    os.environ.update(_ONE_THREAD)
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                name, arguments = waiting.pop(0)
                receiver, sender = context.Pipe(duplex=False)
                process = context.Process(
                    target=_work, args=(sender, function, dict(arguments)), daemon=False
                )
                process.start()
                sender.close()
                running[receiver] = name, process
            for connection in wait(list(running)):
                assert isinstance(connection, Connection)
                name, process = running.pop(connection)
                try:
                    ok, value = connection.recv()
                except EOFError:
                    process.join()
                    ok, value = False, f"the process ended with exit code {process.exitcode}"
                if not ok:
                    raise RuntimeError(f"{name} failed: {value}")
                process.join()
                results[name] = value
    finally:
        for _, process in running.values():
            process.terminate()
        for name, value in saved.items():
            os.environ.pop(name) if value is None else os.environ.__setitem__(name, value)
    return {name: results[name] for name in jobs}


_ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "RAYON_NUM_THREADS": "1",
}


def call_each(function: Callable[..., Any], arguments: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Call ``function(**a)`` for each of ``arguments``: one job of ``run_parallel`` for many short calls."""
    return [function(**a) for a in arguments]


def _work(sender: Connection, function: Callable[..., Any], arguments: dict[str, Any]) -> None:
    die_with_parent()
    log_to_file()
    try:
        result = True, function(**arguments)
    except Exception:  # everything goes to the parent, which raises it
        result = False, traceback.format_exc()
    sender.send(result)
