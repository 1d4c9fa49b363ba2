"""Changes of ``still_python`` in modules that most programs do not import, made when they are."""

from __future__ import annotations

from _functools import partial

TYPE_CHECKING = False  # annotations are not compiled
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any


RESIDENT = 10_240  # KiB of a process


def usage(module: ModuleType, used: Callable[[], int]) -> None:
    """``resource``: ``used`` nanoseconds, and as much memory in each process."""
    tells = module.struct_rusage
    module.getrusage = partial(lambda who: tells((used() / 1e9, 0.0, RESIDENT, *[0] * 13)))  # type: ignore[attr-defined]


def database(module: ModuleType, now: str) -> None:
    """``_sqlite3``: ``now`` ("2024-06-01 00:00:00") is the time; its random numbers come from /dev/urandom, a file."""
    connect = module.connect
    plain = connect(":memory:", check_same_thread=False)

    def dated(name: str, place: int) -> Callable[..., Any]:
        def work(*given: Any) -> Any:
            if len(given) < place:  # ``strftime`` without a form
                return None
            values = list(given) if len(given) > place else [*given, "now"]
            if str(values[place]).lower() == "now":
                values[place] = now
            return plain.execute(f"select {name}({','.join('?' * len(values))})", values).fetchone()[0]

        return work

    known = {name: dated(name, 0) for name in ("date", "time", "datetime", "julianday", "unixepoch")}
    known["strftime"] = dated("strftime", 1)

    def opened(*given: Any, **named: Any) -> Any:
        database = connect(*given, **named)
        for name, work in known.items():
            database.create_function(name, -1, work, deterministic=True)
        for place, name in enumerate(("current_date", "current_time", "current_timestamp")):
            database.create_function(name, 0, partial((*now.split(), now).__getitem__, place))
        return database

    module.connect = partial(opened)  # type: ignore[attr-defined]
