"""Where things stand in the repository. Paths are relative to its root, which is the working directory of every stage.

results/<profile>/<stage>[/<item>]/   tables and figures, committed
results/<profile>/provenance/         one record a stage, committed
executed/<profile>/                   executed notebooks, committed
runs/<profile>/<stage>/               checkpoints and rollouts, not committed
"""

from __future__ import annotations

from pathlib import Path

from echo_terminal.pipeline.errors import UserError

DEFAULT_PROFILE = "cpu"


def find_root(start: Path | None = None) -> Path:
    """The repository: the nearest folder at or above ``start`` (the working directory) with the default pipeline.

    Raises:
        UserError: there is none.
    """
    start = (start or Path.cwd()).resolve()
    for folder in (start, *start.parents):
        if (folder / "params.yaml").is_file() and (folder / "notebooks").is_dir():
            return folder
    raise UserError(f"{start} is not inside the repository: change into it and run the command again")


def profile_folder(root: Path, profile: str) -> Path:
    """Folder with the profile's params.yaml and dvc.yaml, relative to ``root``.

    Raises:
        UserError: no such profile.
    """
    if profile == DEFAULT_PROFILE:
        return Path()
    folder = Path("profiles") / profile
    if not (root / folder / "params.yaml").is_file():
        raise UserError(f"no profile {profile!r}: choose one of {', '.join(profiles(root))}")
    return folder


def profiles(root: Path) -> list[str]:
    """Names of all profiles, the default first."""
    return [DEFAULT_PROFILE, *sorted(p.parent.name for p in root.glob("profiles/*/params.yaml"))]
