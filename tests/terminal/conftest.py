"""Every engine in turn, for the suites that hold on all of them."""

import pytest

from echo_terminal.terminal.terminal import EngineUnavailable, open_terminal


@pytest.fixture(scope="module", params=["virtual", "bubblewrap", "docker"])
def engine(request):
    """One object for a whole module: episodes are separated by ``reset`` alone. Skipped where it cannot run."""
    try:
        terminal = open_terminal(request.param)
    except EngineUnavailable as reason:
        pytest.skip(f"{request.param}: {reason}")
    yield terminal
    terminal.close()
