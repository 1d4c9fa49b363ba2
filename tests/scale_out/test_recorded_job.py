"""A job that the real Harbor 0.26 ran in Docker with checkpoints of ours behind vLLM's server: its rewards are ours.

``tests/data/harbor_job``: four exported tasks, each tried by our own harness's agent (a policy that ECHO trained for
100 steps) and by Terminus 2 (the same policy after it was taught one reply in Terminus's form, which solves one of the
four). Recorded with ``serve-benchmark``; of each trial what the importer reads was kept, and the names of containers
were made zeros.
"""

import gzip
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from echo_terminal.agent.transcript import Role
from echo_terminal.lake.tables import read
from echo_terminal.policy.model import ModelParams, new_model
from echo_terminal.policy.tokenizer import PolicyTokenizer
from echo_terminal.policy.weights import Policy, save_policy
from echo_terminal.scale_out.jobs import import_job, read_job
from echo_terminal.tasks.grading import grade
from echo_terminal.tasks.harbor import slug
from echo_terminal.tasks.store import read_tasks
from echo_terminal.terminal.terminal import open_terminal

DATA = Path(__file__).parents[1] / "data" / "harbor_job"
TINY = ModelParams(
    hidden_size=32, num_layers=1, num_heads=1, num_kv_heads=1, head_dim=16, intermediate_size=32,
    max_positions=4096, copying_heads=False,
)  # fmt: skip
JOBS = {"ours": ("echo-terminal", "echo"), "terminus-2": ("terminus-2", "echo-terminus")}
#: read off the recorded trajectories: reward, turns, tokens of output
EXPECTED = {
    "ours": {
        "set_key": (1.0, 3, 6),
        "site_find": (1.0, 4, 29),
        "site_three": (0.0, 4, 30),
        "site_two": (1.0, 4, 30),
    },
    # a reply that is not in Terminus's form is answered with 131 tokens
    "terminus-2": {
        "set_key": (1.0, 3, 307 + 2 * 131),
        "site_find": (0.0, 3, 333 + 2 * 131),
        "site_three": (0.0, 3, 328 + 2 * 131),
        "site_two": (0.0, 3, 3 * 131),
    },
}


@pytest.fixture(scope="module")
def codec() -> PolicyTokenizer:
    return PolicyTokenizer(
        Tokenizer.from_str(gzip.decompress((DATA / "tokenizer.json.gz").read_bytes()).decode())
    )


@pytest.mark.parametrize("name", JOBS)
def test_rewards_are_those_of_our_own_grading(name, codec):
    """Run what the agent ran on our own terminal and grade it ourselves."""
    tasks = {slug(task): task for task in read_tasks(DATA / "tasks.parquet")}
    job = read_job(DATA / name, codec)
    assert not job.unfinished
    terminal = open_terminal("virtual")
    found = {}
    for trial in job.trials:
        task, transcript = tasks[trial.task.template], trial.transcript
        terminal.reset(task.files, task.seed)
        for turn in transcript.turns:
            if turn.command is not None:
                terminal.run(turn.command)
        assert grade(task, terminal).reward == trial.reward, trial.name
        found[task.template] = (trial.reward, len(transcript.turns), transcript.count(Role.OUTPUT))
    assert found == EXPECTED[name]


def test_commands_and_answers_are_those_of_the_containers(codec):
    trial = next(t for t in read_job(DATA / "ours", codec).trials if "site-two" in t.name)
    assert [t.command for t in trial.transcript.turns] == [
        "lezo joinlezo joinlezo.cfg",
        "lezo join bulo.cfg",
        "bove mark bulo.cfg",
        None,
    ]
    assert [t.exit_code for t in trial.transcript.turns[:3]] == [2, 0, 0]
    text = codec.decode(trial.transcript.ids)
    assert "exit code: 2\nusage: lezo join FILE\n" in text and "exit code: 0\nbove: bulo.cfg done\n" in text
    trial = next(t for t in read_job(DATA / "terminus-2", codec).trials if "set-key" in t.name)
    assert trial.transcript.turns[0].command == "sed -i s/^port=.*/port=remo/ */nima.dat; ls -R"
    assert (
        "$ sed -i s/^port=.*/port=remo/ */nima.dat; ls -R\n.:\ndofu\n\n./dofu:\nnima.dat\n"
        in codec.decode(trial.transcript.ids)
    )


@pytest.mark.parametrize("name", JOBS)
def test_the_job_becomes_tables(name, codec, tmp_path):
    save_policy(Policy(new_model(TINY, codec.vocab_size, seed=0), codec), tmp_path / "policy")
    lines = import_job(DATA / name, tmp_path / "policy", tmp_path / "lake")
    (agent, model), expected = JOBS[name], EXPECTED[name].values()
    rewards, turns, tokens = (list(column) for column in zip(*expected, strict=True))
    assert lines[0].startswith(
        f"{agent}: 4 trials, mean reward {sum(rewards) / 4:.3f} of 4, {sum(turns)} turns, CE of output "
    )
    assert lines[0].endswith(f"nats over {sum(tokens)} tokens") and len(lines) == 2
    attempts = read(tmp_path / "lake", "attempts").to_pandas()
    assert sorted(attempts["reward"]) == sorted(rewards) and sorted(attempts["turns"]) == sorted(turns)
    assert set(attempts["start"]) == {model} and set(attempts["objective"]) == {agent}
    assert len(read(tmp_path / "lake", "turns")) == sum(turns)
    ce = read(tmp_path / "lake", "ce").to_pandas()
    scored = ce[ce["token_class"] != "warning"].groupby("trajectory_id")["tokens"].sum()
    assert sorted(scored) == sorted(tokens)
