"""Killed anywhere, resumed, and nobody can tell."""

import multiprocessing
import os
import random
import signal
from pathlib import Path

import numpy as np
import pytest
import torch

from echo_terminal.training import checkpoint
from echo_terminal.training.checkpoint import latest_checkpoint, load_checkpoint, save_checkpoint

STEPS = 6


def train(folder: Path, out: Path, kill_at: int, kill_in: str) -> None:
    """A run that uses every source of chance; SIGKILL at ``kill_in`` once ``kill_at`` updates are done."""
    torch.manual_seed(0)
    np.random.seed(0)
    random.seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Dropout(0.5), torch.nn.Linear(4, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1, foreach=True)
    data, step, total = np.random.default_rng(7), 0, 0.0
    parts = {"run_key": "k", "model": model, "optimizer": optimizer, "generators": {"data": data}}

    def deadly(function):
        def wrapped(*args, **kwargs):
            if step == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*args, **kwargs)

        return wrapped

    where = {"write": (checkpoint, "save_file"), "flush": (checkpoint, "_flush"), "rename": (os, "rename")}
    if kill_in in where:
        module, name = where[kill_in]
        setattr(module, name, deadly(getattr(module, name)))
    elif kill_in == "prune":
        checkpoint.shutil.rmtree = deadly(checkpoint.shutil.rmtree)
    if (path := latest_checkpoint(folder)) is not None:
        resumed = load_checkpoint(path, **parts)
        step, total = resumed.step, resumed.extra["total"]
    while step < STEPS:
        x = torch.from_numpy(data.normal(size=(5, 3))).float() + random.random() + np.random.rand()
        loss = model(x + torch.randn(5, 3)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step, total = step + 1, total + loss.item()
        if kill_in == "train" and step == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        save_checkpoint(folder, step=step, extra={"total": total}, **parts)
    weights = torch.cat([p.detach().flatten() for p in model.parameters()]).tolist()
    out.write_text(repr([weights, total, random.random(), np.random.rand(), torch.rand(1).item()]))


@pytest.fixture(autouse=True, scope="module")
def warm() -> None:
    """The first optimiser imports much of torch: once here, not in every forked run."""
    torch.optim.AdamW([torch.nn.Parameter(torch.zeros(1))])


def run(folder: Path, out: Path, kill_at: int = 0, kill_in: str = "never") -> int | None:
    process = multiprocessing.get_context("fork").Process(target=train, args=(folder, out, kill_at, kill_in))
    process.start()
    process.join(60)
    return process.exitcode


@pytest.mark.parametrize("place", ["train", "write", "flush", "rename", "prune"])
def test_killed_and_resumed_runs_are_bit_identical(tmp_path, place):
    assert run(tmp_path / "a", tmp_path / "undisturbed") == 0
    undisturbed = (tmp_path / "undisturbed").read_text()
    assert len(undisturbed) > 100
    points = list(range(3 if place == "prune" else 1, STEPS))  # nothing is pruned before the third
    for kill_at in random.Random(place).sample(points, 2):
        folder, out = tmp_path / f"killed-at-{kill_at}", tmp_path / f"resumed-{kill_at}"
        assert run(folder, out, kill_at, place) == -signal.SIGKILL
        assert not out.exists()
        assert run(folder, out) == 0
        assert out.read_text() == undisturbed
        assert sorted(p.name for p in folder.iterdir()) == [f"step-{s:06d}" for s in (STEPS - 1, STEPS)]


def test_killed_again_and_again(tmp_path):
    assert run(tmp_path / "a", tmp_path / "undisturbed") == 0
    for kill_at, place in enumerate(("train", "write", "flush", "rename", "train"), start=1):
        assert run(tmp_path / "b", tmp_path / "resumed", kill_at, place) == -signal.SIGKILL
    assert run(tmp_path / "b", tmp_path / "resumed") == 0
    assert (tmp_path / "resumed").read_text() == (tmp_path / "undisturbed").read_text()


@pytest.fixture
def parts():
    model = torch.nn.Linear(2, 2)
    return {"model": model, "optimizer": torch.optim.AdamW(model.parameters())}


def test_another_runs_checkpoint_is_refused(tmp_path, parts):
    path = save_checkpoint(tmp_path, run_key="abc", step=1, **parts)
    with pytest.raises(ValueError, match="belongs to run abc, not to xyz: use another folder or delete it"):
        load_checkpoint(path, run_key="xyz", **parts)
    with pytest.raises(ValueError, match=r"holds generators \[\], the run has \['data'\]"):
        load_checkpoint(path, run_key="abc", generators={"data": np.random.default_rng(0)}, **parts)
    other = torch.nn.Linear(2, 2, bias=False)
    with pytest.raises(ValueError, match=r"other weights than the model: \['bias'\]"):
        load_checkpoint(path, run_key="abc", model=other, optimizer=torch.optim.AdamW(other.parameters()))


def test_a_step_is_written_once(tmp_path, parts):
    assert latest_checkpoint(tmp_path / "absent") is None
    for step in (1, 2, 10):
        save_checkpoint(tmp_path, run_key="k", step=step, keep=2, **parts)
    assert [p.name for p in sorted(tmp_path.iterdir())] == ["step-000002", "step-000010"]
    assert latest_checkpoint(tmp_path) == tmp_path / "step-000010"
    with pytest.raises(ValueError, match="exists already: resume from it"):
        save_checkpoint(tmp_path, run_key="k", step=10, **parts)


def test_tied_weights_stay_tied(tmp_path):
    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = torch.nn.Linear(2, 2, bias=False)
            self.b = torch.nn.Linear(2, 2, bias=False)
            self.b.weight = self.a.weight

    model = Tied()
    optimizer = torch.optim.AdamW(model.parameters())
    path = save_checkpoint(tmp_path, run_key="k", step=1, model=model, optimizer=optimizer)
    before = model.a.weight.detach().clone()
    with torch.no_grad():
        model.a.weight.zero_()
    load_checkpoint(path, run_key="k", model=model, optimizer=optimizer)
    assert torch.equal(model.b.weight, before) and model.b.weight is model.a.weight
