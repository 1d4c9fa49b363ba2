"""Runs one stage: its percent file becomes a notebook, papermill executes it, and only a success is put in place.

    python -m echo_terminal.pipeline.runner 04_train --params params.yaml -p start=base -p objective=echo -p seed=0

A run fails, and leaves nothing that looks like a result, if a parameter is unknown, unread, of a wrong type or did not
arrive; if an output is missing or empty; or if code, settings or inputs changed while it ran.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbformat
import papermill
import yaml
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell
from papermill.exceptions import PapermillExecutionError

from echo_terminal.pipeline import notebook as percent
from echo_terminal.pipeline import provenance
from echo_terminal.pipeline.dvcfile import StageSpec, content_hash, find_stage, inputs, stage_key
from echo_terminal.pipeline.errors import UserError, exit_status, os_error_line
from echo_terminal.pipeline.layout import find_root
from echo_terminal.pipeline.locks import keep_lock_file
from echo_terminal.pipeline.params import params_hash, read_params
from echo_terminal.pipeline.processes import RUN_VARIABLE, allow_open_files, die_with_parent, lead_the_run
from echo_terminal.pipeline.stage import OPENED, STAGING_VARIABLE, pipeline_of
from echo_terminal.progress import LOG_VARIABLE

KERNEL = "echo-terminal"
# One thread and one hash seed: sums and the order of sets are then the same in every run.
KERNEL_ENVIRONMENT = {
    "PYTHONHASHSEED": "0",
    "OMP_NUM_THREADS": "1",
    "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
}


def run_stage(root: Path, stage: str, params_file: str, item: dict[str, Any]) -> None:
    """Execute a stage and put its outputs in place.

    Raises:
        UserError: see the module's text; outputs of an earlier run are then untouched.
    """
    started = time.monotonic()
    params = read_params(root / params_file)  # the notebook checks it, when it opens its stage
    spec = find_stage(pipeline_of(root, params_file, params), stage, item)
    profile = params["profile"]
    source = percent.read(root / f"notebooks/{stage}.py")
    declared = percent.parameters(source, f"notebooks/{stage}.py")
    values = {"params_file": params_file, **item}
    percent.check_values(declared, values, f"notebooks/{stage}.py")
    before = inputs(root, spec, params)
    record = {
        "stage": stage,
        "item": item,
        "params_file": params_file,
        "params_hash": params_hash(params),
        "key": stage_key(root, spec, params),
        "seed": item.get("seed", params["seed"]),
        **provenance.collect(root),
    }
    staging = root / ".staging" / profile / spec.name
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir(parents=True)
    percent.add_header(source, provenance.markdown(record))
    log = root / "logs" / profile / f"{spec.name}.log"
    executed = _execute(source, values, root, staging, log, spec)
    if not (staging / OPENED).is_file():
        raise UserError(f"notebooks/{stage}.py never called Stage.open: its parameters have no effect")
    check_arrived(values, json.loads((staging / OPENED).read_text()), stage)
    check_unchanged(before, inputs(root, spec, read_params(root / params_file)), stage)
    seconds = time.monotonic() - started
    executed.cells.append(new_markdown_cell(f"Wall time: {seconds:.0f} s"))
    nbformat.write(percent.normalise(executed, root), staging / "executed.ipynb")
    targets = _outputs(spec, profile)
    check_outputs(root, staging, spec, targets)
    record["outputs"] = {targets["results"]: content_hash(staging / "results")}
    record["wall_seconds"] = round(seconds, 1)
    (staging / "provenance.json").write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    for part, target in (
        ("results", "results"),
        ("executed.ipynb", "executed"),
        ("provenance.json", "provenance"),
    ):
        _put(staging / part, root / targets[target])
    shutil.rmtree(staging)


def _execute(
    source: NotebookNode, values: dict[str, Any], root: Path, staging: Path, log: Path, spec: StageSpec
) -> NotebookNode:
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("")
    for name, value in KERNEL_ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    os.environ |= {STAGING_VARIABLE: str(staging), LOG_VARIABLE: str(log)}
    _install_kernel(staging / "jupyter")
    try:
        with _shown(log, spec.name):
            return papermill.execute_notebook(
                source,
                str(staging / "executed.ipynb"),
                parameters=values,
                kernel_name=KERNEL,
                language="python",
                cwd=str(root),
                progress_bar=False,
                log_output=False,
                start_timeout=300,
                coalesce_streams=True,
            )
    except PapermillExecutionError as error:
        with log.open("a") as file:
            file.write("\n".join(error.traceback) + "\n")
        places = f"traceback in {log.relative_to(root)}, notebook so far in {staging.relative_to(root)}/executed.ipynb"
        raise UserError(f"{spec.name}{explain(error.ename, error.evalue, places)}") from None


def explain(kind: str, message: str, places: str) -> str:
    """What to say of an exception in a notebook: user errors and full disks plainly, others with where to look."""
    if kind == "UserError":
        return f": {message}"
    number = re.match(r"\[Errno (\d+)\]", message)
    if number and (line := os_error_line(OSError(int(number[1]), message))):
        return f": {line}"
    return f" failed: {kind}: {message.splitlines()[0] if message else ''} ({places})"


def _install_kernel(folder: Path) -> None:
    """A kernel that is this interpreter, whatever kernels and settings the user has."""
    spec = folder / "kernels" / KERNEL
    spec.mkdir(parents=True)
    argv = [sys.executable, "-m", "ipykernel_launcher", "--log-level=ERROR", "-f", "{connection_file}"]
    (spec / "kernel.json").write_text(
        json.dumps({"argv": argv, "display_name": "Python 3", "language": "python"})
    )
    os.environ |= {
        "JUPYTER_PATH": str(folder),
        "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
        "JUPYTER_CONFIG_DIR": str(folder / "config"),
        "IPYTHONDIR": str(folder / "ipython"),
    }


@contextmanager
def _shown(log: Path, name: str) -> Iterator[None]:
    """Copy new lines of the log to the terminal while the block runs."""
    finished = threading.Event()

    def follow() -> None:
        with log.open() as file:
            while True:
                last = finished.is_set()
                for line in file:
                    print(f"{name} | {line.rstrip()}", flush=True)
                if last:
                    return
                finished.wait(0.5)

    thread = threading.Thread(target=follow)
    thread.start()
    try:
        yield
    finally:
        finished.set()
        thread.join()


def check_arrived(requested: dict[str, Any], arrived: dict[str, Any], stage: str) -> None:
    """The notebook ran with what was asked for.

    Raises:
        UserError: it did not.
    """
    for name, value in requested.items():
        if name not in arrived or arrived[name] != value:
            raise UserError(
                f"notebooks/{stage}.py: {name} = {value!r} was asked for, but the notebook ran with "
                f"{arrived.get(name)!r}: it must pass {name} on to Stage.open and not assign it again"
            )


def check_unchanged(before: dict[str, str], after: dict[str, str], stage: str) -> None:
    """Settings, code and inputs are at the end what they were at the start.

    Raises:
        UserError: they are not.
    """
    changed = [name for name in before if before[name] != after.get(name)]
    if changed:
        raise UserError(
            f"stage {stage}: {', '.join(changed)} changed while it ran; its outputs are dropped: run it again"
        )


def _outputs(spec: StageSpec, profile: str) -> dict[str, str]:
    """Places of the three outputs that every stage has, as dvc.yaml must declare them."""
    targets = {
        "results": f"results/{profile}/{spec.stage}" + (f"/{spec.key}" if spec.item else ""),
        "executed": f"executed/{profile}/{spec.name}.ipynb",
        "provenance": f"results/{profile}/provenance/{spec.name}.json",
    }
    for target in targets.values():
        if target not in spec.outs:
            raise UserError(f"stage {spec.stage} does not declare {target}: add it to its outs in dvc.yaml")
    return targets


def check_outputs(root: Path, staging: Path, spec: StageSpec, targets: dict[str, str]) -> None:
    written = [p for p in (staging / "results").rglob("*") if p.is_file()]
    empty = [str(p.relative_to(staging / "results")) for p in written if p.stat().st_size == 0]
    if not written or empty:
        raise UserError(
            f"stage {spec.stage} wrote nothing to {targets['results']} ({', '.join(empty) or 'no file'})"
        )
    for out in set(spec.outs) - set(targets.values()):
        path = root / out
        if not (path.is_file() and path.stat().st_size) and not (path.is_dir() and any(path.iterdir())):
            raise UserError(f"stage {spec.stage} wrote nothing to {out}")


def _put(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.is_dir():
        shutil.rmtree(target)
    os.replace(source, target)


def main(argv: list[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="echo_terminal.pipeline.runner")
    parser.add_argument("stage")
    parser.add_argument("--params", default="params.yaml", metavar="FILE")
    parser.add_argument("-p", action="append", default=[], metavar="NAME=VALUE", dest="values")
    arguments = parser.parse_args(argv)
    die_with_parent()
    of_a_run = RUN_VARIABLE in os.environ
    lead_the_run()
    allow_open_files()

    def work() -> None:
        item = {}
        for text in arguments.values:
            name, equals, value = text.partition("=")
            if not equals:
                raise UserError(f"-p {text}: write -p NAME=VALUE")
            item[name] = yaml.safe_load(value)
        root = find_root()
        if of_a_run:
            keep_lock_file(root, Path(arguments.params).parent)
        run_stage(root, arguments.stage, arguments.params, item)

    return exit_status(work, f"interrupted: {arguments.stage} left no result; what it trained is kept")


if __name__ == "__main__":
    sys.exit(main())
