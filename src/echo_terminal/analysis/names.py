"""What readers see in place of a name in the settings: words, an order, a colour and a marker, the same everywhere.

The colours of the arms are Okabe and Ito's; weights of ECHO are blues, darker with λ. Starting policies have colours of
their own, so that blue is always ECHO and vermilion always GRPO.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

STARTS = {
    "base_small": ("Base, small", "#222222"),
    "base_medium": ("Base, medium", "#7570B3"),
    "sft": ("SFT start", "#8C564B"),
    "actobs": ("ActObs start", "#E7298A"),
}
OBJECTIVES = {  # in the order of legends
    "start": ("before RL", "#7F7F7F"),
    "grpo": ("GRPO", "#D55E00"),
    "grpo_tuned": ("GRPO, entropy bonus", "#F4A582"),
    "echo_001": ("", "#DEEBF7"),
    "echo_005": ("", "#C6DBEF"),
    "echo_01": ("", "#B5D3EA"),
    "echo_02": ("", "#9ECAE1"),
    "echo_05": ("", "#74B9E0"),
    "echo_1": ("", "#56B4E9"),
    "echo_2": ("", "#3690C8"),
    "echo": ("ECHO", "#0072B2"),
    "echo_5": ("", "#08306B"),
    "echo_ratio": ("ECHO, λ by gradient ratio", "#1B9E77"),
    "selected": ("ECHO, Z over its targets", "#66C2A5"),
    "token_mean": ("ECHO, mean over tokens", "#80CDC1"),
    "echo_full": ("ECHO, warnings too", "#44AA99"),
    "errors": ("ECHO, errors only", "#B3DE69"),
    "masked_facts": ("ECHO without facts", "#7B3294"),
    "shuffled": ("ECHO, shuffled outputs", "#A6761D"),
    "unrelated": ("ECHO, unrelated text", "#999933"),
    "silent_usage": ("ECHO, silent usage lines", "#C2A5CF"),
    "random_machine": ("ECHO, new machine a task", "#DFC27D"),
    "env_only": ("Env-only", "#009E73"),
}
FILTERS = {"none": ("all rollouts", "#009E73"), "clean": ("clean rollouts", "#E69F00")}
PLAIN = "#7F7F7F"  # of what has no colour of its own
MARKERS = {"start": "D", "grpo": "s", "echo": "o", "env_only": "^"}
OTHER_MARKERS = "v^P<>X"
WEIGHT = re.compile(r"echo_(\d+)")


def label(name: str) -> str:
    """The reader's name of a start or objective; ``echo_05`` is ECHO at λ = 0.05, the digits after the point."""
    if weight := WEIGHT.fullmatch(name):
        return f"ECHO, λ = 0.{weight[1]}"
    return (STARTS | OBJECTIVES).get(name, (name, ""))[0]


def colour_of(name: str) -> str:
    """The colour of a start or objective; grey for one that has none."""
    return (STARTS | OBJECTIVES).get(name, ("", PLAIN))[1]


def marker_of(name: str) -> str:
    """The marker of an objective: its own for the main arms, one of a few for the others."""
    known = [o for o in OBJECTIVES if o not in MARKERS]
    at = known.index(name) if name in known else len(known)
    return MARKERS.get(name) or OTHER_MARKERS[at % len(OTHER_MARKERS)]


def in_order(objectives: Iterable[str]) -> list[str]:
    """Objectives in the order of legends; unknown ones follow by name."""
    found = set(objectives)
    return [o for o in OBJECTIVES if o in found] + sorted(found - set(OBJECTIVES))
