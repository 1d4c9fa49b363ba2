"""The paper: every figure, table and verdict of a profile, and the PDF whose numbers are filled in from them.

``build`` reads results alone (no checkpoint) and is what notebook 09_paper and ``make figures`` run. The template takes
every number from ``values.json``; one that is missing stops the build.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import typst
from matplotlib.figure import Figure

from echo_terminal.analysis import claims, extensions, figures, overview, render, style, tables, values
from echo_terminal.analysis import results as r
from echo_terminal.analysis.results import NotRun, Results


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
        "One rollout by token role, and the two terms that one forward pass feeds. A drawing, not a measurement.",
        "04_train",
    ),
    "figure2": Entry(
        figures.pass_curves,
        "Figure 2",
        "Pass rate over training from the base starts: mean over seeds, bands from the lowest to the highest seed.",
        "05_evaluate",
    ),
    "figure3": Entry(
        figures.heldout_ce,
        "Figure 3",
        "Held-out cross-entropy of terminal output on a fixed stronger agent's trajectories; whiskers span the seeds.",
        "06_heldout_ce",
    ),
    "figure4": Entry(
        figures.gap_closed,
        "Figure 4",
        "Share of the gap to the SFT start that ECHO closes without demonstrations; whiskers are 95 % intervals.",
        "05_evaluate",
    ),
    "figure5": Entry(
        figures.env_only,
        "Figure 5",
        "Training on the environment loss alone, without a verifier; bands are Wilson intervals of the attempts.",
        "07_verifier_free",
    ),
    "figure6": Entry(
        figures.warning_ce,
        "Figure 6",
        "Cross-entropy of harness warnings and of terminal output on the training rollouts, mean over seeds.",
        "06_heldout_ce",
    ),
    "figure7": Entry(
        figures.sft_curves,
        "Figure 7",
        "Pass rate over training from the SFT start: mean over seeds, bands from the lowest to the highest seed.",
        "05_evaluate",
    ),
    "families": Entry(
        extensions.families,
        "Figure 8",
        "Where ECHO helps and where it ties: gain over GRPO by task template, with 95 % intervals.",
        "05_evaluate",
    ),
    "controls": Entry(
        extensions.controls,
        "Figure 9",
        "Controls beside GRPO and ECHO: bars are means, whiskers 95 % intervals, points single seeds.",
        "05_evaluate",
    ),
    "helps": Entry(
        extensions.when_it_helps,
        "Figure 10",
        "Gain over GRPO against what was varied, with 95 % intervals.",
        "05_evaluate",
    ),
    "lambda": Entry(
        extensions.lambda_collapse,
        "Figure 11",
        "Pass rate and unfinished attempts against λ; bands are 95 % intervals.",
        "04_train",
    ),
    "gradients": Entry(
        extensions.gradients,
        "Figure 12",
        "Cosine and norm ratio of the two terms' gradients under ECHO; bands span the seeds. Norms are before λ.",
        "04_train",
    ),
    "prediction": Entry(
        extensions.ce_and_passing,
        "Figure 13",
        "Held-out cross-entropy and pass rate: a point is one run at one evaluated step.",
        "06_heldout_ce",
    ),
    "forecast": Entry(
        extensions.calibration,
        "Figure 14",
        "Forecast of a command's success against its frequency, all seeds; the dotted line is perfect calibration.",
        "08_behaviour",
    ),
}


class Built(NamedTuple):
    """What ``build`` wrote. ``not_run`` maps figures and tables that were left out to the rule."""

    figures: dict[str, Path]
    tables: dict[str, Path]
    claims: list[dict[str, Any]]
    not_run: dict[str, str]
    pdf: Path


def draw_figures(results: Results, published: Path, folder: Path) -> tuple[dict[str, Path], dict[str, str]]:
    """Draw every figure whose results exist: (SVG paths by name, rule by name of those left out)."""
    drawn, left_out = {}, {}
    for name, entry in FIGURES.items():
        try:
            figure = entry.draw(results, published)
        except NotRun as rule:
            left_out[name] = str(rule)
            continue
        drawn[name] = style.save(figure, name, folder)[1]
    return drawn, left_out


def write_tables(
    results: Results, published: Path, rows: list[dict[str, Any]], folder: Path
) -> tuple[dict[str, Path], dict[str, str]]:
    """Write every table whose results exist in four forms: (Typst paths by name, rule by name of the others)."""
    makers: dict[str, Callable[[], render.Table]] = {
        name: partial(make, results, published) for name, make in tables.TABLES.items()
    }
    makers["claims"] = partial(claims.table, rows)
    written, left_out = {}, {}
    for name, make in makers.items():
        try:
            table = make()
        except NotRun as rule:
            left_out[name] = str(rule)
            continue
        written[name] = render.write(table._replace(name=name), folder)[3]
    return written, left_out


def build(
    results_dir: Path,
    out_dir: Path,
    *,
    paper: Path = Path("paper"),
    settings: Mapping[str, object] | None = None,
) -> Built:
    """Make every figure, table and verdict of ``results_dir`` and the PDF, all below ``out_dir``.

    Writes ``figures/*.png, *.svg``, ``tables/*.csv, *.md, *.tex, *.typ``, ``claims.json``, ``values.json`` and
    ``paper.pdf``. ``settings`` are name → value pairs that the PDF shows as they are (λ, steps, …).

    Raises:
        FileNotFoundError, ValueError: a result file is missing or broken.
        RuntimeError: the template asks for a value that the results do not give.
    """
    results = r.load(results_dir)
    rows = claims.evaluate(claims.load(paper / "claims.yaml"), results)
    out_dir.mkdir(parents=True, exist_ok=True)
    claims.write(rows, out_dir / "claims.json")
    published = paper / "published"
    drawn, no_figure = draw_figures(results, published, out_dir / "figures")
    written, no_table = write_tables(results, published, rows, out_dir / "tables")
    filled = values.collect(results, rows, values.provenance(results_dir), settings or {})
    filled["figures"] = {
        name: {"title": e.title, "caption": e.caption, "notebook": e.notebook}
        | ({"file": f"figures/{name}.svg"} if name in drawn else {"not_run": no_figure[name]})
        for name, e in FIGURES.items()
    }
    filled["tables"] = {name: {"file": f"tables/{name}.typ"} for name in written}
    filled["tables"] |= {name: {"not_run": rule} for name, rule in no_table.items()}
    (out_dir / "values.json").write_text(
        json.dumps(filled, indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8"
    )
    pdf = compile_pdf(paper, out_dir)
    return Built(drawn, written, rows, no_figure | no_table, pdf)


def compile_pdf(paper: Path, out_dir: Path) -> Path:
    """Compile ``paper.typ`` against the files of ``out_dir``; no date, no fonts of the machine.

    Raises:
        RuntimeError: the template does not compile, for want of a value for instance.
    """
    for name in ("paper.typ", "references.bib"):
        shutil.copyfile(paper / name, out_dir / name)
    pdf = out_dir / "paper.pdf"
    try:
        typst.compile(out_dir / "paper.typ", output=pdf, root=out_dir, ignore_system_fonts=True, timestamp=0)
    except typst.TypstError as error:
        raise RuntimeError(f"paper.typ does not compile: {error}") from error
    for name in ("paper.typ", "references.bib"):
        (out_dir / name).unlink()
    return pdf
