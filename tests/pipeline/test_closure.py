"""Every stage declares exactly the code that its numbers depend on."""

from pathlib import Path

from echo_terminal.pipeline.closure import closure, imports, rewritten

ROOT = Path(__file__).resolve().parents[2]


def test_dvc_yaml_is_in_step_with_the_imports() -> None:
    assert (ROOT / "dvc.yaml").read_text() == rewritten(ROOT), "run python -m echo_terminal.pipeline.closure"


def test_training_depends_on_the_loss_and_the_programs_and_not_on_docker_or_figures() -> None:
    files = closure(ROOT, "04_train")
    for name in (
        "training/loss.py",
        "training/batch.py",
        "terminal/programs/files/listing.py",
        "policy/engine.py",
    ):
        assert f"src/echo_terminal/{name}" in files
    for name in ("terminal/docker.py", "tasks/harbor.py", "analysis/figures.py", "pipeline/runner.py"):
        assert f"src/echo_terminal/{name}" not in files


def test_imports_inside_functions_do_not_count() -> None:
    source = "import os\nfrom echo_terminal.a import b\n\ndef f():\n    from echo_terminal import c\n"
    assert imports(source) == {"echo_terminal.a", "echo_terminal.a.b"}
