"""Every figure: how it is drawn, its title, its caption, and the notebook that made its numbers.

Captions name fields in braces, which ``analysis.captions`` counts from the results.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from matplotlib.figure import Figure

from echo_terminal.analysis import budget, extensions, figures, overview, worlds
from echo_terminal.analysis.results import Results


class Entry(NamedTuple):
    """A figure: how it is drawn, its title, its caption, and the notebook that made its numbers."""

    draw: Callable[[Results, Path], Figure]
    title: str
    caption: str
    notebook: str


def _overview(results: Results, paper: Path) -> Figure:
    return overview.overview()


FIGURES: dict[str, Entry] = {
    "figure1": Entry(
        _overview,
        "Figure 1",
        "One rollout by token role, and the two terms that one forward pass feeds. A drawing, not a "
        "measurement.",
        "04_train",
    ),
    "figure2": Entry(
        figures.pass_curves,
        "Figure 2",
        "Pass rate over training from the base starts. Lines: mean over {seeds}; bands: lowest to highest "
        "seed. Tasks: {tasks}; {tries} tries a task at the end, {curve_tries} before. Hollow marks: the "
        "paper's final rates on its own suites, another scale.",
        "05_evaluate",
    ),
    "figure3": Entry(
        figures.heldout_ce,
        "Figure 3",
        "Held-out cross-entropy of {ce_tokens} observation tokens of a fixed stronger agent. Bars: mean over "
        "{ce_seeds}; whiskers: lowest to highest seed. The paper prints no value after GRPO. Panels differ in"
        " scale.",
        "06_heldout_ce",
    ),
    "figure4": Entry(
        figures.gap_closed,
        "Figure 4",
        "Share of the gap to the SFT start that ECHO closes without demonstrations; {seeds}; whiskers: 95 % "
        "intervals.",
        "05_evaluate",
    ),
    "figure5": Entry(
        figures.env_only,
        "Figure 5",
        "Training on the environment loss alone, without a verifier: one run, {env_only_attempts} attempts a "
        "point; bands: Wilson's 95 % intervals. Dotted: the start plus the change that the paper prints for its "
        "suite, another scale.",
        "07_verifier_free",
    ),
    "figure6": Entry(
        figures.warning_ce,
        "Figure 6",
        "Cross-entropy of harness warnings and of terminal output on the training rollouts. Lines: mean over "
        "{seeds}; bands: lowest to highest seed.",
        "06_heldout_ce",
    ),
    "figure7": Entry(
        figures.sft_curves,
        "Figure 7",
        "Pass rate over training from the SFT start. Lines: mean over {seeds}; bands: lowest to highest seed."
        " Hollow marks: the paper's final rates.",
        "05_evaluate",
    ),
    "when": Entry(
        worlds.when,
        "Figure 8",
        "When does it help: pass rates of both arms and the gain over GRPO as a function of what outputs "
        "reveal, from one start; 95 % intervals over seeds and tasks, small points single seeds. Silent usage "
        "lines and a new machine for every task are profiles of their own, with a base of their own.",
        "05_evaluate",
    ),
    "families": Entry(
        extensions.families,
        "Figure 9",
        "Where ECHO helps and where it does not: gain over GRPO by task template, {seeds}, {tries} tries a "
        "task, 95 % intervals over seeds and tasks. val and itd play on the training machine, itd_machine on "
        "machines never seen.",
        "05_evaluate",
    ),
    "controls": Entry(
        extensions.controls,
        "Figure 10",
        "Controls beside GRPO and ECHO, {controls_seeds}: means with 95 % intervals over seeds and tasks, small "
        "points single seeds, dotted ECHO's mean. Suites on which no attempt passes are left out.",
        "05_evaluate",
    ),
    "objectives": Entry(
        extensions.objectives,
        "Figure 11",
        "Gain over GRPO of every other objective that was run, {seeds}, 95 % intervals over seeds and tasks.",
        "05_evaluate",
    ),
    "lambda": Entry(
        extensions.lambda_collapse,
        "Figure 12",
        "Pass rate and unfinished attempts against λ, {sweeps_seeds}; λ = 0 is GRPO; bands: 95 % intervals "
        "over seeds and tasks.",
        "05_evaluate",
    ),
    "gradients": Entry(
        extensions.gradients,
        "Figure 13",
        "Cosine of the two terms' gradients under ECHO, and the norm of the environment term's, before λ, "
        "over the policy term's; {seeds}, bands: lowest to highest.",
        "04_train",
    ),
    "prediction": Entry(
        extensions.ce_and_passing,
        "Figure 14",
        "Held-out cross-entropy and pass rate: a point is one run at one evaluated step; {ce_seeds}. Suites "
        "on which no attempt passes are left out.",
        "06_heldout_ce",
    ),
    "forecast": Entry(
        extensions.calibration,
        "Figure 15",
        "Forecast of a command's success against its frequency: {forecasts} forecasts over {forecast_seeds}; "
        "areas grow with the number of forecasts; dotted: perfect calibration.",
        "06_heldout_ce",
    ),
    "budget": Entry(
        budget.budget,
        "Figure 16",
        "Pass rate on the first suite against the turn budget, {seeds}, {tries} tries a task: the attempts of the "
        "evaluation cut short, which their prompts do not tell; bands: 95 % intervals over seeds and tasks.",
        "05_evaluate",
    ),
}
