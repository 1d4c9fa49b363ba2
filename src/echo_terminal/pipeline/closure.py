"""What code a stage depends on: the modules that its notebook imports, and theirs, as files.

``python -m echo_terminal.pipeline.closure`` writes them into dvc.yaml (and derives the other profiles' files). A
change of the Docker engine then retrains nothing, and a change of the loss does. The pipeline's own modules are left
out: they run stages and make no numbers. Imports inside functions do not count (engines are imported when they are
opened); ``ALSO`` names what a stage uses without a top-level import.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

from echo_terminal.pipeline import dvcfile

PACKAGE = "echo_terminal"
LEFT_OUT = (f"{PACKAGE}.pipeline", f"{PACKAGE}.progress", f"{PACKAGE}.cli")
VIRTUAL = f"{PACKAGE}.terminal.virtual"
ALSO = {
    stage: (VIRTUAL,)
    for stage in ("03_starting_policies", "04_train", "05_evaluate", "06_heldout_ce", "07_verifier_free")
} | {
    "01_simulator": (VIRTUAL, f"{PACKAGE}.terminal.bubblewrap"),
    "02_tasks": (VIRTUAL,),
}
DATA = {  # module -> files that it reads or runs
    f"{PACKAGE}.terminal.python_sandbox": (
        "terminal/still_python.py",
        "terminal/still_modules.py",
        "terminal/zygote.py",
    ),
    f"{PACKAGE}.terminal.conformance": ("terminal/fixture.json", "terminal/differences.yaml"),
}


def imports(source: str) -> set[str]:
    """Modules of the package that ``source`` imports at its top level (names are tried as modules by ``closure``)."""
    found: set[str] = set()
    for node in ast.parse(source).body:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in found if name.startswith(f"{PACKAGE}.")}


def file_of(root: Path, module: str) -> Path | None:
    """The file of a module, relative to ``root``; None if the name is no module (a class, say)."""
    base = Path("src", *module.split("."))
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if (root / path).is_file():
            return path
    return None


def closure(root: Path, stage: str) -> list[str]:
    """Files below src/ on which the numbers of ``stage`` depend, sorted."""
    waiting = imports((root / f"notebooks/{stage}.py").read_text()) | set(ALSO.get(stage, ()))
    files: set[str] = set()
    seen: set[str] = set()
    while waiting:
        module = waiting.pop()
        path = None if module in seen or module.startswith(LEFT_OUT) else file_of(root, module)
        seen.add(module)
        if path is not None:
            files.add(path.as_posix())
            files |= {f"src/{PACKAGE}/{name}" for name in DATA.get(module, ())}
            waiting |= imports((root / path).read_text()) - seen
    return sorted(files)


def rewritten(root: Path) -> str:
    """dvc.yaml with the code dependencies of every stage as they are now."""
    parts = re.split(r"(?m)^(?=  \d\d_\w+:$)", (root / "dvc.yaml").read_text())
    result = [parts[0]]
    for part in parts[1:]:
        stage = part.split(":", 1)[0].strip()
        lines = [line for line in part.splitlines(keepends=True) if not line.startswith("      - src/")]
        at = next(i for i, line in enumerate(lines) if line.startswith(f"      - notebooks/{stage}.py")) + 1
        lines[at:at] = [f"      - {name}\n" for name in closure(root, stage)]
        result.append("".join(lines))
    return "".join(result)


if __name__ == "__main__":
    here = Path.cwd()
    (here / "dvc.yaml").write_text(rewritten(here))
    dvcfile.main()
