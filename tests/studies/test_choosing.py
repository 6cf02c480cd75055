"""What is chosen on some detectors, and that the one left out has no say in it."""

import numpy as np
import pandas as pd
import pytest

from autoeval.cli import main
from autoeval.errors import InputError
from autoeval.results.studies import chosen_prior
from autoeval.results.studies.chosen_prior import choose_report
from autoeval.studies.choosing import (
    START,
    Choice,
    choose,
    evaluate_all,
    mean_loss,
    weighted_interval_score,
)
from tests.studies.test_transfer import scores

FEW_STEPS = {"rise": (0.24,)}
STEPS = {"rise": (0.2, 0.24, 0.28), "bending": (0.0, 0.05)}


def made_up(choice):
    """Losses in a world where `a` and `b` want one rise, `c` another, and none any bending."""
    wanted = {"a": 0.28, "b": 0.28, "c": 0.2}
    rise, bending = choice.prior.rise, choice.prior.bending
    losses = {name: 1 + 2.5 * abs(rise - best) + bending for name, best in wanted.items()}
    return pd.DataFrame({"detector": losses.keys(), "loss": losses.values()})


def test_the_loss_is_relative_for_each_detector():
    base, other = made_up(START), made_up(START).assign(loss=[2.3, 2.3, 1.15])
    # the first rise, .24, is .04 off everywhere, and bends by .05: losses 1.15
    assert mean_loss(other, base, ["a", "c"]) == pytest.approx((2 + 1) / 2)


@pytest.mark.parametrize(("detectors", "rise"), [("ab", 0.28), ("c", 0.2), ("abc", 0.28)])
def test_the_detectors_that_count_decide(detectors, rise):
    best = choose(made_up, list(detectors), STEPS)
    assert (best.prior.rise, best.prior.bending) == (rise, 0.0)


def test_the_score_is_least_for_the_true_quantiles():
    """Of truths from a uniform distribution the middle 90 % and their middle cost least."""
    told = pd.DataFrame({"true": (np.arange(1000) + 0.5) / 1000, "constant": 0.5})
    costs = {
        (off, value): weighted_interval_score(
            told.assign(lower=off, upper=1 - off, estimate=value)
        ).mean()
        for off in (0.0, 0.02, 0.05, 0.1, 0.2)
        for value in (0.3, 0.5, 0.6)
    }
    assert min(costs, key=costs.get) == (0.05, 0.5)


def test_what_is_not_told_costs_as_if_everything_were_possible():
    nothing = {"lower": np.nan, "upper": np.nan, "estimate": np.nan}
    cost = weighted_interval_score(pd.DataFrame({"true": [0.3], "constant": [0.5], **nothing}))
    assert cost[0] == pytest.approx((0.5 * 0.2 + 0.05 * 1.0) / 1.5)


def test_every_way_is_evaluated_and_scores_that_a_table_lacks_are_left_out():
    table = scores().drop(columns="scale_ap@0.30", errors="ignore")
    evaluated = evaluate_all({"one": table}, Choice(), sizes=(2, 40), draws=1)
    assert list(evaluated["way"].drop_duplicates()) == [
        "families left out",
        "0 and a set",
        "2",
        "2 and a set",
    ]
    assert np.isfinite(evaluated["loss"]).all()


def test_the_report_tells_what_each_detector_was_evaluated_by():
    tables = {"one": scores(), "two": scores().assign(mAP=lambda t: 0.8 * t["mAP"])}
    report = choose_report(tables, steps={"rise": (0.2, 0.24)}, draws=1)
    chosen, worth, options = (part.table for part in report.parts)
    assert list(chosen["left out"]) == ["one", "two", "none left out"]
    assert list(worth["by"]) == ["the first guess", "chosen without it", "chosen on all"] * 2
    assert (worth.loc[worth["by"] == "the first guess", "loss"] == 1).all()
    assert list(options["option"]) == ["0.2", "0.24"] and 1.0 in set(options["one"])
    with pytest.raises(InputError, match="one: expected places of 3 families or more, got 1"):
        choose_report({"one": scores().query("family == 'family1'")})


def test_the_command_reads_the_tables_of_each_detector(tmp_path, monkeypatch, capsys):
    def with_few_steps(tables, *, draws, seed):
        return choose_report(tables, FEW_STEPS, draws=draws, seed=seed)

    monkeypatch.setattr(chosen_prior, "choose_report", with_few_steps)
    table = scores().assign(sample_set="own")
    for name in ("one", "two"):
        table.to_parquet(tmp_path / f"{name}.parquet")
    of = [["--of", name, str(tmp_path / f"{name}.parquet")] for name in ("one", "two")]
    assert main(["study", "choose", *of[0], *of[1], "--draws", "1", "--out", str(tmp_path)]) == 0
    assert "chosen without it" in capsys.readouterr().out
    assert (tmp_path / "choose_worth.csv").is_file()
    assert main(["study", "choose", "--of", "one"]) == 2
    assert "--of one: expected NAME PATH" in capsys.readouterr().err
    table.drop(columns="atc@0.30").to_parquet(tmp_path / "old.parquet")
    assert main(["study", "choose", *of[0], str(tmp_path / "old.parquet")]) == 2
    assert "old.parquet lacks the scores atc@0.30" in capsys.readouterr().err
