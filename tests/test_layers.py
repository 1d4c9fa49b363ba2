"""Arrows run downward only: no package imports one above it when it is loaded."""

import pytest

from echo_terminal.pipeline.closure import imports
from echo_terminal.pipeline.layout import find_root

PACKAGES = "terminal tasks agent policy training evaluation lake analysis scale_out pipeline".split()
SOURCE = find_root() / "src/echo_terminal"
FILES = sorted(path for package in PACKAGES for path in (SOURCE / package).rglob("*.py"))


@pytest.mark.parametrize("package", PACKAGES)
def test_no_package_imports_one_above_it(package: str) -> None:
    above = PACKAGES[PACKAGES.index(package) + 1 :]
    upward = [
        f"{path.relative_to(SOURCE)} imports {name}"
        for path in FILES
        if path.relative_to(SOURCE).parts[0] == package
        for name in imports(path.read_text())
        if name.split(".")[1:2] and name.split(".")[1] in above
    ]
    assert upward == []
