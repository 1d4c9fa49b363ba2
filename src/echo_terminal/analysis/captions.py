"""What the numbers of a figure or table rest on (seeds, tasks, tries), counted from the results, for its caption."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from echo_terminal.analysis import results as r
from echo_terminal.analysis.results import Results


def spans(values: Iterable[int]) -> str:
    """``3`` or ``3 to 5``."""
    found = sorted(set(values))
    return str(found[0]) if len(found) == 1 else f"{found[0]} to {found[-1]}"


def seeds_of(frame: pd.DataFrame) -> str:
    """Seeds a run of trained rows: ``3 seeds``."""
    trained = frame[frame["step"] > 0] if "step" in frame else frame
    count = spans(trained.groupby(["start", "objective"])["seed"].nunique())
    return f"{count} {'seed' if count == '1' else 'seeds'}"


def basis(results: Results) -> dict[str, str]:
    """The fields that captions name, from the frames that this profile has."""
    attempts, heldout = results.get("attempts"), results.get("heldout_ce")
    last = r.last_rows(attempts)
    tries = last.groupby(["suite", "task_id", "start", "objective", "seed"]).size()
    tasks = last.groupby("suite")["task_id"].nunique()
    fields = {
        "seeds": seeds_of(attempts),
        "ce_seeds": seeds_of(heldout),
        "tasks": ", ".join(f"{suite} {tasks[suite]}" for suite in results.suites),
        "tries": spans(tries),
        "ce_tokens": f"{int(heldout.drop_duplicates(['suite', 'token_class'])['n_tokens'].sum()):,}",
    }
    early = attempts[(attempts["step"] > 0) & ~attempts.index.isin(last.index)]
    if len(early):
        counts = early.groupby(["suite", "task_id", "start", "objective", "seed", "step"]).size()
        fields["curve_tries"] = spans(counts)
    else:
        fields["curve_tries"] = "no"
    if "verifier_free" in results.frames:
        fields["env_only_attempts"] = spans(results.frames["verifier_free"]["n"].astype(int))
    if "forecast" in results.frames:
        bins = results.frames["forecast"]
        fields["forecasts"] = f"{int(bins['count'].sum()):,}"
        fields["forecast_seeds"] = seeds_of(bins)
    for name in ("controls", "sweeps"):
        if name in results.frames:
            fields[f"{name}_seeds"] = seeds_of(results.frames[name])
    return fields
