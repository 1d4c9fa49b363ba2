"""Every engine in turn, for the suites that hold on all of them; and the virtual one over a module's ``FILES``."""

import pytest

from echo_terminal.terminal.terminal import EngineUnavailable, open_terminal
from echo_terminal.terminal.virtual import VirtualTerminal


@pytest.fixture(scope="module", params=["virtual", "bubblewrap", "docker"])
def engine(request):
    """One object for a whole module: episodes are separated by ``reset`` alone. Skipped where it cannot run."""
    try:
        terminal = open_terminal(request.param)
    except EngineUnavailable as reason:
        pytest.skip(f"{request.param}: {reason}")
    yield terminal
    terminal.close()


@pytest.fixture
def terminal(request):
    """A fresh episode in the virtual engine with the files that the module names ``FILES``."""
    engine = VirtualTerminal()
    engine.reset(request.module.FILES, seed=0)
    return engine
