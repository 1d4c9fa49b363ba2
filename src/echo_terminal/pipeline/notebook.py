"""Percent files as notebooks: the checks before a run, the clean-up after it."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import jupytext
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell
from pydantic import TypeAdapter, ValidationError

from echo_terminal.pipeline.errors import UserError

_CELL_FILE = re.compile(r"(/[\w.\-]+)+/ipykernel_\d+/\d+\.py")
_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}\b")


def read(path: Path) -> NotebookNode:
    """A percent file as a notebook in memory.

    Raises:
        UserError: it is missing.
    """
    if not path.is_file():
        raise UserError(f"{path} is missing: restore it with git checkout {path}")
    return jupytext.reads(path.read_text(), fmt="py:percent")


def parameters(notebook: NotebookNode, name: str) -> dict[str, tuple[Any, Any]]:
    """Names, types and defaults in the one cell tagged ``parameters``.

    The type is the annotation where there is one, else the type of the default.

    Raises:
        UserError: no such cell or several, something other than assignments in it, or a parameter that no later cell
            reads.
    """
    tagged = [i for i, c in enumerate(notebook.cells) if "parameters" in c.metadata.get("tags", [])]
    if len(tagged) != 1:
        raise UserError(
            f'{name}: one cell must have the tag "parameters", {len(tagged)} have: mark it # %% tags=["parameters"]'
        )
    found: dict[str, tuple[Any, Any]] = {}
    for node in ast.parse(notebook.cells[tagged[0]].source).body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            kind = eval(ast.unparse(node.annotation), {})  # built-in types of our own source file
            found[node.target.id] = kind, ast.literal_eval(node.value)
        elif (
            isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)
        ):
            value = ast.literal_eval(node.value)
            if value is None:
                raise UserError(f"{name}: parameter {node.targets[0].id} = None needs a type: annotate it")
            found[node.targets[0].id] = type(value), value
        else:
            raise UserError(
                f"{name}: the parameters cell may hold assignments of plain values alone, not {ast.unparse(node)!r}"
            )
    later = "\n".join(_python(c.source) for c in notebook.cells[tagged[0] + 1 :] if c.cell_type == "code")
    read_names = {
        n.id for n in ast.walk(ast.parse(later)) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
    }
    unread = sorted(set(found) - read_names)
    if unread:
        raise UserError(f"{name}: no cell reads the parameter {unread[0]}: use it or remove it")
    return found


def check_values(declared: dict[str, tuple[Any, Any]], given: dict[str, Any], name: str) -> None:
    """Every given value has a declared name and its type.

    Raises:
        UserError: the first that does not.
    """
    for key, value in given.items():
        if key not in declared:
            raise UserError(f"{name} has no parameter {key!r}: choose one of {', '.join(declared)}")
        kind = declared[key][0]
        try:
            TypeAdapter(kind).validate_python(value, strict=True)
        except ValidationError:
            shown = getattr(kind, "__name__", str(kind))
            raise UserError(f"{name}: parameter {key} must be {shown}, got {value!r}") from None


def add_header(notebook: NotebookNode, text: str) -> None:
    """Put a markdown cell behind the title (or first, where there is no title)."""
    place = 1 if notebook.cells and notebook.cells[0].cell_type == "markdown" else 0
    notebook.cells.insert(place, new_markdown_cell(text))


def normalise(notebook: NotebookNode, root: Path) -> NotebookNode:
    """Drop what differs between two runs of the same thing: times, ids, absolute paths, memory addresses."""
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    notebook.nbformat_minor = 5
    for index, cell in enumerate(notebook.cells):
        cell.id = f"cell-{index:03d}"
        tags = cell.metadata.get("tags", [])
        cell.metadata = {"tags": tags} if tags else {}
        for output in cell.get("outputs", []):
            if "metadata" in output:
                output.metadata = {}
            if "text" in output:
                output.text = scrub(output.text, root)
            for mime, data in output.get("data", {}).items():
                if isinstance(data, str) and mime.startswith("text/"):
                    output.data[mime] = scrub(data, root)
    return notebook


def scrub(text: str, root: Path) -> str:
    """Paths relative to the repository, no memory addresses, no names of temporary files."""
    return _ADDRESS.sub("0x…", _CELL_FILE.sub("<cell>", text.replace(f"{root}/", "").replace(str(root), ".")))


def _python(source: str) -> str:
    """A cell without the magics that ``ast`` cannot parse."""
    return "\n".join(line for line in source.splitlines() if not line.lstrip().startswith(("%", "!")))
