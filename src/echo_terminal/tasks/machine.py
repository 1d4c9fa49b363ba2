"""A machine: what is true of one environment and not of another, generated from a seed.

Its tools are real bash scripts in ``/usr/local/bin`` (the same file runs on every engine). Each has one right
call; a wrong one prints a line that states it (``usage="silent"``: the control, an error that states
nothing). A success appends a sealed record to the ledger, which is what the checks read.

A record is ``TOOL VERB PATH SUM SEAL``: SUM is the ``cksum`` of the file, SEAL the ``cksum`` of the tool's
own key, the seal before it and the record. An agent that copies the key out of a tool and computes seals by
hand has done what the tool does; short of that, a written, edited, reordered or removed record breaks the
chain and is found.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from echo_terminal.tasks import scripts
from echo_terminal.tasks.lexicon import EXTENSIONS, FLAGS, KEYS, NAMES, VERBS
from echo_terminal.tasks.scripts import LEDGER
from echo_terminal.terminal.terminal import HOME, File

BIN = "/usr/local/bin"
RANDOM_MACHINES = 1_000_000_000_000  # seeds from here on are machines of a single task

# Kinds of facts. verb, flag, order, setting belong to the site tools.
FACT_KINDS = ("verb", "flag", "order", "setting", "service", "folder", "project")


@dataclass(frozen=True)
class Tool:
    """One site tool, called ``NAME VERB [FLAG] FILE`` or, ``file_first``, ``NAME FILE VERB [FLAG]``.

    ``setting`` (key, value) must stand in ``~/etc/NAME.cfg``. ``key`` seals the tool's records.
    """

    name: str
    verb: str
    key: int
    flag: str = ""
    file_first: bool = False
    setting: tuple[str, str] | None = None

    def words(self, verb: str | None = None) -> list[str]:
        """The words of the right call after the name, FILE standing for the file."""
        call = [verb or self.verb, *([self.flag] if self.flag else [])]
        return ["FILE", *call] if self.file_first else [*call, "FILE"]

    def call(self, file: str, verb: str | None = None) -> str:
        """The right command for ``file``, or the same with another verb."""
        return " ".join([self.name, *(file if w == "FILE" else w for w in self.words(verb))])

    @property
    def usage(self) -> str:
        """The line that a wrong call prints on standard error."""
        return f"usage: {self.call('FILE')}"

    @property
    def facts(self) -> dict[str, str]:
        """Fact name -> what is true."""
        found = {f"verb:{self.name}": self.verb}
        if self.flag:
            found[f"flag:{self.name}"] = self.flag
        if self.file_first:
            found[f"order:{self.name}"] = "FILE first"
        if self.setting:
            found[f"setting:{self.name}"] = "=".join(self.setting)
        return found


@dataclass(frozen=True)
class Machine:
    """Facts of one machine. ``usage`` is ``informative`` or ``silent``.

    ``services``: name -> the (key, value) that its settings need; ``after``: service -> the one to start
    before. ``folders``: extension -> folder where such files belong, ``backup``: extension of backup copies.
    ``targets``, ``levels``: project -> its build target, its test level.
    """

    seed: int
    tools: Mapping[str, Tool]
    usage: str = "informative"
    keys: Mapping[str, int] = field(default_factory=dict)  # of the control commands svc, build, check
    services: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    after: Mapping[str, str] = field(default_factory=dict)
    folders: Mapping[str, str] = field(default_factory=dict)
    backup: str = ""
    targets: Mapping[str, str] = field(default_factory=dict)
    levels: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def facts(self) -> dict[str, str]:
        """Every fact of the machine: name -> what is true."""
        found: dict[str, str] = {}
        for tool in self.tools.values():
            found |= tool.facts
        found |= {f"service:{n}": "=".join(s) for n, s in self.services.items()}
        found |= {f"after:{n}": s for n, s in self.after.items()}
        found |= {f"folder:{e}": f for e, f in self.folders.items()}
        found |= {"backup": self.backup} if self.backup else {}
        found |= {f"target:{n}": t for n, t in self.targets.items()}
        return found | {f"level:{n}": t for n, t in self.levels.items()}

    @cached_property
    def names(self) -> frozenset[str]:
        """Words that mean something here; no task uses them for anything else."""
        return frozenset({*self.tools, *self.services, *self.folders.values(), *self.targets, self.backup})

    @cached_property
    def files(self) -> dict[str, File]:
        """Absolute path -> file, the same objects for every task on this machine."""
        told = self.usage == "informative"
        found = {
            f"{BIN}/{t.name}": scripts.tool_script(t.name, t.words(), t.key, t.setting, told)
            for t in self.tools.values()
        }
        if self.services:
            found[f"{BIN}/svc"] = scripts.service_script(
                self.keys["svc"], dict(self.services), dict(self.after), told
            )
        if self.targets:
            found[f"{BIN}/build"] = scripts.build_script(self.keys["build"], dict(self.targets), told)
            found[f"{BIN}/check"] = scripts.check_script(self.keys["check"], dict(self.levels), told)
        programs = {p: File(s.encode(), 0o755) for p, s in found.items()}
        return programs | {LEDGER: File(b"", 0o666)} | self._home(told)

    def _home(self, told: bool) -> dict[str, File]:
        """What lies in the home folder: settings files with other values, the conventions' README and folders."""
        needed = dict(self.services) | {t.name: t.setting for t in self.tools.values() if t.setting}
        found = {
            f"{scripts.SETTINGS}/{n}.cfg": f"{key}={_other(value)}\n" for n, (key, value) in needed.items()
        }
        if self.folders:
            lines = [f"{e} files: {f}" for e, f in self.folders.items()] + [f"backup copies: .{self.backup}"]
            found[f"{HOME}/README"] = "\n".join(lines if told else ["nothing here"]) + "\n"
            found |= {f"{HOME}/{f}/.keep": "" for f in self.folders.values()}
        return {p: File(c.encode()) for p, c in found.items()}


def brought(path: str) -> bool:
    """Whether a file of a task comes from its machine; no template makes files of these names."""
    if not path.startswith(f"{HOME}/"):
        return True
    return path == f"{HOME}/README" or path.startswith(f"{scripts.SETTINGS}/") or path.endswith("/.keep")


def _other(value: str) -> str:
    """Another word than ``value``: what a settings file says before anybody has been at it."""
    return NAMES[(NAMES.index(value) + 97) % len(NAMES)]


@lru_cache(maxsize=256)
def make_machine(
    seed: int, n_tools: int = 24, facts: tuple[str, ...] = ("verb",), usage: str = "informative"
) -> Machine:
    """Generate the machine of a seed; same arguments, same machine. More kinds of facts leave the verbs as
    they are.

    Raises:
        ValueError: an unknown kind of fact or of usage, or more tools than there are names for.
    """
    unknown = set(facts) - set(FACT_KINDS)
    if unknown:
        raise ValueError(f"unknown facts {sorted(unknown)}: choose from {FACT_KINDS}")
    if usage not in ("informative", "silent"):
        raise ValueError(f"usage must be informative or silent, not {usage!r}")
    if not 1 <= n_tools <= len(NAMES) // 4:
        raise ValueError(f"n_tools must lie in 1..{len(NAMES) // 4}, not {n_tools}")
    rng = random.Random(f"machine {seed}")
    names = rng.sample(NAMES, n_tools)
    tools = {n: Tool(n, rng.choice(VERBS), rng.randrange(10**8, 10**9)) for n in names}
    if set(facts) <= {"verb"}:
        return Machine(seed, tools, usage)
    more = random.Random(f"machine {seed} further facts")
    words = more.sample([n for n in NAMES if n not in tools], 6 + len(EXTENSIONS) + 6 + 1)
    tools = {n: _further(t, facts, more) for n, t in tools.items()}
    services, folders, projects, backup = words[:6], words[6:12], words[12:18], words[18]
    pairs = {n: (more.choice(KEYS), more.choice(NAMES)) for n in services}
    after = {services[i]: services[more.randrange(3)] for i in (3, 4, 5)}
    targets = {n: more.choice(VERBS) for n in projects}
    levels = {n: more.choice(NAMES) for n in projects}
    keys = {n: more.randrange(10**8, 10**9) for n in ("svc", "build", "check")}
    return Machine(
        seed,
        tools,
        usage,
        keys=keys,
        services=pairs if "service" in facts else {},
        after=after if "service" in facts else {},
        folders=dict(zip(EXTENSIONS, folders, strict=True)) if "folder" in facts else {},
        backup=backup if "folder" in facts else "",
        targets=targets if "project" in facts else {},
        levels=levels if "project" in facts else {},
    )


def _further(tool: Tool, facts: tuple[str, ...], rng: random.Random) -> Tool:
    """Half of the tools get a flag, a third takes the file first, a third needs a setting."""
    flag, first = rng.choice(("", rng.choice(FLAGS))), rng.random() < 1 / 3
    setting = (rng.choice(KEYS), rng.choice(NAMES)) if rng.random() < 1 / 3 else None
    return Tool(
        tool.name,
        tool.verb,
        tool.key,
        flag if "flag" in facts else "",
        first and "order" in facts,
        setting if "setting" in facts else None,
    )
