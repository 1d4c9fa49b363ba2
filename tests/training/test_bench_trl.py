"""What TRL is given: the same tokens, split where the first action begins. Without TRL: how to get it."""

from pathlib import Path

import pytest

from echo_terminal.training import bench_trl
from echo_terminal.training.grpo import Rollouts


def test_tensors_hold_every_token_once(written) -> None:
    rows = [written("PPAAO", 10), written("PAOOA", 20)]
    batch = bench_trl.tensors_of(Rollouts([], rows, [], [], None), [1.0, -1.0], pad=0)
    assert batch["prompt_ids"].tolist() == [[10, 11], [0, 20]]
    assert batch["prompt_mask"].tolist() == [[1, 1], [0, 1]]
    assert batch["completion_ids"].tolist() == [[12, 13, 14, 0], [21, 22, 23, 24]]
    assert batch["completion_mask"].tolist() == [[1, 1, 1, 0], [1, 1, 1, 1]]
    assert batch["tool_mask"].tolist() == [[1, 1, 0, 0], [1, 0, 0, 1]]
    assert batch["old_per_token_logps"].tolist() == [[-1, -1, 0, 0], [-1, 0, 0, -1]]


def test_absent_trl_is_told_with_the_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(bench_trl, "FOLDER", tmp_path)
    with pytest.raises(bench_trl.TrlAbsent, match="pip install --target build/trl --no-deps trl=="):
        bench_trl.update_against_trl()
