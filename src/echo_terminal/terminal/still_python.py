"""What every ``python3`` of the sandbox runs first: CPython asks the episode where it would ask the machine.

Imported as ``sitecustomize`` from compiled code, with builtin modules alone, and gone as if there were none. What it
changes, and what for:

- The time is the terminal's. It goes on by 1, 2, 3, ... microseconds with each look at a clock, so that a loop that
  waits for a time ends, and by the seconds of a ``sleep`` or of a wait that ran out. What took how long is not in it:
  ``python3 -m timeit``, which repeats until enough time has passed, runs into the limit of the command.
- Random bytes come from the seed of the episode (``random``, ``secrets``, ``uuid``, ``tempfile``).
- Process ids count from 2. Inodes and devices are numbered as they are first seen, and what was written since the
  start shows the terminal's time.
- The machine has the processors, the kernel and the memory that ``nproc``, ``uname`` and ``free`` tell, and disks of
  64 MiB.

Not within reach: ``python3 -S`` (it runs without this), ``-I`` and ``-E`` (without the seed of hashes), how threads and
processes take turns, the order in which the kernel lists a folder, what other programs that Python starts ask the
machine (and OpenSSL and Berkeley DB in it), what /proc tells of a process, addresses where a container forbids
``personality`` or the kernel places memory elsewhere, and which CPython it is: Debian 12 has 3.11.2.
"""

from __future__ import annotations

import _thread
import gc
import os
import sys
import time
from _functools import partial

TYPE_CHECKING = False  # an import costs time at each start; annotations are not compiled
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType, TracebackType
    from typing import Any

START = "/dev/shm/start"  # noqa: S108 - written for each run: seed, the terminal's time, the host's, the first process
LIFETIME = 30 * 86_400  # seconds that a sandbox may live; later times of files were asked for
FILE = "<sitecustomize>"  # how traces name this module
SECOND = 10**9  # nanoseconds
BOOTED = 3600 * SECOND  # what clocks without a date start from
FIRST = 2  # id of the process that runs the program
CPUS, PAGES, FREE, BLOCKS = 4, 1 << 20, 3 << 18, 1 << 14  # pages of 4 KiB, and blocks of a disk
KERNEL = ("5.15.0-sandbox", "#1 SMP PREEMPT sandbox")  # release and version
LATE = {}  # type: dict[str, Callable[[ModuleType], None]]  # what changes a module when it is imported


def change(kind: type, **members: Any) -> None:
    """Set members of a type that is written in C."""
    gc.get_referents(kind.__dict__)[0].update(members)
    sys._clear_type_cache()  # of members looked up before


def put(module: ModuleType, **functions: Callable[..., Any]) -> None:
    """Replace functions of a module by such as are no methods where a class holds them."""
    for name, function in functions.items():
        setattr(module, name, partial(function))


class Clock:
    """Nanoseconds since the start of the program, which no machine decides."""

    passed = looks = 0

    def look(self) -> int:
        """Now; each look takes longer than the one before."""
        self.looks += 1
        self.passed += 1000 * self.looks
        return self.passed

    def until(self, moment: float) -> None:
        """A wait until ``moment`` is over."""
        self.passed = max(self.passed, int(moment))


def keep_time(clock: Clock, begun: int) -> None:
    """Put a clock that shows ``begun`` (seconds since the epoch) behind all functions that tell the time."""
    from time import asctime, ctime, gmtime, localtime, sleep, strftime

    def date() -> int:
        return begun * SECOND + clock.look()

    def steady() -> int:
        return BOOTED + clock.look()

    def used() -> int:
        return 20_000_000 + 1000 * clock.looks

    for name, read in (
        ("time", date), ("monotonic", steady), ("perf_counter", steady), ("process_time", used), ("thread_time", used),
    ):  # fmt: skip
        put(time, **{f"{name}_ns": read, name: partial(lambda read: read() / SECOND, read)})

    def slept(seconds: float) -> None:
        end = clock.passed + seconds * SECOND if isinstance(seconds, int | float) else 0
        sleep(seconds)
        clock.until(end)

    def of_clock(which: int) -> int:
        cpu = which in (time.CLOCK_PROCESS_CPUTIME_ID, time.CLOCK_THREAD_CPUTIME_ID)
        return date() if which == time.CLOCK_REALTIME else used() if cpu else steady()

    put(
        time,
        sleep=slept,
        clock_gettime_ns=of_clock,
        clock_gettime=lambda which: of_clock(which) / SECOND,
        localtime=lambda seconds=None: localtime(date() / SECOND if seconds is None else seconds),
        gmtime=lambda seconds=None: gmtime(date() / SECOND if seconds is None else seconds),
        ctime=lambda seconds=None: ctime(date() / SECOND if seconds is None else seconds),
        asctime=lambda moment=None: asctime(localtime(date() / SECOND) if moment is None else moment),
        strftime=lambda form, moment=None: strftime(form, moment or localtime(date() / SECOND)),
    )
    put(os, times=lambda: os.times_result((used() / SECOND, 0.0, 0.0, 0.0, steady() / SECOND)))
    LATE["_datetime"] = lambda module: change(
        module.datetime,
        now=classmethod(lambda cls, tz=None: cls.fromtimestamp(date() / SECOND, tz)),
        utcnow=classmethod(lambda cls: cls.utcfromtimestamp(date() / SECOND)),
    )
    LATE["resource"] = later("usage", used)
    LATE["_sqlite3"] = later("database", strftime("%Y-%m-%d %H:%M:%S", gmtime(begun)))


def later(name: str, *given: Any) -> Callable[[ModuleType], None]:
    """What calls a function of ``still_modules``, which most programs do not need."""

    def run(module: ModuleType) -> None:
        import still_modules  # type: ignore[import-not-found]

        getattr(still_modules, name)(module, *given)
        del sys.modules["still_modules"]

    return run


def keep_waits(clock: Clock) -> None:
    """Let the clock go on by the time of a wait that ran out."""

    def timed(wait: Any, over: Callable[[Any], bool], unit: int, place: int) -> Callable[..., Any]:
        def run(*given: Any, **named: Any) -> Any:
            begun = clock.passed
            found = wait(*given, **named)
            timeout = given[place] if len(given) > place else named.get("timeout")
            if over(found) and timeout is not None and timeout > 0:
                clock.until(begun + timeout * unit)
            return found

        return run

    def of_files(module: ModuleType) -> None:
        poll = type(module.poll())
        put(module, select=timed(module.select, lambda found: not any(found), SECOND, 3))
        change(module.epoll, poll=timed(module.epoll.poll, lambda found: not found, SECOND, 1))
        change(poll, poll=timed(poll.poll, lambda found: not found, 10**6, 1))

    LATE["select"] = of_files
    for lock in (_thread.LockType, _thread.RLock):
        change(lock, acquire=timed(lock.acquire, lambda found: not found, SECOND, 2))


def keep_chance(seed: int, first: int) -> None:
    """Draw random bytes from ``seed``, others in each process."""
    getpid, owner = os.getpid, 0
    source: Any = None

    def urandom(size: int) -> bytes:
        nonlocal owner, source
        if size < 0:
            raise ValueError("negative argument not allowed")
        if (process := getpid()) != owner:
            from _random import Random

            source, owner = Random((seed << 32) + process - first), process
        return source.getrandbits(8 * size).to_bytes(size, "little")

    def of_numbers(module: ModuleType) -> None:
        begin = module.Random.seed

        def drawn(self: Any, number: Any = None) -> None:
            begin(self, int.from_bytes(urandom(32), "little") if number is None else number)

        change(module.Random, seed=drawn)

    LATE["_random"] = of_numbers
    put(os, urandom=urandom, getrandom=lambda size, flags=0: urandom(size))
    sys.modules["_uuid"] = None  # type: ignore[assignment]  # libuuid asks the machine; without it, uuid asks ``os``


def keep_processes(first: int) -> None:
    """Number processes from ``FIRST``."""
    ahead = first - FIRST

    def told(number: Any) -> Any:
        if isinstance(number, tuple):
            return (told(number[0]), *number[1:])
        return number - ahead if number >= first else number

    def meant(number: Any) -> Any:
        if not isinstance(number, int) or -FIRST < number < FIRST:
            return number
        return number + ahead if number > 0 else number - ahead

    def counted(call: Callable[..., Any], asks: int, *, tells: bool) -> Callable[..., Any]:
        def run(*given: Any, **named: Any) -> Any:
            given = (*map(meant, given[:asks]), *given[asks:])
            found = call(*given, **{n: meant(v) if n in ("pid", "pgid") else v for n, v in named.items()})
            return told(found) if tells else found

        return run

    for names, asks, tells in (
        ("getpid getppid getpgrp fork forkpty wait wait3 posix_spawn posix_spawnp", 0, True),
        ("waitpid wait4 getpgid getsid", 1, True),
        ("kill killpg pidfd_open", 1, False),
        ("setpgid", 2, False),
    ):
        put(os, **{name: counted(getattr(os, name), asks, tells=tells) for name in names.split()})
    LATE["_posixsubprocess"] = lambda module: put(module, fork_exec=counted(module.fork_exec, 0, tells=True))
    put(_thread, get_native_id=counted(_thread.get_native_id, 0, tells=True))


def keep_files(begun: int, host: int) -> None:
    """Tell of files what no machine decides; ``host``: since when its times are shown as ``begun``."""
    kind: Any = os.stat_result
    seen: dict[int, dict[Any, int]] = {
        1: {},
        2: {},
    }  # by place in a result: numbers told for inodes, and for devices
    low, high = host * SECOND, (host + LIFETIME) * SECOND
    reduce, item = kind.__reduce__, tuple.__getitem__

    def numbered(found: Any, place: int) -> int:
        key = (item(found, 1), item(found, 2)) if place == 1 else item(found, 2)
        known = seen[place]
        return known.setdefault(key, len(known) + (FIRST if place == 1 else 40))

    def told(found: Any) -> tuple[list[Any], dict[str, Any]]:
        _, (row, more) = reduce(found)
        row = [*row]
        row[1], row[2] = numbered(found, 1), numbered(found, 2)
        for place, name in ((7, "st_atime"), (8, "st_mtime"), (9, "st_ctime")):
            if low <= more[f"{name}_ns"] < high:
                row[place], more[name], more[f"{name}_ns"] = begun, float(begun), begun * SECOND
        return row, more

    names = "st_mode st_ino st_dev st_nlink st_uid st_gid st_size st_atime st_mtime st_ctime".split()
    members = {
        "st_ino": property(lambda found: numbered(found, 1)),
        "st_dev": property(lambda found: numbered(found, 2)),
        "__getitem__": lambda found, place: told(found)[0][place],
        "__iter__": lambda found: iter(told(found)[0]),
        "__reduce__": lambda found: (kind, told(found)),
        "__repr__": lambda found: f"os.stat_result({', '.join(map('{}={}'.format, names, told(found)[0]))})",
    }
    for name in (*names[7:], "st_atime_ns", "st_mtime_ns", "st_ctime_ns"):
        members[name] = property(partial(lambda name, found: told(found)[1][name], name))
    for name, member in members.items():
        setattr(kind, name, member)
    change(os.DirEntry, inode=lambda self: self.stat(follow_symlinks=False).st_ino)


def keep_machine() -> None:
    """Tell of the machine what the terminal's other programs tell."""
    host, sysconf, statvfs, fstatvfs = os.uname(), os.sysconf, os.statvfs, os.fstatvfs
    names = ("SC_NPROCESSORS_CONF", "SC_NPROCESSORS_ONLN", "SC_PHYS_PAGES", "SC_AVPHYS_PAGES")
    numbers = [os.sysconf_names[name] for name in names]
    known = dict(zip((*names, *numbers), (CPUS, CPUS, PAGES, FREE) * 2, strict=True))

    def disk(found: os.statvfs_result) -> os.statvfs_result:
        free = max(0, BLOCKS - (found.f_blocks - found.f_bfree))
        return os.statvfs_result((*found[:2], BLOCKS, free, free, BLOCKS, BLOCKS, BLOCKS, *found[8:]))

    kernel = os.uname_result((host.sysname, host.nodename, *KERNEL, host.machine))
    put(
        os,
        cpu_count=lambda: CPUS,
        sched_getaffinity=lambda pid: set(range(CPUS)),
        getloadavg=lambda: (0.0, 0.0, 0.0),
        sysconf=lambda name: known[name] if name in known else sysconf(name),
        statvfs=lambda path: disk(statvfs(path)),
        fstatvfs=lambda file: disk(fstatvfs(file)),
        uname=lambda: kernel,
    )


class Finder:
    """Finds the modules that have to be changed, and loads them."""

    def __init__(self, loader: Any = None) -> None:
        self.loader = loader

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """See ``importlib.abc.MetaPathFinder``."""
        if name not in LATE:
            return None
        found = (finder.find_spec(name, path, target) for finder in sys.meta_path[1:])
        if (spec := next(filter(None, found), None)) is not None:
            spec.loader = Finder(spec.loader)  # type: ignore[assignment]
        return spec

    def create_module(self, spec: Any) -> Any:
        """See ``importlib.abc.Loader``."""
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """See ``importlib.abc.Loader``."""
        self.loader.exec_module(module)
        module.__loader__ = module.__spec__.loader = self.loader  # type: ignore[union-attr]
        LATE.pop(module.__name__)(module)


def hide(error: BaseException | None) -> None:
    """Take the functions of this module out of the traces of an error that ends the program."""
    seen: list[BaseException] = []
    while error is not None and error not in seen:
        seen.append(error)
        steps, trace = [], error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename != FILE:
                steps.append(trace)
            trace = trace.tb_next
        for step in reversed(steps):
            trace = type(step)(trace, step.tb_frame, step.tb_lasti, step.tb_lineno)
        error.__traceback__ = trace
        error = error.__cause__ or error.__context__


def report(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Standard ``sys.excepthook``."""
    hide(error)
    sys.__excepthook__(kind, error, error.__traceback__)


def begin() -> None:
    """Do all of it."""
    sys.meta_path.insert(0, Finder())
    sys.excepthook = report
    with open(START, "rb") as file:
        seed, begun, host, first = map(int, file.read().split())
    clock = Clock()
    keep_files(begun, host)
    keep_time(clock, begun)
    keep_waits(clock)
    keep_chance(seed, first)
    keep_processes(first)
    keep_machine()


if __name__ == "sitecustomize":
    begin()
    raise ModuleNotFoundError("No module named 'sitecustomize'", name="sitecustomize")
