"""Generated sessions of several commands, and whether two terminals are in the same state after each.

A session is drawn from a seed: file and text commands, redirections, variables, arrays, functions, loops, subshells
and leaving the shell, on the built-in fixture. State is what ``Terminal.fingerprint`` covers.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from echo_terminal.terminal.conformance import Fixture
from echo_terminal.terminal.terminal import Terminal

FILES = ("a.txt", "b.txt", "fruits.txt", "names.txt", "orders.txt", "sales.csv", "users.tsv", "numbers.txt")
WORDS = ("alpha", "beta", "north", "apple", "draft", "final", "prod", "cache")
NAMES = ("x", "y", "count", "target", "mode")

STEPS: tuple[str, ...] = (
    "mkdir -p {w}/{v}", "mkdir {w}", "cd {w} 2>/dev/null || cd", "cd ~/data", "cd ..", "cd - > /dev/null", "cd",
    "cp ~/data/{f} .", "cp ~/data/{f} {w}.bak", "cp -r ~/proj {w}", "mv {w}.bak {v}.old", "mv ~/data/{f} ~/logs/",
    "rm -f {w}.bak {v}.old", "rm -rf {w}", "rmdir {w}", "touch {w} {v}.log", "ln -s ~/data/{f} {w}.link",
    "ln -sf {w} latest", "chmod 600 ~/data/{f}", "chmod +x {w}.sh", "chmod -R go-r ~/logs",
    "echo {w} > {v}.txt", "echo {w} {n} >> {v}.txt", "printf '%s\\n' {w} {v} {n} > list.txt",
    "sort ~/data/{f} > sorted.txt", "sort -u ~/data/{f} | head -n {n} > top.txt", "sed -i 's/a/A/' ~/data/{f}",
    "sed -i '{n}d' ~/data/{f}", "grep -c a ~/data/{f} > count.txt", "cut -d, -f{n} ~/data/sales.csv > column.txt",
    "awk '{{print $1}}' ~/data/{f} > first.txt", "tr a-z A-Z < ~/data/{f} > upper.txt",
    "cat ~/data/{f} list.txt > both.txt", "head -n {n} ~/data/{f} | tee head.txt", "wc -l < ~/data/{f} > lines.txt",
    "cat > {w}.cfg <<'END'\nname={v}\nvalue=$HOME\nEND", "cat > {w}.sh <<END\n#!/bin/bash\necho {v} {n}\nEND",
    "find ~/proj -name '*.py' | sort > found.txt", "ls ~/data | wc -l > total.txt", "uniq ~/data/{f} > uniq.txt",
    "paste ~/data/names.txt ~/data/orders.txt > pasted.txt", "split -l {n} ~/data/{f} part_", "rm -f part_*",
    "{k}={n}", "{k}={w}", "export {k}={v}", "unset {k}", "{k}=$(( {n} * 7 ))", "{k}=$(basename ~/data/{f} .txt)",
    "{k}=$(wc -l < ~/data/{f})", "{k}=\"${{{k}:-none}}-{w}\"", "list=({w} {v} {n})", "list+=({v})", "unset list",
    "declare -A table=([{w}]={n} [{v}]=2)", "read -r first rest < ~/data/{f}", "for i in 1 2 {n}; do last=$i; done",
    "i=0; while [ $i -lt {n} ]; do i=$((i+1)); echo $i >> loop.txt; done", "f() {{ echo \"$1\" > f.out; seen=$1; }}",
    "f {w} 2>/dev/null", "( cd /tmp; {k}=lost; touch {w} )", "bash -c 'echo $0 > inner.txt'", "true && {k}=yes",
    "false || {k}=no", "[ -f {w} ] && echo yes > is.txt", "[[ {w} == a* ]] && {k}=starts",
    "IFS=, read -r p q <<< {w},{v}",
    "mapfile -t rows < ~/data/{f}", "case {w} in a*) {k}=A;; *) {k}=other;; esac", "exit {n}", "cat nosuch > none.txt",
    "nosuchcommand {w}", "mv nosuch {w}", "cp ~/data/{f} nosuch/x", "tar cf {w}.tar -C ~ data && rm {w}.tar",
    "gzip -k ~/data/{f} && gunzip -c ~/data/{f}.gz > plain.txt && rm ~/data/{f}.gz", "echo done | tee -a log.txt",
    "eval '{k}={w}'", "printf -v {k} '%03d' {n}", "{k}=${{{k}^^}}", "{k}=${{{k}/a/_}}",
    "pushd /tmp > /dev/null; popd > /dev/null",
)  # fmt: skip


@dataclass(frozen=True)
class StateRow:
    """One step of a session: are both terminals in the same state after it?"""

    session: int
    step: int
    command: str
    same: bool


def generate(count: int, seed: int, length: int = 6) -> list[tuple[str, ...]]:
    """``count`` sessions of ``length`` commands each."""
    draw = random.Random(seed)
    sessions = []
    for _ in range(count):
        words = draw.sample(WORDS, 2)
        sessions.append(
            tuple(
                draw.choice(STEPS).format(
                    w=draw.choice(words),
                    v=draw.choice(words),
                    f=draw.choice(FILES),
                    k=draw.choice(NAMES),
                    n=draw.randint(1, 4),
                )
                for _ in range(length)
            )  # fmt: skip
        )
    return sessions


def states(terminal: Terminal, sessions: Iterable[Sequence[str]], fixture: Fixture) -> Iterator[list[str]]:
    """The fingerprint after every command of every session."""
    for number, session in enumerate(sessions):
        terminal.reset(fixture.files, number)
        if fixture.setup:
            terminal.run(fixture.setup)
        found = []
        for command in session:
            terminal.run(command)
            found.append(terminal.fingerprint())
        yield found


def compare_states(
    sessions: Sequence[Sequence[str]], tested: Iterable[list[str]], reference: Iterable[list[str]]
) -> list[StateRow]:
    """Rows of agreement of state, step by step."""
    return [
        StateRow(number, step, command, ours == theirs)
        for number, (session, mine, other) in enumerate(zip(sessions, tested, reference, strict=True))
        for step, (command, ours, theirs) in enumerate(zip(session, mine, other, strict=True))
    ]
