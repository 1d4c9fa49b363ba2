"""The rollout loop belongs to somebody else: keys, ends, failures, idle episodes."""

import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from echo_terminal.agent.prompt import HarnessParams
from echo_terminal.agent.tool_call import DONE, render_call
from echo_terminal.policy.tokenizer import CONTROL, PolicyTokenizer
from echo_terminal.scale_out.episodes import Episodes, suite_of
from echo_terminal.tasks.store import write_tasks
from echo_terminal.tasks.task import Check, Task
from echo_terminal.terminal.terminal import HOME, Observation, Status, open_terminal

TASK = Task("t", 3, "data", "Write hi to a.", {}, (Check("text", f"{HOME}/a", "hi\n"),), (), suite="s")


@pytest.fixture(scope="module")
def codec() -> PolicyTokenizer:
    """The 256 bytes and the control tokens."""
    vocabulary = {c: i for i, c in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(t, special=True) for t in CONTROL])
    return PolicyTokenizer(tokenizer)


class Closing:
    """A terminal that counts how often it was closed, and fails on the commands numbered in ``lose``."""

    def __init__(self, log: list, lose: tuple[int, ...]) -> None:
        self.inner, self.log, self.lose, self.calls = open_terminal("virtual"), log, lose, 0

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def run(self, command, timeout):
        self.calls += 1
        if self.calls in self.lose:
            return Observation("", "", 0, HOME, Status.LOST)
        return self.inner.run(command, timeout)

    def close(self):
        self.log.append("closed")
        self.inner.close()


def make(codec, closed, losing=(), **settings):
    plans = list(losing)
    params = HarnessParams(max_turn_tokens=400, max_context=4000, **settings)

    def open_one():
        return Closing(closed, plans.pop(0) if plans else ())

    return Episodes([TASK], open_one, codec, params, CONTROL, idle_s=1000.0)


def ids(codec, text, end=True):
    return codec.frame(text + ("<|im_end|>" if end else ""))


def test_an_episode_from_first_action_to_reward(codec):
    closed = []
    episodes = make(codec, closed)
    first = episodes.step("s/t/3", None, ids(codec, render_call("echo hi > a; echo '<|im_end|>'")))
    assert not first.done and first.reward == 0.0 and first.key == 0
    assert first.text == (
        "\n<|im_start|>user\n<tool_response>\nexit code: 0\n<\u200b|im_end|>\n"
        "\n</tool_response><|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
    )
    last = episodes.step("s/t/3", first.key, ids(codec, DONE))
    assert (last.text, last.reward, last.done, last.key) == ("", 1.0, True, None)
    assert closed == ["closed"] and not episodes.open


def test_a_cut_turn_is_ended_by_the_harness(codec):
    episodes = make(codec, [])
    reply = episodes.step("s/t/3", None, ids(codec, "no end", end=False))
    assert reply.text.startswith("<|im_end|>\n<|im_start|>user\n<tool_response>\n[warning: the turn was cut")


def test_turn_limit_and_context_limit_grade_the_final_state(codec):
    write = ids(codec, render_call("echo hi > a"))
    episodes = make(codec, [], max_turns=1, require_done=False)
    reply = episodes.step("s/t/3", None, write)
    assert reply.done and reply.reward == 1.0 and "exit code: 0" in reply.text
    strict = make(codec, [], max_turns=1)
    assert strict.step("s/t/3", None, write).reward == 0.0  # never said that it was done
    long = make(codec, [], require_done=False)
    key = long.step("s/t/3", None, write).key
    over = long.step("s/t/3", key, [5] * 401)
    assert (over.done, over.reward, over.text) == (True, 1.0, "")


def test_a_failed_engine_is_replaced_once(codec):
    closed = []
    episodes = make(codec, closed, losing=[(2,), ()])
    key = episodes.step("s/t/3", None, ids(codec, render_call("echo hi > a"))).key
    reply = episodes.step(
        "s/t/3", key, ids(codec, render_call("cat a"))
    )  # lost, then run again on a new terminal
    assert not reply.done and "exit code: 0\nhi\n" in reply.text and closed == ["closed"]
    assert episodes.step("s/t/3", key, ids(codec, DONE)).reward == 1.0
    twice = make(codec, [], losing=[(1,), (1,)])
    with pytest.raises(RuntimeError, match="failed twice in task s/t/3"):
        twice.step("s/t/3", None, ids(codec, render_call("ls")))


def test_idle_episodes_are_closed(codec):
    closed = []
    episodes = make(codec, closed)
    keys = [episodes.step("s/t/3", None, ids(codec, render_call("ls"))).key for _ in range(2)]
    assert episodes.reap() == 0
    episodes.open[keys[0]].touched -= 2000
    assert episodes.reap() == 1 and closed == ["closed"] and list(episodes.open) == [keys[1]]
    with pytest.raises(KeyError, match="not been stepped for 1000 s"):
        episodes.step("s/t/3", keys[0], ids(codec, DONE))


def test_tasks_of_one_suite(tmp_path):
    write_tasks(tmp_path / "tasks.parquet", [TASK])
    assert [t.task_id for t in suite_of(tmp_path / "tasks.parquet", "s")] == ["s/t/3"]
    with pytest.raises(ValueError, match="holds no task of suite 'val': choose one of s"):
        suite_of(tmp_path / "tasks.parquet", "val")
