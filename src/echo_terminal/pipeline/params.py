"""All settings of a profile in one typed object, composed of the settings classes of the modules.

A params file is complete: every key stands in it (but those whose default is nothing), so that it shows the whole
truth about a run. ``Field`` constraints and defaults stand with the modules.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import yaml
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from echo_terminal.pipeline.errors import UserError

if TYPE_CHECKING:
    from echo_terminal.pipeline.sections import Params

_NUMBER = re.compile(r"[-+]?\d+(\.\d*)?([eE][-+]?\d+)?")


def read_params(path: Path) -> dict[str, Any]:
    """The values of a params file as they stand there, not checked: this imports no module that has settings.

    Raises:
        UserError: it is missing, no YAML, or no mapping.
    """
    try:
        data = yaml.load(path.read_text(), _StrictLoader)
    except FileNotFoundError:
        raise UserError(f"no params file {path}") from None
    except yaml.YAMLError as error:
        raise UserError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from None
    if not isinstance(data, dict):
        raise UserError(f"{path}: a params file is a mapping of keys to values")
    return data


def load_params(path: str | Path) -> Params:
    """Read and check a params file.

    Raises:
        UserError: it cannot be read, or a key is unknown, missing or of a wrong type; one line a fault.
    """
    from echo_terminal.pipeline.sections import Params

    path = Path(path)
    data = read_params(path)
    try:
        params = Params.model_validate(data)
    except ValidationError as error:
        raise UserError("\n".join(f"{path}: {line}" for line in describe(error, Params))) from None
    absent = missing_keys(params, data)
    if absent:
        raise UserError("\n".join(f"{path}: {line}" for line in absent))
    return params


def params_hash(data: dict[str, Any]) -> str:
    """Hex digest of all values of ``read_params`` (12 characters)."""
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:12]


def describe(error: ValidationError, root: type[BaseModel]) -> list[str]:
    """One line a fault, each with the key's dotted name and what to write in its place."""
    lines = []
    for fault in error.errors():
        loc = [str(part) for part in fault["loc"]]
        key, kind, value = ".".join(loc), fault["type"], fault["input"]
        if kind == "extra_forbidden":
            model = _model_at(root, loc[:-1])
            near = difflib.get_close_matches(loc[-1], model.model_fields if model else [], n=1, cutoff=0.0)
            prefix = "".join(f"{part}." for part in loc[:-1])
            hint = f"; the nearest valid key is {prefix}{near[0]}" if near else ""
            lines.append(f"unknown key {key}{hint}")
        elif kind == "missing":
            lines.append(f"missing key {key}: add it")
        elif isinstance(value, str) and "e" in value.lower() and _NUMBER.fullmatch(value):
            lines.append(f"{key}: {value!r} is text in YAML: write {_with_point(value)}")
        else:
            message = re.sub(r"^Value error, ", "", fault["msg"])
            lines.append(
                f"{key}: {message} (got {value!r})" if not isinstance(value, dict) else f"{key}: {message}"
            )
    return lines


def missing_keys(model: BaseModel, data: dict[str, Any], prefix: str = "") -> list[str]:
    """One line for each key that has a default in the code but does not stand in the file."""
    lines = []
    for name in type(model).model_fields:
        value, key = getattr(model, name), f"{prefix}{name}"
        if name not in data:
            if value is not None:
                shown = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
                lines.append(f"missing key {key}: add it (the usual value is {_yaml(shown)})")
        elif isinstance(value, BaseModel):
            lines += missing_keys(value, data[name], f"{key}.")
        elif isinstance(value, dict):
            for inner, item in value.items():
                if isinstance(item, BaseModel):
                    lines += missing_keys(item, data[name][inner], f"{key}.{inner}.")
    return lines


def _model_at(model: type[BaseModel], loc: list[str]) -> type[BaseModel] | None:
    """The settings class at a dotted place, through optional fields and mappings."""
    current: type[BaseModel] | None = model
    in_mapping = False
    for part in loc:
        if in_mapping:  # the name of an entry: its class is already known
            in_mapping = False
            continue
        if current is None or part not in current.model_fields:
            return None
        field = current.model_fields[part]
        current = _settings_class(field)
        in_mapping = str(field.annotation).startswith("dict[")
    return current


def _settings_class(field: FieldInfo) -> type[BaseModel] | None:
    candidates: list[Any] = [field.annotation]
    while candidates:
        kind = candidates.pop()
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return kind
        candidates += get_args(kind)
    return None


def _with_point(text: str) -> str:
    mantissa, exponent = re.split("[eE]", text)
    sign = exponent if exponent[0] in "+-" else f"+{exponent}"
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}e{sign}"


def _yaml(value: Any) -> str:
    return yaml.safe_dump(value, default_flow_style=True, width=10_000).removesuffix("...\n").strip()


class _StrictLoader(yaml.SafeLoader):
    """Refuses a key that is given twice, where YAML would silently take the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.YAMLError(f"line {node.start_mark.line + 1}: key {key} is given twice")
        return super().construct_mapping(node, deep)
