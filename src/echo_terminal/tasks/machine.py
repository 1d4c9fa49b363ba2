"""A machine: what is true of one environment and not of another, generated from a seed.

Its site tools are real bash scripts in ``/usr/local/bin`` (the same file runs on every engine). Each has one
right call; a wrong one prints a usage line that states it (``usage="silent"``: the control, an error that
states nothing). A successful call appends a sealed record to the ledger, which is what the checks read.

A record is ``TOOL VERB PATH SUM SEAL``: SUM is the ``cksum`` of the file, SEAL the ``cksum`` of the tool's
own key, the seal before it and the record. An agent that copies the key out of a tool and computes seals by
hand has done what the tool does; short of that, a written, edited, reordered or removed record breaks the
chain and is found.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

from echo_terminal.tasks.lexicon import NAMES, VERBS
from echo_terminal.terminal.terminal import File

BIN = "/usr/local/bin"
LEDGER = "/var/site/ledger"
FACT_KINDS = ("verb",)
RANDOM_MACHINES = 1_000_000_000  # seeds from here on are machines of a single task

_SCRIPT = """#!/bin/bash
# {name}: site tool
if [ $# -ne 2 ] || [ "$1" != {verb} ]; then echo "{complaint}" >&2; exit 2; fi
case $2 in /*) p=$2 ;; *) p=$PWD/$2 ;; esac
case $p in *[!A-Za-z0-9._/-]*) echo "{name}: bad name $2" >&2; exit 4 ;; esac
if [ ! -f "$2" ]; then echo "{name}: missing file $2" >&2; exit 3; fi
s=$(cksum < "$2")
last=$(tail -n 1 {ledger})
r="{name} {verb} $p ${{s%% *}}"
k=$(printf '%s\\n' "{key} ${{last##* }} $r" | cksum)
echo "$r ${{k%% *}}" >> {ledger}
echo "{name}: $2 done"
"""


@dataclass(frozen=True)
class Tool:
    """One site tool. ``key`` seals its records; it stands in the script and nowhere else."""

    name: str
    verb: str
    key: int

    @property
    def usage(self) -> str:
        """The line that a wrong call prints on standard error."""
        return f"usage: {self.call('FILE')}"

    def call(self, file: str, verb: str | None = None) -> str:
        """The right command for ``file``, or the same with another verb."""
        return f"{self.name} {verb or self.verb} {file}"

    def script(self, informative: bool = True) -> str:
        """The tool's bash script."""
        complaint = self.usage if informative else f"{self.name}: bad usage"
        return _SCRIPT.format(
            name=self.name, verb=self.verb, key=self.key, complaint=complaint, ledger=LEDGER
        )


@dataclass(frozen=True)
class Machine:
    """Facts of one machine. ``usage`` is ``informative`` or ``silent``."""

    seed: int
    tools: Mapping[str, Tool]
    usage: str = "informative"

    @cached_property
    def files(self) -> dict[str, File]:
        """Absolute path -> file, the same objects for every task on this machine."""
        informative = self.usage == "informative"
        scripts = {
            f"{BIN}/{t.name}": File(t.script(informative).encode(), 0o755) for t in self.tools.values()
        }
        return scripts | {LEDGER: File(b"", 0o666)}

    @cached_property
    def keys(self) -> dict[str, int]:
        """Tool name -> key, for the verifier."""
        return {t.name: t.key for t in self.tools.values()}


@lru_cache(maxsize=256)
def make_machine(
    seed: int, n_tools: int = 24, facts: tuple[str, ...] = ("verb",), usage: str = "informative"
) -> Machine:
    """Generate the machine of a seed; same arguments, same machine.

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
    return Machine(seed, tools, usage)
