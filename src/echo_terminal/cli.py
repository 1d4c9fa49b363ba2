"""The command line: what people do by hand. Modules are imported by the commands that need them, so help is quick."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Annotated

import typer

from echo_terminal.pipeline.errors import UserError, exit_status

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)
# Commands that their modules define: name, function, and the help that is shown before the module is loaded.
MODULES = (
    ("play", "echo_terminal.tasks.play:play_command", "Play a task by hand in a terminal."),
    (
        "conformance",
        "echo_terminal.terminal.conformance:conformance",
        "Compare two terminal engines on a corpus.",
    ),
    (
        "replay",
        "echo_terminal.lake.replayed:replay_command",
        "Run again what policies typed in their evaluation: as recorded, and as in real bash?",
    ),
    ("export-harbor", "echo_terminal.tasks.harbor:export_command", "Write a suite as Harbor task folders."),
    (
        "check-harbor",
        "echo_terminal.tasks.harbor_check:check_command",
        "Let the real Harbor judge one exported task of every template.",
    ),
    (
        "import-tasks",
        "echo_terminal.tasks.imported_run:import_command",
        "Read foreign tasks: what can run them.",
    ),
    (
        "serve-benchmark",
        "echo_terminal.scale_out.benchmark:benchmark_command",
        "Serve a checkpoint with vLLM, run a benchmark through Harbor, import it.",
    ),
    ("import-job", "echo_terminal.scale_out.jobs:import_command", "Turn a job of Harbor into our tables."),
    ("plan", "echo_terminal.scale_out.plan:plan_command", "What a profile costs: tokens, memory, GPU-hours."),
)
Profile = Annotated[
    str, typer.Option(help="smoke, cpu, sweep, medium, silent, random, cpu-full, h200 or cluster")
]


@app.callback()
def _about() -> None:
    """Tools around the echo-terminal pipeline; `make repro` runs the pipeline itself."""


@app.command()
def params(
    profile: Profile = "cpu", show: Annotated[bool, typer.Option(help="print every value")] = False
) -> None:
    """Check a profile's settings; print their hash."""
    import yaml

    from echo_terminal.pipeline.layout import find_root, profile_folder
    from echo_terminal.pipeline.params import load_params, params_hash, read_params

    root = find_root()
    file = profile_folder(root, profile) / "params.yaml"
    loaded = load_params(root / file)
    if show:
        typer.echo(yaml.safe_dump(loaded.model_dump(mode="json"), sort_keys=False), nl=False)
    typer.echo(f"{file}: hash {params_hash(read_params(root / file))}")


@app.command()
def digest(
    profile: Profile = "cpu", tables: Annotated[bool, typer.Option(help="one line a table, too")] = False
) -> None:
    """Print the digest of a profile's result tables."""
    from echo_terminal.pipeline import digest as digests
    from echo_terminal.pipeline.layout import find_root, profile_folder

    root = find_root()
    profile_folder(root, profile)
    folder = root / "results" / profile
    if not folder.is_dir():
        raise UserError(f"no results of {profile}: run make repro PROFILE={profile}")
    if tables:
        for name, value in digests.table_digests(folder).items():
            typer.echo(f"{value[:16]}  {name}")
    typer.echo(f"results/{profile}: digest {digests.digest(folder)}")


@app.command()
def bench(names: Annotated[list[str] | None, typer.Argument(help="all, without a name")] = None) -> None:
    """Run benchmarks (all, or those named), print a table, put the rows into results/bench.json."""
    from echo_terminal.pipeline import bench as benches
    from echo_terminal.pipeline.layout import find_root

    root = find_root()
    rows = benches.run(root, names or ())
    typer.echo(f"results/bench.json: {benches.summary(rows)}")


@app.command("score-ce")
def score_ce(
    policy: Annotated[Path, typer.Option(help="folder of a policy (Hugging Face layout)")],
    trajectories: Annotated[
        Path, typer.Option(help="JSON Lines of transcripts, a Harbor trajectory or job folder")
    ],
    out: Annotated[Path | None, typer.Option(help="write the table here (CSV)")] = None,
    max_tokens: Annotated[int | None, typer.Option(help="cut longer trajectories")] = None,
) -> None:
    """Cross-entropy of the terminal's output in anyone's trajectories under a policy."""
    from echo_terminal.evaluation.score_ce import score_ce as score

    try:
        lines = score(policy, trajectories, out, max_tokens)
    except (FileNotFoundError, ValueError) as error:
        raise UserError(str(error)) from error
    typer.echo("\n".join(lines))


def _delegate(name: str, target: str, text: str) -> None:
    """Register a command that loads its module only when it is called, and hands all its arguments over."""

    @app.command(name, help=text, add_help_option=False, context_settings=_EVERYTHING)
    def command(context: typer.Context) -> None:
        module, _, function = target.partition(":")
        inner = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        inner.command()(getattr(importlib.import_module(module), function))
        inner(args=context.args, prog_name=f"echo-terminal {name}")


_EVERYTHING = {"allow_extra_args": True, "ignore_unknown_options": True}
for _entry in MODULES:
    _delegate(*_entry)


def main() -> None:
    """Entry point: errors that are the user's to mend are one line."""
    sys.exit(exit_status(app))


if __name__ == "__main__":
    main()
