"""The paper: every figure, table and verdict of a profile, and the PDF whose numbers are filled in from them.

``build`` reads results alone (no checkpoint) and is what notebook 09_paper and ``make figures`` run. The template takes
every number from ``values.json``; one that is missing stops the build.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import typst

from echo_terminal.analysis import captions, claims, render, style, tables, values, verdicts
from echo_terminal.analysis import results as r
from echo_terminal.analysis.catalogue import FIGURES
from echo_terminal.analysis.results import NotRun, Results


class Built(NamedTuple):
    """What ``build`` wrote. ``claims`` are the profile's own, ``captions`` the figures' as filled in; ``not_run`` maps
    figures and tables that were left out to the rule."""

    figures: dict[str, Path]
    tables: dict[str, Path]
    claims: list[dict[str, Any]]
    captions: dict[str, dict[str, str]]
    not_run: dict[str, str]
    pdf: Path


def draw_figures(
    sources: Sequence[Results], published: Path, folder: Path
) -> tuple[dict[str, Path], dict[str, dict[str, str]]]:
    """Draw every figure from the first source that has its results.

    Returns: SVG paths by name; and for every figure what its caption says, or ``not_run`` with the first source's rule.
    """
    drawn: dict[str, Path] = {}
    said: dict[str, dict[str, str]] = {}
    fields = [captions.basis(source) for source in sources]
    for name, entry in FIGURES.items():
        said[name] = {"title": entry.title, "notebook": entry.notebook}
        for source, counted in zip(sources, fields, strict=True):
            try:
                figure = entry.draw(source, published)
            except NotRun as rule:
                said[name].setdefault("not_run", str(rule))
                continue
            drawn[name] = style.save(figure, name, folder)[1]
            said[name] |= {"file": f"figures/{name}.svg", "profile": source.profile}
            said[name]["caption"] = entry.caption.format_map(counted)
            said[name].pop("not_run", None)
            break
    return drawn, said


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

    Claims and figures that this profile does not run are taken from other profiles whose results stand beside
    ``results_dir``, each named; ``claims.json`` and the tables are of this profile alone.

    Writes ``figures/*.png, *.svg``, ``tables/*.csv, *.md, *.tex, *.typ``, ``claims.json``, ``values.json`` and
    ``paper.pdf``. ``settings`` are name → value pairs that the PDF shows as they are (λ, steps, …).

    Raises:
        FileNotFoundError, ValueError: a result file is missing or broken.
        RuntimeError: the template asks for a value that the results do not give.
    """
    results = r.load(results_dir)
    others = verdicts.other_profiles(results_dir)
    rows = claims.evaluate(claims.load(paper / "claims.yaml"), results)
    out_dir.mkdir(parents=True, exist_ok=True)
    claims.write(rows, out_dir / "claims.json")
    published = paper / "published"
    sources = [results, *(r.load(folder) for folder in others)]
    drawn, said = draw_figures(sources, published, out_dir / "figures")
    written, no_table = write_tables(results, published, rows, out_dir / "tables")
    shown = verdicts.completed(
        results.profile, rows, {folder.name: verdicts.read(folder) for folder in others}
    )
    filled = values.collect(results, shown, values.provenance(results_dir), settings or {})
    filled["figures"] = said
    filled["tables"] = {name: {"file": f"tables/{name}.typ"} for name in written}
    filled["tables"] |= {name: {"not_run": rule} for name, rule in no_table.items()}
    (out_dir / "values.json").write_text(
        json.dumps(filled, indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8"
    )
    pdf = compile_pdf(paper, out_dir)
    no_figure = {name: text["not_run"] for name, text in said.items() if "not_run" in text}
    return Built(drawn, written, rows, said, no_figure | no_table, pdf)


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
