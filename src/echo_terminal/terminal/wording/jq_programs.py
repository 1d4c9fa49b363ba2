"""Functions that bashkit's jq lacks, or that leave the keys of an object in another order: defined in the program."""

from __future__ import annotations

import re

_INDEX = """
def INDEX(s; f): reduce s as $r ({}; .[$r | f | tostring] |= $r);
def INDEX(f): INDEX(.[]; f);
"""
_DELETE = """
def __at($n; $k): if $k < 0 then $k + $n else $k end;
def __without($k):
  if type == "object" then with_entries(select(.key != $k))
  elif type == "array" and ($k | type) == "number" then
    __at(length; $k) as $n | if $n < 0 then . else .[:$n] + .[$n + 1:] end
  elif type == "array" and ($k | type) == "object" then
    __at(length; $k.start // 0) as $from | __at(length; $k.end // length) as $to | .[:$from] + .[$to:]
  else delpaths([[$k]]) end;
def __delete($p):
  if ($p | length) == 0 then null
  elif ($p | length) == 1 then (if . == null then . else __without($p[0]) end)
  elif getpath($p[:-1]) == null then .
  else setpath([$p[0]]; getpath([$p[0]]) | __delete($p[1:])) end;
def delpaths($all): reduce ($all | unique | reverse | .[]) as $p (.; __delete($p));
def del(f): delpaths([path(f)]);
"""
_MOST = 100  # programs of a command that get them
_NAMES = re.compile(r"\b(?:INDEX\(|del\(|delpaths\()")
_PROGRAM = re.compile(
    r"\bjq\s(?:(?!\bjq\s)[^'\"|;&\n]|'[^']*'|\"(?:\\.|[^\"\\])*\")*?"
    r"(?:(?P<single>')(?=[^']*\b(?:INDEX|del|delpaths)\()|(?P<double>\")(?=(?:\\.|[^\"\\])*\b(?:INDEX|del|delpaths)\())",
    re.S,
)


def defined(command: str) -> str:
    """The command with those functions at the beginning of the programs for ``jq`` that call them."""
    return _PROGRAM.sub(_led, command, count=_MOST) if _NAMES.search(command) is not None else command


def _led(match: re.Match[str]) -> str:
    calls, behind = match.string, match.end()
    text = (_INDEX if calls.find("INDEX(", behind) >= 0 else "") + (
        _DELETE if calls.find("del", behind) >= 0 else ""
    )
    text = " ".join(text.split()) + " "
    return match[0] + (text if match["single"] else re.sub(r"[$\"\\`]", r"\\\g<0>", text))
