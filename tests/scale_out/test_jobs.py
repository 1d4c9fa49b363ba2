"""Harbor's job directories as our tables: what its results may hold; nothing is lost or counted twice."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from echo_terminal.agent.prompt import HarnessParams
from echo_terminal.agent.record import to_record
from echo_terminal.agent.replay import replay
from echo_terminal.cli import main
from echo_terminal.lake.tables import read
from echo_terminal.policy.model import ModelParams, new_model
from echo_terminal.policy.tokenizer import TokenizerParams, train_tokenizer
from echo_terminal.policy.weights import Policy, save_policy
from echo_terminal.scale_out.jobs import read_job
from echo_terminal.tasks.task import Task
from echo_terminal.terminal.terminal import open_terminal

TINY = ModelParams(
    hidden_size=32, num_layers=1, num_heads=1, num_kv_heads=1, head_dim=16, intermediate_size=32,
    max_positions=200, copying_heads=False,
)  # fmt: skip
TASK = Task("t", 3, "data", "Write hi to a.", {}, (), (), suite="val", machine=1)


@pytest.fixture(scope="module")
def policy(tmp_path_factory) -> Path:
    tokenizer = train_tokenizer(["ls -la\n", "cat a.txt\n"] * 5, TokenizerParams(vocab_size=300))
    folder = tmp_path_factory.mktemp("policy")
    save_policy(Policy(new_model(TINY, tokenizer.vocab_size, seed=0), tokenizer), folder)
    return folder


@pytest.fixture
def codec(policy):
    from echo_terminal.policy.tokenizer import load_tokenizer

    return load_tokenizer(policy)


def trial(
    job: Path,
    name: str,
    *,
    agent="terminus-2",
    reward=1.0,
    error=None,
    started="2026-01-01T00:00:00Z",
    **files,
):
    """A trial as Harbor 0.26 writes it, cut to what is read."""
    (job / name / "agent").mkdir(parents=True)
    result = {
        "id": f"id of {name}",
        "task_name": "echo-terminal/val-t-m1-3",
        "source": "tasks",
        "agent_info": {"name": agent, "model_info": {"name": "policy", "provider": "hosted_vllm"}},
        "verifier_result": None if reward is None else {"rewards": {"reward": reward}},
        "exception_info": None if error is None else {"exception_type": error},
        "started_at": started,
    }
    (job / name / "config.json").write_text(json.dumps({"trial_name": name}))
    (job / name / "result.json").write_text(json.dumps(result))
    for file, document in files.items():
        (job / name / "agent" / f"{file}.json").write_text(json.dumps(document))


def atif(*replies: str) -> dict:
    steps = [{"step_id": 1, "source": "user", "message": "Write hi to a."}]
    for number, reply in enumerate(replies):
        call = {"function_name": "bash_command", "arguments": {"keystrokes": f"echo {number}\n"}}
        said = {"results": [{"content": reply}]}
        steps.append({"source": "agent", "message": "I type.", "tool_calls": [call], "observation": said})
    return {"schema_version": "ATIF-v1.7", "session_id": "s", "steps": steps}


@pytest.fixture
def tasks(tmp_path) -> Path:
    folder = tmp_path / "tasks" / "val-t-m1-3"
    folder.mkdir(parents=True)
    (folder / "task.toml").write_text(
        '[task]\nname = "echo-terminal/val-t-m1-3"\n[metadata]\nsuite = "val"\ntemplate = "t"\nseed = 3\n'
        'machine = "1"\ncategory = "data"\n'
    )
    return tmp_path / "tasks"


def test_trials_keep_reward_order_and_reason(tmp_path, codec, tasks):
    job = tmp_path / "job"
    record = to_record(
        replay(TASK, ["echo hi > a", "cat a"], open_terminal("virtual"), codec, HarnessParams()), TASK
    )
    trial(job, "b", agent="echo-terminal", transcript=record | {"finish": "turns"}, reward=0.0)
    trial(job, "a2", trajectory=atif("0\n", "1\n"), started="2026-01-01T00:00:02Z", error="AgentTimeoutError")
    trial(job, "a1", trajectory=atif("0\n"), started="2026-01-01T00:00:03Z")
    trial(job, "c", agent="oracle")
    trial(job, "d", reward=None, error="EnvironmentStartError")
    (job / "e").mkdir()
    (job / "e" / "config.json").write_text('{"trial_name": "e"}')  # killed before its result
    (job / "result.json").write_text("{}")  # the job's own
    read_in = read_job(job, codec, tasks)
    assert read_in.unfinished == ["e"]
    found = {t.name: t for t in read_in.trials}
    assert list(found) == ["a1", "a2", "b", "c", "d"]
    assert {n: t.reward for n, t in found.items()} == {"a1": 1.0, "a2": 1.0, "b": 0.0, "c": 1.0, "d": None}
    assert [found[n].number for n in ("d", "a2", "a1", "b", "c")] == [
        0,
        1,
        2,
        0,
        0,
    ]  # by start, within an agent
    assert {n: str(t.transcript.finish) for n, t in found.items()} == (
        {"a1": "turns", "a2": "time", "b": "turns", "c": "turns", "d": "lost"}
    )
    assert [t.command for t in found["b"].transcript.turns] == ["echo hi > a", "cat a"]
    assert {t.task.task_id for t in found.values()} == {"val/t/3"} and found["a1"].task.machine == 1
    foreign = read_job(job, codec).trials[0].task
    assert (foreign.suite, foreign.template, foreign.machine) == ("tasks", "val-t-m1-3", None)


def call(monkeypatch, capsys, *arguments) -> str:
    monkeypatch.setattr(sys, "argv", ["echo-terminal", "import-job", *map(str, arguments)])
    with pytest.raises(SystemExit) as end:
        main()
    return "" if not end.value.code else capsys.readouterr().err.rstrip("\n")


def test_importing_twice_adds_nothing(tmp_path, policy, tasks, monkeypatch, capsys):
    job, out = tmp_path / "job", tmp_path / "lake"
    long = "x" * 400  # longer than the policy's context: cut, not refused
    trial(job, "a1", trajectory=atif("hi there\n", long))
    trial(job, "a2", trajectory=atif("0\n"), started="2026-01-01T00:00:03Z", reward=0.0)
    trial(job, "d", reward=None, error="EnvironmentStartError", started="2026-01-01T00:00:04Z")
    for _ in range(2):
        assert call(monkeypatch, capsys, job, "--policy", policy, "--out", out, "--tasks", tasks) == ""
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("terminus-2: 3 trials, mean reward 0.500 of 2, 3 turns, CE of output ")
    assert lines[1] == "d: no verdict (EnvironmentStartError)"
    attempts = read(out, "attempts").to_pandas().sort_values("attempt")
    assert attempts["reward"].tolist()[:2] == [1.0, 0.0] and attempts["reward"].isna().tolist() == [
        False,
        False,
        True,
    ]
    assert set(attempts["run_id"]) == {"job/terminus-2"} and attempts["turns"].tolist() == [2, 1, 0]
    assert len(read(out, "turns")) == 3
    ce = read(out, "ce").to_pandas()
    assert len(ce) and (ce["nll"] > 0).all() and ce["trajectory_id"].nunique() == 2


def test_what_is_no_job_is_one_line(tmp_path, policy, codec, monkeypatch, capsys):
    def told(folder) -> str:
        message = call(monkeypatch, capsys, folder, "--policy", policy)
        assert message.startswith("error: ") and "\n" not in message
        return message

    assert "no job directory" in told(tmp_path / "nowhere")
    assert "holds no trial of Harbor: name one job's own folder, jobs/NAME" in told(policy.parent)
    job = tmp_path / "job"
    trial(job, "a", trajectory=atif("0\n"))
    shutil.copytree(job / "a", job / "a copy")
    assert "a copy and a are the same trial: remove one" in told(job)
    shutil.rmtree(job / "a copy")
    (job / "a" / "result.json").write_text('{"id": 1}')
    assert "is not the result of a trial (at 'verifier_result')" in told(job)
    (job / "a" / "result.json").write_text("{")
    assert "not JSON" in told(job)
    other = train_tokenizer(["zz yy xx\n"] * 5, TokenizerParams(vocab_size=290))
    record = to_record(replay(TASK, ["echo cat"], open_terminal("virtual"), other, HarnessParams()), TASK)
    trial(
        job,
        "b",
        agent="echo-terminal",
        transcript=record | {"finish": "turns", "ids": [5] * len(record["ids"])},
    )
    shutil.rmtree(job / "a")
    assert "sampled with another tokenizer than the policy's" in told(job)
