"""Synthetic result files: made-up numbers in the pipeline's format, for tests of code only, never results."""

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

STARTS, SEEDS, STEPS = ("base_small", "sft"), (0, 1, 2), (0, 20, 40, 60)
SUITES = {"val": 4, "itd": 4, "lite": 4, "hard": 5}
GAIN = {"grpo": 0.25, "echo": 0.45}
CLASSES = ("listing", "error", "fact", "exit_code", "warning")


def runs():
    return product(STARTS, ("grpo", "echo"), SEEDS)


def attempts(
    rng: np.random.Generator, tasks: int, suites: dict[str, int], gains: dict[str, float]
) -> pd.DataFrame:
    rows = []
    for suite, tries in suites.items():
        skill = rng.normal(0, 0.15, tasks)
        for start, (objective, gain), seed, step in product(STARTS, gains.items(), SEEDS, STEPS):
            base = {"base_small": 0.15, "sft": 0.3}[start] - 0.03 * list(suites).index(suite)
            for task, attempt in product(range(tasks), range(tries)):
                site = task % 2 == 0
                p = base + skill[task] + gain * (1 if site else 0.4) * step / max(STEPS)
                passed = bool(rng.random() < p)
                rows.append(
                    {
                        "suite": suite, "task_id": f"{suite}/{task}", "domain": "data",
                        "template": f"{'site' if site else 'core'}_{task % 3}", "machine": 7 if site else None,
                        "start": start, "objective": objective, "seed": seed, "step": step, "attempt": attempt,
                        "reward": None if rng.random() < 0.01 else float(passed),
                        "done": bool(passed or rng.random() < 0.6),
                        "turns": int(rng.integers(2, 6 - (objective == "echo"))),
                        "action_tokens": int(rng.integers(20, 90)), "timeouts": int(rng.random() < 0.08),
                        "malformed": int(rng.random() < 0.1), "finish": "done" if passed else "turns",
                    }
                )  # fmt: skip
    return pd.DataFrame(rows)


def train_steps(rng: np.random.Generator) -> pd.DataFrame:
    rows = []
    for start, objective, seed in runs():
        for step in range(1, max(STEPS) + 1):
            share = step / max(STEPS)
            echo = objective == "echo"
            rows.append(
                {
                    "start": start, "objective": objective, "seed": seed, "step": step,
                    "reward_mean": 0.2 + GAIN[objective] * share + rng.normal(0, 0.03),
                    "loss_policy": rng.normal(0, 0.02), "loss_env": 1.5 - echo * share,
                    "env_ce_output": 1.5 - (0.9 if echo else 0.1) * share + rng.normal(0, 0.03),
                    "env_ce_warning": 5.6 * np.exp(-5 * share) if echo else 5.0 + rng.normal(0, 0.1),
                    "grad_norm_policy": 0.5 + rng.random() * 0.1, "grad_norm_env": 0.8 + rng.random() * 0.2,
                    "grad_cosine": rng.normal(0, 0.03) if step % 5 == 0 else None, "entropy": 0.6 - 0.4 * share,
                    "clip_fraction": 0.02, "zero_variance_share": 0.3 + (0.1 if echo else 0.35) * share,
                    "malformed_rate": 0.1 - 0.05 * share, "unfinished_rate": 0.2 - 0.1 * share, "tokens": 5000,
                    "val_pass": 0.2 + GAIN[objective] * share + rng.normal(0, 0.01) if step % 10 == 0 else None,
                }
            )  # fmt: skip
    return pd.DataFrame(rows)


def heldout_ce(rng: np.random.Generator) -> pd.DataFrame:
    rows = []
    for (start, objective, seed), suite, step, name in product(
        runs(), ("val", "itd", "lite"), STEPS, CLASSES
    ):
        drop = (0.8 if objective == "echo" else -0.02) * step / max(STEPS)
        ce = 1.9 - drop + 0.1 * CLASSES.index(name) + rng.normal(0, 0.02)
        rows.append(
            {
                "suite": suite, "start": start, "objective": objective, "seed": seed, "step": step,
                "token_class": name, "n_tokens": 400, "n_bytes": 1300, "ce_token_mean": ce, "ce_sequence_mean": ce,
            }
        )  # fmt: skip
    return pd.DataFrame(rows)


def verifier_free() -> pd.DataFrame:
    gains = {("val", "none"): 4, ("pyterm", "clean"): 9, ("itd", "clean"): 5,
             ("lite", "clean"): -4, ("lite", "none"): -6}  # fmt: skip
    return pd.DataFrame(
        {"target_suite": t, "filter": f, "step": step, "pass_rate": 0.4 + g / 100 * step / 60, "n": 400}
        for (t, f), g in gains.items()
        for step in (0, 20, 40, 60)
    )


def env_only_attempts(rng: np.random.Generator) -> pd.DataFrame:
    frames = []
    for target, kept in (("val", "none"), ("val", "clean"), ("lite", "clean")):
        rows = attempts(rng, 12, {target: 3}, {"env_only": 0.2})
        frames.append(
            rows.query("start == 'base_small' and seed == 0").assign(target_suite=target, filter=kept)
        )
    return pd.concat(frames)


def forecast(rng: np.random.Generator) -> pd.DataFrame:
    rows = []
    for (start, objective, seed), low in product(runs(), np.arange(0, 1, 0.1)):
        echo = objective == "echo"
        rows.append(
            {
                "start": start, "objective": objective, "seed": seed, "auroc": 0.85 if echo else 0.7,
                "brier": (0.12 if echo else 0.2) + 0.005 * seed, "low": low, "high": low + 0.1, "count": 40,
                "mean_probability": low + 0.05,
                "success_rate": float(np.clip(low + 0.05 + rng.normal(0, 0.03) + (0 if echo else 0.15), 0, 1)),
            }
        )  # fmt: skip
    return pd.DataFrame(rows)


def controls(rng: np.random.Generator) -> pd.DataFrame:
    variants = {
        "masked_facts": 0.26,
        "shuffled": 0.22,
        "unrelated": 0.24,
        "silent_usage": 0.3,
        "random_machine": 0.25,
    }
    frames = [
        attempts(rng, 12, {"val": 2}, {"echo": gain}).assign(variant=variant)
        for variant, gain in variants.items()
    ]
    return pd.concat(frames).query("start == 'base_small' and step == 60")


def sweeps(rng: np.random.Generator) -> pd.DataFrame:
    frames = []
    for level in (0.0, 0.01, 0.05, 0.2, 0.5):
        gain = 0.45 - 2 * abs(level - 0.05) if level < 0.3 else -0.2
        rows = attempts(rng, 12, {"val": 2}, {"echo": gain}).assign(factor="lambda", level=level)
        frames.append(rows.assign(done=rng.random(len(rows)) > level))
    return pd.concat(frames).query("start == 'base_small' and step == 60")


def write_results(folder: Path) -> Path:
    """All result files of a made-up profile."""
    rng = np.random.default_rng(0)
    folder.mkdir(parents=True)
    control = attempts(np.random.default_rng(1), 12, {"val": 4}, {"masked_facts": 0.26}).query(
        "start == 'base_small'"
    )
    frames = {
        "attempts": pd.concat([attempts(rng, 12, SUITES, GAIN), control], ignore_index=True),
        "train_steps": train_steps(rng), "heldout_ce": heldout_ce(rng),
        "verifier_free": verifier_free(), "env_only_attempts": env_only_attempts(rng),
        "forecast": forecast(rng), "controls": controls(rng), "sweeps": sweeps(rng),
    }  # fmt: skip
    for name, frame in frames.items():
        frame.to_parquet(folder / f"{name}.parquet")
    return folder


@pytest.fixture(scope="session")
def synthetic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_results(tmp_path_factory.mktemp("results") / "synthetic")
