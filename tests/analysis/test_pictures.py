"""Pictures of the notebooks: what stands where, read back from the axes; and the sentences beside them."""

from types import SimpleNamespace

import matplotlib.pyplot as plt
import pandas as pd
import pytest

from echo_terminal.analysis import behaviour_pictures, knowledge_pictures, names, sentences
from echo_terminal.analysis.behaviour_changes import changes, command_shares, solved_by_step

NAN = float("nan")


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def legend(figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def frame(**columns: list) -> pd.DataFrame:
    return pd.DataFrame({"start": "sft", "seed": 0, "suite": "val"} | columns)


def test_sentences() -> None:
    assert sentences.with_bounds(-1.25, -2, 0.5, 1, " points") == "−1.2 points [−2.0, +0.5]"
    assert sentences.with_bounds(1, NAN, NAN) == "+1.0 (too few runs for an interval)"
    assert [sentences.side(*b, "less", "more") for b in ((-2, -1), (1, 2), (-1, 1))] == [
        "less", "more", "no clear difference",
    ]  # fmt: skip
    row = SimpleNamespace(before=NAN, grpo=0.5, echo=0.25, gap=-0.25, low=-0.3, high=-0.2)
    assert sentences.arms(row, 0, 100, " %") == "50 % after GRPO, 25 % after ECHO; ECHO − GRPO −25 [−30, −20]"
    assert sentences.arms(SimpleNamespace(**vars(row) | {"before": 1.0}), 1).startswith("1.0 before RL, ")


def test_bars_are_means_over_seeds_in_the_order_of_legends() -> None:
    rows = frame(
        objective=["echo", "echo", "start", "grpo"], seed=[0, 1, 0, 0], measure="a", value=[1.0, 3.0, 5.0, 7.0],
        floor=0.5,
    )  # fmt: skip
    figure = knowledge_pictures.bars(rows, ["a"], "measure", "value", "nats", "floor")
    assert [bar.get_height() for bar in figure.axes[0].patches] == [5.0, 7.0, 2.0]
    assert set(legend(figure)) == {"before RL", "GRPO", "ECHO", "floor"}
    assert figure.axes[0].get_title() == "SFT start"
    (whiskers,) = figure.axes[0].collections[2].get_segments()
    assert whiskers[:, 1].tolist() == [1.0, 3.0]


def test_every_picture_of_knowledge_names_its_arms() -> None:
    arms = ["start", "grpo", "echo", "masked_facts"]
    ce = frame(
        objective=arms,
        step=[0, 9, 9, 9],
        ce_token_mean=0.5,
        floor_token_mean=0.1,
        token_class="fact",
        n_tokens=3,
    )
    bins = frame(objective=arms, low=0.1, count=6, mean_probability=0.2, success_rate=0.5)
    gains = frame(objective=arms, gain=0.1, low=0.0, high=0.2)
    points = frame(objective=arms, step=9, ce=0.3, passed=0.5, task_id="t", ce_token_mean=0.3)
    shown = [names.label(o) for o in arms]
    assert set(shown) < set(legend(knowledge_pictures.ce_curves(ce, ["val"])))
    assert set(shown[:3]) < set(legend(knowledge_pictures.classes(ce, ["val"])))
    assert set(legend(knowledge_pictures.calibration(bins))) == set(shown)
    assert set(legend(knowledge_pictures.knowing_and_solving(points, points))) == set(shown)
    lanes = knowledge_pictures.reranking(gains).axes[0].get_yticklabels()
    assert [t.get_text() for t in lanes] == shown[::-1]


def test_bins_with_few_commands_are_not_drawn() -> None:
    bins = frame(
        objective="echo", low=[0.1, 0.2], count=[4, 5], mean_probability=[0.1, 0.2], success_rate=0.5
    )
    line = knowledge_pictures.calibration(bins).axes[0].lines[0]
    assert line.get_xdata().tolist() == [0.2]


def test_a_legend_fits_its_figure() -> None:
    arms = [
        "start",
        "grpo",
        "echo_05",
        "echo_1",
        "echo_2",
        "echo",
        "echo_full",
        "masked_facts",
        "shuffled",
        "unrelated",
    ]
    rows = frame(objective=arms, measure="a", value=1.0)
    figure = knowledge_pictures.bars(rows, list("abc"), "measure", "value", "nats")
    figure.canvas.draw()
    box = figure.legends[0].get_window_extent()
    assert box.x0 >= 0 and box.x1 <= figure.bbox.x1


def test_pictures_of_behaviour() -> None:
    titles = {"pass": "passes", "errors": "commands that fail"}
    changed = frame(statistic=["errors", "pass"], change=[-0.2, 0.1], low=[-0.3, 0.0], high=[-0.1, 0.2])
    axis = behaviour_pictures.changes(changed, titles).axes[0]
    assert [t.get_text() for t in axis.get_yticklabels()] == ["commands that fail", "passes"]
    assert axis.lines[1].get_xdata().tolist() == [-20.0, 10.0]
    assert behaviour_pictures.by_suite(changed, ["loops"], titles) is None
    figure = behaviour_pictures.by_suite(changed, ["pass"], titles)
    assert figure and figure.axes[0].get_title() == "passes"
    seeds = frame(objective=["start", "echo"], statistic="pass", value=0.5, low=0.4, high=0.6)
    lanes = behaviour_pictures.seeds(seeds, ["pass"], titles).axes[0].get_yticklabels()
    assert [t.get_text() for t in lanes] == ["ECHO, seed 0", "before RL"]
    flow = frame(objective="echo", turn=[0, 0, 1], phase_of_turn=["look", "run", "run"], n=[3, 1, 2])
    bars = behaviour_pictures.phases(flow, ["echo"], ["look", "run"]).axes[0].patches
    assert [bar.get_height() for bar in bars] == [75.0, 0.0, 25.0, 50.0]


def test_shares_of_commands_by_hand() -> None:
    """8 of 10 commands run the machine's tools (two names, one lane), one program is common, one rare."""
    mix = frame(objective="echo", program=["bove", "lezo", "ls", ""], commands=[500, 300, 199, 1], errors=0)
    shares = command_shares(mix, {"bove", "lezo"}).set_index("program")["share"]
    assert shares.to_dict() == pytest.approx({"site tool": 80.0, "ls": 19.9, "others": 0.1})


def test_solved_by_step_counts_what_was_solved_up_to_it() -> None:
    first = frame(objective="echo", task_id=["a", "b", "c", "d"], first_success=[25.0, 50.0, 50.0, NAN])
    assert solved_by_step(first, [25, 50])["solved"].tolist() == [25.0, 75.0]


def test_tasks_drawn_within_their_template_leave_no_spread_between_templates() -> None:
    """One template always passes and one never: within templates every draw is the same, over all tasks it is not."""
    rows = [
        {"start": "sft", "suite": "val", "objective": o, "seed": s, "task_id": t, "attempts": 1}
        | {"passed": float(o == "echo" and t in "ab")}
        for o in ("grpo", "echo") for s in (0, 1) for t in "abcd"
    ]  # fmt: skip
    sums = [pd.DataFrame(rows).rename(columns={"passed": "passes"})]
    from echo_terminal.analysis.behaviour import STATISTICS

    above, below = STATISTICS["pass"]
    sums = [sums[0].rename(columns={"passes": above, "attempts": below})]
    (plain,) = changes(sums).to_dict("records")
    (within,) = changes(sums, templates={"a": "x", "b": "x", "c": "y", "d": "y"}).to_dict("records")
    assert plain["change"] == within["change"] == 0.5
    assert plain["low"] < 0.5 < plain["high"] and within["low"] == within["high"] == 0.5
