"""Our harness on a machine of others: commands keep their place, the server is asked with ids, the episode is ours."""

import json
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from echo_terminal.agent.prompt import HarnessParams
from echo_terminal.agent.tool_call import DONE, render_call
from echo_terminal.agent.transcript import Finish, Role
from echo_terminal.policy.tokenizer import TokenizerParams, train_tokenizer
from echo_terminal.scale_out.harbor_session import Completions, RemoteTerminal, play, seed_of
from echo_terminal.terminal.terminal import File, Status, Terminal

END = "<|im_end|>"


@pytest.fixture(scope="module")
def codec():
    return train_tokenizer(["ls -la\n", "cat a.txt\n"] * 5, TokenizerParams(vocab_size=320))


@pytest.fixture
def terminal(tmp_path):
    """A real bash in a folder, each script in a process of its own, as ``docker exec`` is."""
    (tmp_path / "home").mkdir()

    def execute(script, timeout):
        return subprocess.run(
            ["bash", "-c", script], cwd=tmp_path / "home", capture_output=True, text=True, timeout=timeout
        ).stdout

    return RemoteTerminal(execute, str(tmp_path / "state"))


def test_directory_and_exported_variables_live_on(terminal, tmp_path):
    assert isinstance(terminal, Terminal)
    first = terminal.run("mkdir 'a b' && cd 'a b' && export X='1 2' && echo out && echo err >&2; false")
    assert (first.stdout, first.stderr, first.exit_code) == ("out\n", "err\n", 1)
    assert first.cwd == str(tmp_path / "home" / "a b")
    second = terminal.run('echo "$X" | tee f; pwd')
    assert second.stdout == f"1 2\n{tmp_path / 'home' / 'a b'}\n"
    assert (tmp_path / "home" / "a b" / "f").read_text() == "1 2\n"
    assert terminal.run("exit 3").exit_code == 3 and terminal.run("pwd").stdout == f"{first.cwd}\n"


def test_odd_commands_and_outputs(terminal):
    assert terminal.run("cat <<'E'\n$x `y` 'z'\nE").stdout == "$x `y` 'z'\n"
    assert terminal.run("printf 'a\\0b\\033[31mc'").stdout == "abc"
    assert terminal.run("cat").stdout == ""  # standard input is at end-of-file
    assert terminal.run("nosuch").stderr == "bash: nosuch: command not found\n"
    broken = terminal.run("echo 'unclosed")
    assert broken.exit_code != 0 and broken.stderr.startswith("bash: ")


def test_a_command_that_takes_too_long_is_stopped(terminal):
    late = terminal.run("echo begun; sleep 30", timeout=2)
    assert (late.status, late.exit_code, late.stdout) == (Status.TIMEOUT, 124, "begun\n")
    assert terminal.run("echo on").stdout == "on\n"


def test_a_machine_that_answers_nonsense_is_an_error():
    with pytest.raises(
        RuntimeError, match="the machine did not run a command: it answered 'no such container'"
    ):
        RemoteTerminal(lambda script, timeout: "no such container\n").run("ls")
    with pytest.raises(ValueError, match="cannot be laid out"):
        RemoteTerminal(lambda script, timeout: "").reset({"/a": File()}, 0)


class Server(BaseHTTPRequestHandler):
    asked: list = []
    replies: list = []

    def do_POST(self):
        self.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        code, body = self.replies.pop(0)
        self.send_response(code)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *args):
        """Quiet."""


@pytest.fixture
def server():
    Server.asked, Server.replies = [], []
    served = HTTPServer(("127.0.0.1", 0), Server)
    thread = threading.Thread(target=served.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{served.server_port}/v1"
    served.shutdown()
    served.server_close()


def choice(ids, logprob=-0.5):
    return 200, {"choices": [{"token_ids": ids, "logprobs": {"token_logprobs": [logprob] * len(ids)}}]}


def test_an_episode_by_ids_from_prompt_to_done(server, terminal, codec, tmp_path):
    actions = [codec.frame(render_call("echo hi > a") + END), codec.frame(DONE + END)]
    Server.replies = [choice(ids) for ids in actions]
    complete = Completions(server, "policy", codec, 0.7, seed=4)
    task, transcript = play("Write hi to a.\n", terminal, codec, HarnessParams(max_context=400), complete)
    assert transcript.finish is Finish.DONE and task.instruction == "Write hi to a."
    assert (tmp_path / "home" / "a").read_text() == "hi\n"
    assert [t.command for t in transcript.turns] == ["echo hi > a", None]
    # the second request is the whole transcript so far: nothing was tokenised again
    first, second = (r["prompt"] for r in Server.asked)
    assert second[: len(first) + len(actions[0])] == first + actions[0]
    assert transcript.ids == second + actions[1]
    assert [
        x for x, role in zip(transcript.logprobs, transcript.roles, strict=True) if role == Role.ACTION
    ] == ([-0.5] * (len(actions[0]) + len(actions[1])))
    asked = Server.asked[0]
    assert asked["seed"] == seed_of(4, 0) != Server.asked[1]["seed"] == seed_of(4, 1)
    assert (
        asked["temperature"] == 0.7 and asked["max_tokens"] == 400 - len(first) and asked["return_token_ids"]
    )
    assert set(asked["logit_bias"]) == {str(i) for i in codec.forbidden_ids}


def test_refusals_of_the_server_name_it(server, codec):
    complete = Completions(server, "policy", codec, 1.0, seed=0)
    Server.replies = [(400, {"message": "maximum context length"}), (200, {"choices": [{"text": "x"}]})]
    with pytest.raises(ConnectionError, match="/completions refused: .*maximum context length"):
        complete([1], 5)
    with pytest.raises(ValueError, match="returns no token ids: it must be served by vLLM"):
        complete([1], 5)
    with pytest.raises(ConnectionError, match="127.0.0.1:9/v1/completions does not answer"):
        Completions("http://127.0.0.1:9/v1", "policy", codec, 1.0, seed=0)([1], 5)
