"""Settings for every test: property tests draw the same examples on every machine, without a time limit."""

import functools
import os
import subprocess
from collections.abc import Generator

import pytest
from hypothesis import settings

from echo_terminal.terminal.terminal import EngineUnavailable

os.environ.setdefault("OMP_NUM_THREADS", "1")  # two workers on two cores: no threads on top

settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=50)
settings.load_profile("repeatable")


@functools.cache
def namespaces_are_allowed() -> bool:
    """Whether an ordinary user may make namespaces here, found without the code under test."""
    return subprocess.run(["unshare", "-Ur", "true"], capture_output=True).returncode == 0


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, None, None]:
    """Skip what turns out to need the sandbox where the system forbids one (programs in Python need it)."""
    try:
        yield
    except EngineUnavailable as reason:
        if namespaces_are_allowed():
            raise
        pytest.skip(str(reason))
