"""The bash text of what a machine has in ``/usr/local/bin``: plain enough to run alike on every engine.

Every success is sealed into the ledger by the same four lines (``_SEAL``); the verifier reads each tool's key
there.
"""

from __future__ import annotations

LEDGER = "/var/site/ledger"
SETTINGS = "/home/user/etc"  # settings files of tools and services

_SEAL = """s=$(cksum < "{file}")
last=$(tail -n 1 {ledger})
r="{name} {verb} {path} ${{s%% *}}"
k=$(printf '%s\\n' "{key} ${{last##* }} $r" | cksum)
echo "$r ${{k%% *}}" >> {ledger}
"""

_TOOL = """#!/bin/bash
# {name}: site tool
if {wrong}; then echo "{complaint}" >&2; exit 2; fi
case ${n} in /*) p=${n} ;; *) p=$PWD/${n} ;; esac
case $p in *[!A-Za-z0-9._/-]*) echo "{name}: bad name ${n}" >&2; exit 4 ;; esac
if [ ! -f "${n}" ]; then echo "{name}: missing file ${n}" >&2; exit 3; fi
"""

_NEEDS = """if ! grep -qx '{setting}' {file} 2> /dev/null; then echo "{complaint}" >&2; exit 5; fi
"""

_CONTROL = """#!/bin/bash
# {name}: {about}
if [ "$1" = list ] && [ $# -eq 1 ]; then printf '%s\\n' {things}; exit 0; fi
if {usage_wrong}; then echo "usage: {usage}" >&2; exit 2; fi
case {thing} in
{cases}*) echo "{name}: no {noun} {thing}" >&2; exit 3 ;;
esac
"""


def tool_script(
    name: str, words: list[str], key: int, setting: tuple[str, str] | None, informative: bool
) -> str:
    """A tool that is called as ``name`` and ``words``; the word FILE stands for the file that it works on.

    ``setting`` (key, value) must stand in the tool's settings file, or it refuses.
    """
    n = words.index("FILE") + 1
    verb = next(w for w in words if w != "FILE")
    wrong = [f"[ $# -ne {len(words)} ]"]
    wrong += [f'[ "${i}" != {w} ]' for i, w in enumerate(words, 1) if w != "FILE"]
    text = _TOOL.format(
        name=name,
        n=n,
        wrong=" || ".join(wrong),
        complaint=f"usage: {name} {' '.join(words)}" if informative else f"{name}: bad usage",
    )
    if setting:
        stated = f"{name}: set {setting[0]}={setting[1]} in ~/etc/{name}.cfg"
        text += _NEEDS.format(
            setting="=".join(setting),
            file=f"{SETTINGS}/{name}.cfg",
            complaint=stated if informative else f"{name}: wrong settings",
        )
    text += _SEAL.format(file=f"${n}", path="$p", name=name, verb=verb, key=key, ledger=LEDGER)
    return text + f'echo "{name}: ${n} done"\n'


def service_script(
    key: int, services: dict[str, tuple[str, str]], after: dict[str, str], informative: bool
) -> str:
    """``svc start NAME``: starts a service whose settings file is right and whose forerunner has been started."""
    cases = "".join(
        f"{name}) want='{k}={v}' first={after.get(name, '')} ;;\n" for name, (k, v) in services.items()
    )
    text = _CONTROL.format(
        name="svc",
        about="starts services",
        things=" ".join(services),
        usage_wrong='[ $# -ne 2 ] || [ "$1" != start ]',
        usage="svc list | svc start NAME",
        thing="$2",
        noun="service",
        cases=cases,
    )
    text += f"""f={SETTINGS}/$2.cfg
if [ -n "$first" ] && ! grep -q "^svc start {SETTINGS}/$first.cfg " {LEDGER}; then
  echo "svc: $2: {"start $first first" if informative else "not ready"}" >&2; exit 6
fi
if ! grep -qx "$want" "$f" 2> /dev/null; then
  echo "svc: $2: {"set $want in ~/etc/$2.cfg" if informative else "wrong settings"}" >&2; exit 5
fi
"""
    text += _SEAL.format(file="$f", path="$f", name="svc", verb="start", key=key, ledger=LEDGER)
    return text + 'echo "svc: $2 started"\n'


def build_script(key: int, targets: dict[str, str], informative: bool) -> str:
    """``build PROJECT TARGET``: each project has one right target; seals the project's main file."""
    text = _CONTROL.format(
        name="build",
        about="builds projects",
        things=" ".join(targets),
        usage_wrong="[ $# -lt 1 ] || [ $# -gt 2 ]",
        usage="build list | build PROJECT TARGET",
        thing="$1",
        noun="project",
        cases="".join(f"{name}) target={t} ;;\n" for name, t in targets.items()),
    )
    told = "build: $1: target is $target" if informative else "build: $1: bad target"
    text += f"""f=/home/user/$1/main.txt
if [ "$2" != "$target" ]; then echo "{told}" >&2; exit 4; fi
if [ ! -f "$f" ]; then echo "build: $1: main.txt is missing" >&2; exit 3; fi
"""
    text += _SEAL.format(file="$f", path="$f", name="build", verb="$target", key=key, ledger=LEDGER)
    return text + 'echo "build: $1 built"\n'


def check_script(key: int, levels: dict[str, str], informative: bool) -> str:
    """``check PROJECT LEVEL``: tests a project that has been built, as it is now, on its one right level."""
    text = _CONTROL.format(
        name="check",
        about="tests projects",
        things=" ".join(levels),
        usage_wrong="[ $# -lt 1 ] || [ $# -gt 2 ]",
        usage="check list | check PROJECT LEVEL",
        thing="$1",
        noun="project",
        cases="".join(f"{name}) level={level} ;;\n" for name, level in levels.items()),
    )
    told = "check: $1: level is $level" if informative else "check: $1: bad level"
    text += f"""f=/home/user/$1/main.txt
if [ "$2" != "$level" ]; then echo "{told}" >&2; exit 4; fi
s=$(cksum < "$f")
if ! grep -q "^build [a-z]* $f ${{s%% *}} " {LEDGER}; then echo "check: $1: build it first" >&2; exit 6; fi
"""
    text += _SEAL.format(file="$f", path="$f", name="check", verb="$level", key=key, ledger=LEDGER)
    return text + 'echo "check: $1 passed"\n'
