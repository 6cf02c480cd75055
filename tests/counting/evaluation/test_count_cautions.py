"""Intervals, cautions and labels that keep a reader from trusting too much."""

import time

import numpy as np
import pytest

from autoeval.counting.binning import CountBins
from autoeval.counting.evaluation import compare_models, evaluate_counts
from autoeval.counting.evaluation.evaluation_report import (
    all_notes,
    count_ticks,
    evaluation_page,
    plot_scatter,
    plot_tper,
)
from autoeval.counting.measures.bootstrap import bootstrap_intervals
from autoeval.counting.predictions import CountPredictions, read_predictions
from autoeval.errors import InputError

BINS = CountBins((0.0, 5.0, 10.0))


def model(name, target, pred):
    target, pred = (np.array(values, float) for values in (target, pred))
    return CountPredictions(name, tuple(map(str, range(len(target)))), target, pred)


def test_bias_and_smape_have_intervals():
    rng = np.random.default_rng(0)
    target = rng.integers(1, 10, 60)
    pred = (target + rng.normal(1, 2, 60)).clip(0)
    pred[7] = np.nan
    found = evaluate_counts(model("m", target, pred), BINS, n_resamples=300)
    for name in ("bias", "sMAPE"):
        interval = found.intervals[name]
        assert interval.value == pytest.approx(found.measures[name])
        assert interval.low < interval.value < interval.high
    assert found.intervals["bias"].low > 0, "one more on average, clearly"
    # The skipped answer scores 100 and is drawn like any other.
    assert found.intervals["sMAPE"].high < 100


def test_a_single_image_has_no_interval():
    found = evaluate_counts(model("m", [4], [7]), BINS, n_resamples=20)
    for name, interval in found.intervals.items():
        assert np.isnan([interval.low, interval.high]).all(), name
    assert str(found.intervals["MAE"]) == "3"
    assert "nan" not in evaluation_page([found]).render().split("<main>")[1].lower()


def test_rows_of_drawn_images_come_together():
    """Image b has two rows: the mean of 1, 5, 5 is the only one that draws it twice and a once."""
    values, images = np.array([1.0, 5, 5]), ["a", "b", "b"]
    means = set()
    bootstrap_intervals(
        lambda rows: {"m": means.add((len(rows), values[rows].mean())) or 0.0}, images
    )
    assert means == {(2, 1.0), (3, 11 / 3), (4, 5.0)}


def test_no_winner_in_a_bin_of_one_image():
    target = [1, 2, 8]
    one, two = (
        evaluate_counts(model(name, target, pred), BINS, n_resamples=10)
        for name, pred in (("one", [1, 2, 8]), ("two", [3, 4, 9]))
    )
    found = compare_models([one, two]).per_bin
    assert found["n"].tolist() == [2, 1]
    assert found["winner"].tolist() == ["one", "one image"]


def test_the_pooled_std_is_said_to_depend_on_the_bins():
    found = evaluate_counts(model("m", [1, 2, 8, 9], [1, 4, 8, 19]), BINS, n_resamples=10)
    [note] = all_notes([found])
    # Errors 0, 2 and 0, 10. These bins: sqrt((1 + 25) / 2); one bin twice over: std of all four.
    assert "With these, half as many, twice as many, and one: m 3.606, 4.123, 3.606, 4.123" in note


def test_what_is_said_of_all_models_is_said_once():
    evaluations = [
        evaluate_counts(model(name, [0, 4, 8, 30], pred), BINS, n_resamples=10)
        for name, pred in (("one", [0, 4, 8, 30]), ("two", [0, 4, 8, -3]))
    ]
    notes = all_notes(evaluations)
    assert sum("true counts lie outside the bins" in note for note in notes) == 1
    assert not any(note.startswith("two: 1 of 4 true counts") for note in notes)


def test_absurd_predictions_are_named():
    found = evaluate_counts(model("m", [1, 2, 8], [1e9, 2, 8]), BINS, n_resamples=10)
    assert "1 of 3 predictions are over 1000 times the largest true count (8)" in found.notes[-1]


@pytest.mark.parametrize("number", ["1e300", "9" * 300, "inf"])
def test_what_is_no_count_is_refused(tmp_path, number):
    (tmp_path / "m.csv").write_text(f"a,1,1\nb,2,{number}\n")
    with pytest.raises(InputError, match=r"numbers up to 1e\+12, but 1 of 2 rows do not \(ids: b"):
        read_predictions(tmp_path / "m.csv")


def test_curves_show_their_number_and_axes_their_ticks():
    evaluations = [
        evaluate_counts(model(name, [1, 20, 300], [2, 10, 400]), BINS, n_resamples=10)
        for name in ("a", "b")
    ]
    legend = plot_tper([(e.name, e.curves["relative"]) for e in evaluations]).axes[0].get_legend()
    assert all("n = 3" in text.get_text() for text in legend.get_texts())
    for axes in plot_scatter(evaluations).axes:
        for axis in (axes.xaxis, axes.yaxis):
            assert [t.get_text() for t in axis.get_ticklabels()] == ["0", "1", "5", "10", *more()]


def more():
    return ["50", "100", "500"]


def test_ticks_are_few_and_hold_zero():
    for low, high in ((0, 3), (0, 1e6), (-1e6, 1e6), (0, 0.5)):
        ticks = count_ticks(low, high)
        assert 0 in ticks and len(ticks) <= 7, (low, high, ticks)


def test_many_ids_take_no_time(tmp_path):
    """A truth and predictions of 60,000 ids, some of which the other lacks."""
    n = 60_000
    (tmp_path / "pred.csv").write_text("id,pred\n" + "".join(f"i{k},{k % 50}\n" for k in range(n)))
    truth = {f"i{k}": float(k % 40) for k in range(5, n + 5)}
    start = time.process_time()
    found = read_predictions(tmp_path / "pred.csv", truth)
    evaluate_counts(found, CountBins((0.0, 10.0, 40.0)), n_resamples=20)
    assert time.process_time() - start < 15
    assert len(found) == n - 5
