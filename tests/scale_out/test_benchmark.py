"""What is checked before a benchmark is served, the server's life, and what Harbor is asked for."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from echo_terminal.cli import main
from echo_terminal.policy.model import ModelParams, new_model
from echo_terminal.policy.tokenizer import TokenizerParams, train_tokenizer
from echo_terminal.policy.weights import Policy, save_policy
from echo_terminal.scale_out import benchmark as b

TINY = ModelParams(
    hidden_size=32, num_layers=1, num_heads=1, num_kv_heads=1, head_dim=16, intermediate_size=32, copying_heads=False
)  # fmt: skip
HEALTHY = """
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers()
    def log_message(self, *a): pass
port = int(sys.argv[sys.argv.index("--port") + 1])
HTTPServer(("127.0.0.1", port), Handler).serve_forever()
"""
FULL = """
print("Traceback (most recent call last):")
print("ValueError: Free memory on device cuda:0 (1.0/139.8 GiB) is less than desired GPU memory utilization")
print("[rank0]: shutting down")
raise SystemExit(1)
"""


@pytest.fixture
def policy(tmp_path) -> Path:
    tokenizer = train_tokenizer(["ls\n"] * 5, TokenizerParams(vocab_size=300))
    save_policy(Policy(new_model(TINY, tokenizer.vocab_size, seed=0), tokenizer), tmp_path / "policy")
    return tmp_path / "policy"


@pytest.fixture
def free_port() -> int:
    import socket

    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def program(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.write_text(text)
    file.chmod(0o755)
    return file


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A docker that answers and a Harbor that writes down how it was called and makes the job's folder."""
    tools = tmp_path / "tools"
    tools.mkdir()
    program(tools, "docker", "#!/bin/sh\nexit 0\n")
    program(
        tools,
        "harbor",
        f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/asked\necho "$HOSTED_VLLM_API_KEY" > {tmp_path}/key\n'
        f"mkdir -p {tmp_path}/jobs/benchmark\n",
    )
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    return tools


def vllm(tmp_path: Path, text: str) -> str:
    """A Python whose ``-m vllm…`` is ``text``."""
    script = program(tmp_path, "server.py", text)
    return str(program(tmp_path, "python", f'#!/bin/sh\nshift 2\nexec {sys.executable} {script} "$@"\n'))


def run(policy: Path, tmp_path: Path, port: int, python: str, **changes):
    settings = dict(
        vllm=python, vllm_options="", harbor="harbor", tries=5, concurrent=2, temperature=0.6, turns=None,
        port=port, patience=20.0,
    )  # fmt: skip
    return b.serve_benchmark(
        policy,
        ["-d", "terminal-bench@2.0"],
        "terminus-2",
        tmp_path / "jobs",
        "benchmark",
        **settings | changes,
    )


def test_harbor_is_called_while_the_server_is_up_and_the_server_ends(policy, tmp_path, machine, free_port):
    job = run(policy, tmp_path, free_port, vllm(tmp_path, HEALTHY))
    assert job == tmp_path / "jobs" / "benchmark"
    asked = (tmp_path / "asked").read_text().splitlines()
    assert asked[:7] == ["run", "-d", "terminal-bench@2.0", "-a", "terminus-2", "-m", "hosted_vllm/policy"]
    assert asked[asked.index("-k") + 1] == "5" and "docker" in asked
    assert f"api_base=http://127.0.0.1:{free_port}/v1" in asked
    info = json.loads(next(x for x in asked if x.startswith("model_info=")).partition("=")[2])
    assert info["max_input_tokens"] == 512  # the model's positions
    assert 'llm_call_kwargs={"max_tokens": 128}' in asked
    assert (tmp_path / "key").read_text() == "none\n"
    assert not b.answers(free_port)


def test_our_agent_gets_limits_that_fit_the_model(policy):
    config = b.check_policy(policy)
    options = b.agent_options(b.OURS, policy, config, "http://x/v1", 0.6, turns=4)
    assert options["harness"] == {"max_context": 512, "max_turn_tokens": 128, "max_turns": 4}
    assert options["tokenizer"] == str(policy)


@pytest.mark.parametrize("agent", ["terminus-2", b.OURS])
def test_a_turn_has_the_tokens_that_were_asked_for(agent, policy):
    options = b.agent_options(agent, policy, b.check_policy(policy), "http://x/v1", 0.6, None, turn_tokens=40)
    limit = (
        options["harness"]["max_turn_tokens"] if agent == b.OURS else options["llm_call_kwargs"]["max_tokens"]
    )
    assert limit == 40


def test_a_full_gpu_is_the_servers_own_line(policy, tmp_path, machine, free_port):
    with pytest.raises(
        RuntimeError, match="server ended: ValueError: Free memory on device cuda:0 .* is less"
    ):
        run(policy, tmp_path, free_port, vllm(tmp_path, FULL))
    assert not (tmp_path / "asked").exists()


def test_a_server_that_dies_during_the_job_is_said(policy, tmp_path, machine, free_port):
    dying = HEALTHY.replace(
        "HTTPServer((", "import threading, os; threading.Timer(2, os._exit, (1,)).start()\nHTTPServer(("
    )
    program(machine, "harbor", f"#!/bin/sh\nsleep 4\nmkdir -p {tmp_path}/jobs/benchmark\n")
    with pytest.raises(RuntimeError, match="server ended during the job: .*have no verdict"):
        run(policy, tmp_path, free_port, vllm(tmp_path, dying))


def test_a_silent_server_is_ended(policy, tmp_path, machine, free_port):
    with pytest.raises(RuntimeError, match="did not answer within 1 s"):
        run(policy, tmp_path, free_port, vllm(tmp_path, "import time; time.sleep(60)"), patience=1.0)


def test_the_server_ends_with_a_command_that_is_stopped(tmp_path, free_port):
    command = [vllm(tmp_path, HEALTHY), "-m", "vllm", "--port", str(free_port)]
    script = (
        "import sys, time; from pathlib import Path; from echo_terminal.scale_out.benchmark import serving\n"
        f"with serving({command!r}, {free_port}, Path({str(tmp_path / 'log')!r}), 20.0):\n"
        "    print('up', flush=True); time.sleep(60)"
    )
    stopped = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert stopped.stdout.readline() == "up\n" and b.answers(free_port)
    stopped.terminate()
    assert stopped.wait(20) == 143
    assert not b.answers(free_port)


def test_a_failed_harbor_is_said(policy, tmp_path, machine, free_port):
    program(machine, "harbor", "#!/bin/sh\nexit 3\n")
    with pytest.raises(RuntimeError, match="Harbor ended with code 3"):
        run(policy, tmp_path, free_port, vllm(tmp_path, HEALTHY))


def edit(file: Path, **changes) -> None:
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda p: (p / "tokenizer.json").unlink(), "cannot be served: it has no tokenizer.json"),
        (
            lambda p: edit(p / "config.json", vocab_size=100),
            r"the tokenizer has \d+ ids, the model 100: not a pair",
        ),
        (lambda p: (p / "tokenizer_config.json").write_text("{}"), "has no chat template"),
    ],
)
def test_a_policy_that_cannot_be_served_is_refused_before_anything_starts(spoil, message, policy):
    spoil(policy)
    with pytest.raises((FileNotFoundError, ValueError), match=message):
        b.check_policy(policy)


def test_what_is_missing_on_the_machine_is_one_line(
    policy, tmp_path, machine, free_port, monkeypatch, capsys
):
    def told(*arguments: str) -> str:
        line = shlex.join(["serve-benchmark", str(policy), "--jobs", str(tmp_path / "jobs"), *arguments])
        monkeypatch.setattr(sys, "argv", ["echo-terminal", *shlex.split(line)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main()
        said = capsys.readouterr().err
        assert (end.value.code, said.count("\n")) == (1, 1)
        return said.rstrip("\n")

    assert told() == ("error: name the tasks with --dataset NAME (terminal-bench@2.0, ...) or --tasks FOLDER")
    assert told("--dataset", "x", "--harbor", "nosuch") == (
        "error: no program 'nosuch': install harbor, or name it with --harbor"
    )
    program(machine, "docker", "#!/bin/sh\necho Cannot connect to the daemon >&2\nexit 1\n")
    assert told("--dataset", "x").startswith(
        "error: the Docker engine does not answer, start it or set DOCKER_HOST: "
    )
    monkeypatch.setenv("PATH", str(tmp_path))
    assert told("--dataset", "x") == "error: no docker on this machine: Harbor runs its tasks in it"
