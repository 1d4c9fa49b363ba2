"""Grade an episode: the checks of ``verify`` on the final state of a terminal, outside the agent's shell.

Imported tasks are graded by their own tests: ``imported_run``, which opens their terminals, registers how.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch

from echo_terminal.tasks.task import Playable, Task
from echo_terminal.tasks.verify import HOME, Verdict, judge
from echo_terminal.terminal.terminal import File, Terminal


@singledispatch
def grade(task: Playable, terminal: Terminal) -> Verdict:
    """Judge the final state of an episode on ``terminal``, which must not have been reset since.

    Checks of kind ``runs`` reset it: a graded episode cannot be continued.

    Raises:
        TypeError: nothing says how a task of this kind is graded.
    """
    raise TypeError(f"no rule grades a {type(task).__name__}")


@grade.register
def _(task: Task, terminal: Terminal) -> Verdict:
    home: dict[str, File] = {}

    def rerun(files: Mapping[str, bytes], command: str) -> tuple[int, bytes]:
        for path, entry in terminal.list(HOME).items() if not home else ():
            if entry.kind != "directory":
                home[path] = File(terminal.read(path) or b"", entry.mode, link=entry.target)
        pristine = {p: f for p, f in task.files.items() if not p.startswith(f"{HOME}/")}
        terminal.reset(pristine | home | {p: File(c) for p, c in files.items()}, task.seed)
        seen = terminal.run(command)
        return seen.exit_code, seen.stdout.encode()

    pristine = {path: file.content for path, file in task.files.items()}
    return judge([(c.kind, c.path, c.value) for c in task.checks], pristine, terminal, rerun)
