"""The ragged cache gives the log-probs that a plain forward pass gives, whatever the batch looks like."""

import copy

import numpy as np
import pytest
import torch

from echo_terminal.policy import decoder
from echo_terminal.policy.engine import Engine, Sample, action_logprobs, uniforms
from echo_terminal.policy.model import ModelParams, new_model

STOP, FORBIDDEN, LENGTH = 5, (0, 1, 2), 160


def play(engine: Engine, seeds: list[int], turns: int = 4) -> list[tuple[list[int], list[float]]]:
    """Multi-turn rows of unequal prompts, observations and action lengths; ids and log-probs (NaN where fed)."""
    session = engine.start(seeds)
    rows = [([7 + s % 5] * (3 + s % 9), [float("nan")] * (3 + s % 9)) for s in seeds]
    for turn in range(turns):
        live = [i for i, s in enumerate(seeds) if s % 4 != turn]  # some rows sit a turn out
        if not live:
            continue
        fresh = [rows[i][0][session.lengths[i] :] for i in live]
        samples = session.generate(live, fresh, 1.3, [4 + seeds[i] % 7 for i in live])
        for i, sample in zip(live, samples, strict=True):
            observation = [20 + (seeds[i] + turn) % 30] * (1 + (seeds[i] + turn) % 6)
            rows[i][0].extend([*sample.ids, *observation])
            rows[i][1].extend([*sample.logprobs, *[float("nan")] * len(observation)])
    return rows


@pytest.fixture(params=[(1, False), (2, False), (1, True)], ids=["grouped", "full", "fixed_shapes"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """Grouped and full attention, and the fixed-shape decoding of a GPU (shapes small enough to change often)."""
    heads, fixed = request.param
    monkeypatch.setattr(decoder, "ROWS_GRAIN", 4)
    monkeypatch.setattr(decoder, "SPAN_GRAIN", 16)
    params = ModelParams(hidden_size=48, num_heads=2, num_kv_heads=heads, head_dim=24)
    return Engine(new_model(params, 64, seed=4), [STOP], FORBIDDEN, LENGTH, graphs=fixed)


def largest_gap(engine: Engine, rows: list[tuple[list[int], list[float]]]) -> tuple[float, int]:
    """Largest difference between sampled log-probs and those of a plain forward pass, and the number sampled."""
    gaps = []
    for ids, logprobs in rows:
        with torch.no_grad():
            hidden = engine.source.hidden(torch.tensor([ids]))[0, :-1]
            expected = action_logprobs(engine.source.logits(hidden), engine.forbidden, 1.3)
        gaps += [abs(p - float(expected[t - 1, ids[t]])) for t, p in enumerate(logprobs) if not np.isnan(p)]
    return max(gaps), len(gaps)


def test_generation_equals_training_logprobs(engine: Engine) -> None:
    gap, sampled = largest_gap(engine, play(engine, list(range(23))))
    assert gap < 1e-5 and sampled > 300


def test_generation_and_training_are_one_function_up_to_rounding(engine: Engine) -> None:
    """float64 leaves nothing of the gap, so that what float32 shows is rounding. Logits times 20 and a sharp
    softmax: the gap of two float32 passes is that of either one to float64, and of the scale of the logits."""
    exact = Engine(copy.deepcopy(engine.source).double(), [STOP], FORBIDDEN, LENGTH, graphs=engine.fixed)
    for model in (engine.source, exact.source):
        with torch.no_grad():
            model.norm.weight.mul_(20)
    assert largest_gap(exact, play(exact, list(range(23))))[0] < 1e-12
    rows = play(engine, list(range(23)))
    gap, _ = largest_gap(engine, rows)
    to_exact, _ = largest_gap(exact, rows)
    with torch.no_grad():
        scale = max(
            float(engine.source.logits(engine.source.hidden(torch.tensor([i]))).abs().max()) for i, _ in rows
        )
    assert scale > 20
    assert gap < 100 * 2**-24 * scale and to_exact < 100 * 2**-24 * scale


def test_a_row_does_not_depend_on_its_batch(engine: Engine) -> None:
    together = play(engine, list(range(23)))
    for seed in (0, 7, 22):
        assert play(engine, [seed])[0][0] == together[seed][0]


def test_same_seeds_same_ids(engine: Engine) -> None:
    assert [r[0] for r in play(engine, [3, 1, 2])] == [r[0] for r in play(engine, [3, 1, 2])]


def test_forbidden_ids_never_appear_and_stop_ends(engine: Engine) -> None:
    session = engine.start(list(range(50)))
    samples: list[Sample] = session.generate(range(50), [[9]] * 50, 2.0, [30] * 50)
    assert not {i for s in samples for i in s.ids} & set(FORBIDDEN)
    for sample in samples:
        assert sample.stopped == (sample.ids[-1] == STOP)
        assert STOP not in sample.ids[:-1]
        assert sample.stopped or len(sample.ids) == 30


def test_frequencies_follow_the_distribution() -> None:
    """20,000 first tokens of one context against the model's own probabilities (chi-square, 60 degrees)."""
    engine = Engine(
        new_model(ModelParams(hidden_size=32, num_heads=1, num_kv_heads=1, copying_heads=False), 64, 0),
        [STOP],
        FORBIDDEN,
        8,
    )
    counts = np.zeros(64)
    for block in range(10):
        session = engine.start(list(range(block * 2000, (block + 1) * 2000)))
        for sample in session.generate(range(2000), [[9, 11]] * 2000, 1.0, [1] * 2000):
            counts[sample.ids[0]] += 1
    with torch.no_grad():
        logits = engine.model.logits(engine.model.hidden(torch.tensor([[9, 11]]))[0, -1:])
        p = action_logprobs(logits, engine.forbidden, 1.0).exp()[0].numpy()
    expected = p * counts.sum()
    used = expected > 0
    chi_square = float(((counts - expected)[used] ** 2 / expected[used]).sum())
    assert chi_square < 100  # the 99.9 % point of 60 degrees of freedom is 99.6


def test_streams_are_stable_across_machines() -> None:
    """The first numbers of stream 7 (Philox 4x64), written down once."""
    assert uniforms(7, 2).tolist() == [0.8720734548204873, 0.29536538151378355]
    assert uniforms(7, 5).tolist()[:2] == uniforms(7, 2).tolist()


def test_what_does_not_fit_is_refused(engine: Engine) -> None:
    session = engine.start([0])
    with pytest.raises(ValueError, match="do not fit"):
        session.generate([0], [[9] * 150], 1.0, [20])
    with pytest.raises(ValueError, match="nothing new"):
        session.generate([0], [[]], 1.0, [2])
    with pytest.raises(ValueError, match="exceeds the model's max_positions"):
        Engine(engine.model, [STOP], FORBIDDEN, 10_000)


def test_a_new_session_sees_new_weights_and_nothing_of_the_old(engine: Engine) -> None:
    """Case I03: three updates; the cache is kept between sessions, what is in it is not."""
    seen = []
    for _ in range(3):
        rows = play(engine, list(range(6)))
        assert largest_gap(engine, rows)[0] < 1e-4
        seen.append([p for _, logprobs in rows for p in logprobs if not np.isnan(p)])
        with torch.no_grad():
            engine.source.embed.weight.mul_(1.2)
    assert seen[0] != seen[1] != seen[2]


def test_a_copy_in_another_dtype_follows_the_weights() -> None:
    """bf16 copies keep 8 bits: log-probs agree to some hundredths with the float32 weights, before and after."""
    model = new_model(ModelParams(hidden_size=48, num_heads=2, num_kv_heads=2, head_dim=24), 64, seed=4)
    half = Engine(model, [STOP], FORBIDDEN, LENGTH, dtype=torch.bfloat16)
    for _ in range(2):
        assert 0 < largest_gap(half, play(half, [3, 4]))[0] < 0.2
        with torch.no_grad():
            model.embed.weight.mul_(1.5)
    assert model.embed.weight.dtype == torch.float32


def test_an_earlier_session_is_over(engine: Engine) -> None:
    first = engine.start([0])
    engine.start([1])
    with pytest.raises(RuntimeError, match="started another session"):
        first.generate([0], [[9]], 1.0, [2])
