"""The gate on losses whose intervals are known by hand."""

import math

import pandas as pd
import pytest

from autoeval.comparison.comparison import (
    Comparison,
    Gate,
    PairForecast,
    check_max_loss,
    loss_to,
)
from autoeval.errors import InputError
from autoeval.labels.joint import Outlook
from autoeval.labels.values import ValueWithError, VariancePrior
from autoeval.report.comparison import loss_lines

Z = 1.6448536  # of a 90 % interval


def judged(value, half, max_loss=0.02):
    """Of a loss with a 90 % interval of `value` +- `half`."""
    return loss_to("current", PairForecast(ValueWithError(value, half / Z), None), max_loss, 0.9)


@pytest.mark.parametrize(
    ("value", "half", "outcome"),
    [
        (0.0, 0.019, "passed"),  # -1.9 to 1.9 excludes a loss of more than 2
        (-0.05, 0.06, "passed"),  # may be better or worse, but not by more than 2
        (0.05, 0.029, "failed"),  # 2.1 to 7.9
        (0.07, 0.06, "undecided"),  # 1 to 13: a loss of 7 is likely, but not known
        (0.0, 0.1, "undecided"),
        (0.02, 0.0, "passed"),  # exactly what is allowed
        (1 - 49 / 50, 0.0, "passed"),  # 50 less 49 of 50 objects, .02 but for rounding
        (0.0201, 0.0, "failed"),
    ],
)
def test_the_whole_interval_decides(value, half, outcome):
    assert judged(value, half).outcome == outcome


def test_the_candidate_is_the_detector_that_was_given_first():
    """Also where the sites are not kept; the ranking has the best detector first."""
    seen = PairForecast(ValueWithError(-0.05, 0.01), None)  # of new less old
    comparison = Comparison(
        "mAP",
        0.9,
        **seen.turned().difference.inside(0.9, -1.0),
        per_category={},
        n_images=200,
        n_labelled=0,
        ranking=pd.DataFrame({"detector": ["old", "new"]}),
        pairs=pd.DataFrame(),
        forecasts={("new", "old"): seen},
    )
    gate = comparison.gate(0.01)
    assert gate.candidate == "new" and gate.outcome == "failed"


def test_one_failed_loss_fails_and_one_undecided_leaves_open():
    passed, undecided, failed = judged(0.0, 0.01), judged(0.03, 0.1), judged(0.1, 0.01)
    assert Gate("new", 0.02, 0.9, (passed, passed)).outcome == "passed"
    assert Gate("new", 0.02, 0.9, (passed, undecided)).outcome == "undecided"
    gate = Gate("new", 0.02, 0.9, (passed, undecided, failed))
    assert gate.outcome == "failed" and gate.decisive is failed


def test_labels_that_are_likely_to_decide():
    """Without a prior, an estimate 4 points from the border needs a half-width of 4.

    One labelled image has a standard deviation of .2 with many degrees of freedom, so k of 10,000
    have 1.645 * .2 / sqrt(k) = .04 at k = 67.7.
    """
    vague = ValueWithError(0.06, 0.0245)  # 4 points beyond the border, a half-width of 4.03
    outlook = Outlook(VariancePrior(0.04, 1e6), 10_000)
    forecast = PairForecast(vague, outlook)
    # today's error is as small as that of some 67 labels: these decide every other time
    assert 60 <= forecast.labels_to_decide(0.02, 0.9) <= 80
    further = PairForecast(ValueWithError(0.10, 0.0245), outlook)
    assert further.labels_to_decide(0.02, 0.9) < forecast.labels_to_decide(0.02, 0.9)
    assert forecast.turned().difference.value == -0.06
    assert PairForecast(vague, None).labels_to_decide(0.02, 0.9) is None


def test_all_labels_decide_what_nothing_else_does():
    """At the border itself the sign stays open until nothing is unknown."""
    outlook = Outlook(VariancePrior(0.04, 1e6), 300)
    known = PairForecast(ValueWithError(0.02, 1e-9), outlook, n_labelled=100)
    assert known.labels_to_decide(0.02, 0.9) == 200


@pytest.mark.parametrize("loss", [math.nan, math.inf, -0.01, 1.0])
def test_losses_that_no_detector_can_have_are_refused(loss):
    with pytest.raises(InputError, match="--max-loss"):
        check_max_loss(loss)


def test_the_printed_interval_of_a_loss_agrees_with_its_outcome():
    """An upper end of 2.04 points was printed as the 2.0 that is allowed, and undecided."""
    undecided, failed = judged(0.0, 0.0204), judged(0.0204 + 0.01, 0.01)
    first, second = loss_lines(Gate("new", 0.02, 0.9, (undecided, failed)))
    assert (undecided.outcome, failed.outcome) == ("undecided", "failed")
    assert "to 2.04)" in first and "interval 2.04 to" in second


@pytest.mark.parametrize(("allowed", "words"), [(0.01, "1 point"), (0.0, "0 points")])
def test_one_point_is_singular(allowed, words):
    assert str(Gate("new", allowed, 0.9, (judged(0.0, 0.0),))).endswith(f"may lose {words}")
