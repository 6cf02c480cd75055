"""Evaluation, comparison, files and the command, end to end."""

import json
import time

import numpy as np
import pandas as pd
import pytest

from autoeval import cli
from autoeval.counting.binning import CountBins, released_bins
from autoeval.counting.evaluation.evaluation_report import (
    CountReport,
    count_ticks,
    plot_scatter,
    plot_tper,
)
from autoeval.counting.evaluation.model_measures import (
    compare_models,
    evaluate_counts,
    pooled_std_warnings,
)
from autoeval.counting.predictions import CountPredictions, read_predictions
from autoeval.errors import InputError

BINS = CountBins((0.0, 5.0, 10.0))
TARGET = np.array([0.0, 4.0, 6.0, 9.0, 30.0])


def evaluate(pred, name="m", *, target=TARGET, n_resamples=10, **options):
    """Evaluate predictions of images called 0, 1, ..."""
    target, pred = (np.array(values, float) for values in (target, pred))
    ids = tuple(map(str, range(len(target))))
    predictions = CountPredictions(name, ids, target, pred)
    return evaluate_counts(predictions, BINS, n_resamples=n_resamples, **options)


def test_measures_by_hand_in_both_modes():
    evaluation = evaluate([0, 5, 6, 6, 20])
    assert evaluation.measures["pooled MAE"] == evaluation.measures["MAE"] == 14 / 5
    # Within bins: 0, 1 (variance 1/4); 0, 3 (9/4); 10 alone.
    assert evaluation.measures["pooled std"] == pytest.approx(np.sqrt((2 * 0.25 + 2 * 2.25) / 5))
    assert evaluation.measures["MAPE"] == pytest.approx(100 * (1 / 4 + 0 + 1 / 3 + 1 / 3) / 4)
    smape = (0 + 1 / 9 + 0 + 3 / 15 + 10 / 50) / 5
    assert evaluation.measures["sMAPE"] == pytest.approx(100 * smape)
    assert [evaluation.measures[n] for n in ("images", "skipped", "without objects")] == [5, 0, 1]
    assert evaluation.measures["outside the bins"] == 1
    assert "1 of 5 true counts lie outside the bins (0 to 10): they enter" in evaluation.notes[0]
    assert "1 of 5 images have no objects" in evaluation.notes[1]
    evaluation = evaluate([0, 5, 6, 6, 20], mode="released")
    assert evaluation.measures["pooled MAE"] == 1 and evaluation.measures["MAE"] == 14 / 5
    assert "drop" in evaluation.notes[0]
    assert evaluation.intervals["pooled MAE"].value == 1


@pytest.mark.parametrize("mode", ["paper", "released"])
def test_the_note_on_the_pooled_std_begins_with_that_of_the_table(mode):
    evaluation = evaluate([0, 5, 6, 6, 20], mode=mode)
    (note,) = pooled_std_warnings([evaluation])
    stated = float(note.split(": m ")[1].split(",")[0])
    assert stated == pytest.approx(evaluation.measures["pooled std"], rel=1e-3)


@pytest.mark.parametrize(
    ("mode", "errors"), [("paper", [0, 1, 0, 3, 10]), ("released", [0, 1, 0, 3])]
)
def test_the_pooled_std_on_one_bin_is_of_the_images_that_the_mode_pools(mode, errors):
    (note,) = pooled_std_warnings([evaluate([0, 5, 6, 6, 20], mode=mode)])
    assert float(note.rsplit(", ", 1)[1]) == pytest.approx(np.std(errors), rel=1e-3)


def test_no_interval_depends_on_the_order_of_the_images():
    rng = np.random.default_rng(0)
    target = rng.integers(0, 10, 40)
    ids = np.array([f"i{k}" for k in range(40)])
    columns = target, target + rng.integers(-3, 4, 40), target + rng.integers(-3, 4, 40)

    def compared(order):
        truth, a, b = (column[order].astype(float) for column in columns)
        names = tuple(ids[order])
        models = [CountPredictions(n, names, truth, p) for n, p in (("a", a), ("b", b))]
        evaluations = [evaluate_counts(model, BINS, n_resamples=50) for model in models]
        pairs = compare_models(evaluations, n_resamples=50).pairs.iloc[0]
        return [
            *pairs[["MAE A - B", "low", "high", "Wilcoxon p"]],
            evaluations[0].intervals["MAE"].low,
        ]

    assert compared(np.arange(40)) == pytest.approx(compared(rng.permutation(40)))


def test_a_skipped_answer_costs_smape_only():
    evaluation = evaluate([0, 4, 6, np.nan, 30])
    assert evaluation.measures["MAE"] == 0 and evaluation.measures["sMAPE"] == 20
    assert evaluation.measures["skipped"] == 1 and evaluation.measures["counted"] == 4
    with pytest.raises(InputError, match="nothing to evaluate"):
        evaluate([np.nan] * 5)
    evaluation = evaluate([1e9, 2, 8], target=[1, 2, 8])
    assert (
        "1 of 3 predictions are over 1000 times the largest true count (8)" in evaluation.notes[-1]
    )


def test_intervals_use_the_same_formulas_and_a_single_image_has_none():
    rng = np.random.default_rng(0)
    target = rng.integers(1, 10, 60)
    pred = (target + rng.normal(1, 2, 60)).clip(0)
    pred[7] = np.nan
    evaluation = evaluate(pred, target=target, n_resamples=300)
    for name, interval in evaluation.intervals.items():
        assert interval.value == pytest.approx(evaluation.measures[name])
        assert interval.low < interval.value < interval.high
    assert evaluation.intervals["bias"].low > 0, "one more on average, clearly"
    # The skipped answer scores 100 and is drawn like any other.
    assert evaluation.intervals["sMAPE"].high < 100
    evaluation = evaluate([7], target=[4])
    for name, interval in evaluation.intervals.items():
        assert np.isnan([interval.low, interval.high]).all(), name
    assert str(evaluation.intervals["MAE"]) == "3"
    assert "nan" not in CountReport([evaluation]).page().render().split("<main>")[1].lower()


def test_the_winner_of_each_bin_and_models_that_cannot_be_compared():
    good_small = evaluate([0, 4, 9, 9, 0], "small")
    good_large = evaluate([3, 4, 6, 6, 30], "large")
    comparison = compare_models([good_small, good_large])
    assert comparison.per_bin["winner"].tolist() == ["small", "tie", "one image"]
    assert comparison.per_bin["winner of std"].tolist() == ["small", "tie", "one image"]
    assert comparison.per_bin["mean: small"].tolist() == [0, 1.5, 30]
    [pair] = comparison.pairs.to_dict("records")
    assert pair["MAE A - B"] == pytest.approx((33 - 6) / 5)
    assert (pair["A nearer"], pair["B nearer"], pair["equal"]) == (2, 2, 1)
    one = evaluate([0, 4, 9, 9, 0])
    with pytest.raises(InputError, match="different names"):
        compare_models([one, one])
    other = evaluate_counts(
        CountPredictions("o", tuple("01234"), TARGET, np.zeros(5)),
        CountBins((0.0, 50.0)),
        n_resamples=10,
    )
    with pytest.raises(InputError, match="different images or bins"):
        compare_models([one, other])


def test_the_same_errors_in_another_order_are_a_tie():
    target, ids = np.full(7, 50.0), tuple("abcdefg")
    errors = {"first": [1, 5, 2, 4, 5, 8, 7], "second": [1, 2, 7, 4, 5, 8, 5]}
    models = [CountPredictions(name, ids, target, target + e) for name, e in errors.items()]
    first, second = (evaluate_counts(m, CountBins((0.0, 100.0)), n_resamples=1) for m in models)
    [row] = compare_models([first, second], n_resamples=1).per_bin.to_dict("records")
    assert (row["winner"], row["winner of std"]) == ("tie", "tie")


def test_bins_that_hold_no_true_count_are_refused_where_others_are_dropped():
    counts = CountPredictions("m", ("a", "b"), np.array([0.0, 40.0]), np.array([1.0, 40.0]))
    ucf = CountBins((49.0, 100.0, 12865.0))
    assert evaluate_counts(counts, ucf, n_resamples=1).measures["pooled MAE"] == 0.5
    with pytest.raises(InputError, match=r"all 2 true counts lie outside the bins \(49 to 12865\)"):
        evaluate_counts(counts, ucf, mode="released", n_resamples=1)


@pytest.mark.filterwarnings("ignore:Glyph")
def test_charts_take_any_name():
    names = ("_hidden", "$x_{", "a\nb", "数")
    evaluations = [evaluate([0, 4, 9, 9, 0], name) for name in names]
    page = CountReport(evaluations, compare_models(evaluations)).page()
    assert page.render().count("data:image/") == 3
    legend = plot_tper([(e.name, e.curves["relative"]) for e in evaluations]).axes[0].get_legend()
    assert len(legend.get_texts()) == 4


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Two prediction files, one with a hostile name and a skipped answer."""
    rng = np.random.default_rng(1)
    target = rng.geometric(0.03, 40)
    monkeypatch.chdir(tmp_path)
    names = ("good", "<img src=x onerror=alert(1)>")
    for name, spread in zip(names, (0.1, 0.4), strict=True):
        pred = (target * rng.lognormal(0, spread, 40)).round(2).astype(object)
        pred[3] = "" if name != "good" else pred[3]
        rows = [f"{i},{t},{p}" for i, (t, p) in enumerate(zip(target, pred, strict=True))]
        (tmp_path / f"{name}.csv").write_text("\n".join(rows))
    return [f"{name}.csv" for name in names]


def test_the_command_on_one_file_and_twice(files, tmp_path, capsys):
    (tmp_path / "train.csv").write_text("x,0\ny,400\n")
    assert cli.main(["count", "evaluate", files[0], "--fit-bins", "train.csv"]) == 0
    printed = capsys.readouterr().out
    assert "pooled MAE" in printed and "--fit-bins" not in printed
    written = {path.name for path in (tmp_path / "count_evaluation").rglob("*") if path.is_file()}
    names = ("measures", "intervals", "per_bin", "tper")
    tables = {f"{name}.{suffix}" for name in names for suffix in ("csv", "json", "md")}
    figures = {f"{n}.{suffix}" for n in ("bins", "tper", "scatter") for suffix in ("png", "svg")}
    assert written == {*tables, *figures, "bins.json", "evaluation.json", "report.html"}
    content = json.loads((tmp_path / "count_evaluation" / "evaluation.json").read_text())
    frame = pd.read_csv(files[0], names=["id", "target", "pred"])
    mae = (frame["pred"] - frame["target"]).abs().mean()
    assert content["models"][0]["measures"]["MAE"] == pytest.approx(mae)
    assert content["models"][0]["bins"]["edges"] == list(released_bins(0, 400).edges)
    for out in ("one", "two"):
        cli.main(["count", "evaluate", files[0], "--work-dir", out])
    files = [path for path in (tmp_path / "one").rglob("*") if path.is_file()]
    assert len(files) == 21
    for path in files:
        again = tmp_path / "two" / path.relative_to(tmp_path / "one")
        assert path.read_bytes() == again.read_bytes(), path.name


def test_the_command_compares_and_shows_names_as_text(files, tmp_path, capsys):
    assert cli.main(["count", "evaluate", *files, "--work-dir", "out", "--gamma", "0.3"]) == 0
    printed = capsys.readouterr().out
    assert "winner" in printed and "Wilcoxon p" in printed
    assert "1 images that a model skipped" in printed and "evaluated here" in printed
    page = (tmp_path / "out" / "report.html").read_text()
    assert "<img src=x" not in page and "&lt;img src=x onerror=alert(1)&gt;" in page
    assert page.count("data:image/") == 3
    comparison = pd.read_csv(tmp_path / "out" / "comparison.csv")
    assert comparison["n"].sum() == 39
    measures = pd.read_csv(tmp_path / "out" / "measures.csv")
    assert measures["skipped"].tolist() == [0, 1] and measures["counted"].tolist() == [39, 39]


def test_files_of_an_earlier_comparison_are_removed(files, tmp_path):
    def written():
        return {path.name for path in (tmp_path / "out").rglob("*") if path.is_file()}

    for predictions in (files, files[:1]):
        (tmp_path / "out").mkdir(exist_ok=True)
        (tmp_path / "out" / "own.csv").write_text("of somebody else")
        assert cli.main(["count", "evaluate", *predictions, "--work-dir", "out"]) == 0
        compared = {f"{n}.{suffix}" for n in ("comparison", "pairs") for suffix in ("csv", "json")}
        assert compared & written() == (compared if predictions == files else set())
    assert {"own.csv", "measures.csv", "bins.png", "bins.svg"} <= written()
    (tmp_path / "out" / "pairs.csv").write_text("of somebody else")
    assert cli.main(["count", "evaluate", files[0], "--work-dir", "out"]) == 0
    assert "pairs.csv" in written()


def test_different_data_sets_side_by_side(files, tmp_path, capsys):
    (tmp_path / "other.csv").write_text("x,0,1\ny,7,7\nz,90,80\n")
    assert cli.main(["count", "evaluate", files[0], "other.csv"]) == 2
    assert "no image in common" in capsys.readouterr().err
    assert cli.main(["count", "evaluate", files[0], "--work-dir", "o"]) == 0
    assert (tmp_path / "o" / "bins.json").exists()
    capsys.readouterr()
    argv = [files[0], "other.csv", "--separate", "--work-dir", "o"]
    assert cli.main(["count", "evaluate", *argv]) == 0
    assert "winner" not in capsys.readouterr().out
    content = json.loads((tmp_path / "o" / "evaluation.json").read_text())
    assert [m["measures"]["images"] for m in content["models"]] == [40, 3]
    assert content["models"][1]["bins"]["edges"] == list(released_bins(0, 90).edges)
    assert not (tmp_path / "o" / "bins.json").exists()
    page = (tmp_path / "o" / "report.html").read_text()
    assert page.count("data:image/") == 4  # bars of each, one of all curves, one of all points


def test_gamma_by_cross_validation_and_a_separate_truth(files, tmp_path, capsys):
    frame = pd.read_csv(files[0], names=["id", "target", "pred"])
    frame[["id", "target"]].rename(columns={"target": "count"}).to_csv("truth.csv", index=False)
    frame[["id", "pred"]].iloc[5:].to_csv("pred.csv", index=False)
    argv = ["pred.csv", "--truth", "truth.csv", "--gamma", "cv", "--work-dir", "out"]
    assert cli.main(["count", "evaluate", *argv]) == 0
    assert "5 images of the truth have no prediction" in capsys.readouterr().out
    gamma = json.loads((tmp_path / "out" / "bins.json").read_text())["gamma"]
    assert gamma in np.arange(1, 10) / 10


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["good.csv", "good.csv"], "given twice"),
        (["same.csv"], "give --bins"),
        (["good.csv", "--gamma", "2"], "between 0 and 1"),
    ],
)
def test_bad_input_is_a_message_and_status_2(files, tmp_path, capsys, argv, message):
    (tmp_path / "same.csv").write_text("a,3,1\nb,3,2\n")
    assert cli.main(["count", "evaluate", *argv]) == 2
    captured = capsys.readouterr()
    assert message in captured.err and "Traceback" not in captured.err
    assert not (tmp_path / "count_evaluation").exists()


def test_a_gamma_that_is_no_number_is_refused(files, capsys):
    assert cli.main(["count", "evaluate", files[0], "--gamma", "half"]) == 2
    assert "a number or cv but got 'half'" in capsys.readouterr().err


def test_what_is_said_of_all_models_is_said_once():
    evaluation = evaluate([1, 4, 8, 19], target=[1, 2, 8, 9])
    [note] = CountReport([evaluation]).all_notes()
    # Errors 0, 2 and 0, 10. These bins: sqrt((1 + 25) / 2); one bin twice over: std of all four.
    assert "With these, half as many, twice as many, and one: m 3.606, 4.123, 3.606, 4.123" in note
    target = [0, 4, 8, 30]
    both = (("one", target), ("two", [0, 4, 8, -3]))
    notes = CountReport([evaluate(p, name, target=target) for name, p in both]).all_notes()
    assert sum("true counts lie outside the bins" in note for note in notes) == 1
    assert not any(note.startswith("two: 1 of 4 true counts") for note in notes)


def test_curves_show_their_number_and_axes_few_ticks():
    evaluations = [evaluate([2, 10, 400], name, target=[1, 20, 300]) for name in "ab"]
    legend = plot_tper([(e.name, e.curves["relative"]) for e in evaluations]).axes[0].get_legend()
    assert all("n = 3" in text.get_text() for text in legend.get_texts())
    for axes in plot_scatter(evaluations).axes:
        for axis in (axes.xaxis, axes.yaxis):
            shown = [t.get_text() for t in axis.get_ticklabels()]
            assert shown == ["0", "1", "5", "10", "50", "100", "500"]
    for low, high in ((0, 3), (0, 1e6), (-1e6, 1e6), (0, 0.5)):
        ticks = count_ticks(low, high)
        assert 0 in ticks and len(ticks) <= 7, (low, high, ticks)


def test_many_ids_take_no_time(tmp_path):
    """A truth and predictions of 20,000 ids, some of which the other lacks."""
    n = 20_000
    (tmp_path / "pred.csv").write_text("id,pred\n" + "".join(f"i{k},{k % 50}\n" for k in range(n)))
    truth = {f"i{k}": float(k % 40) for k in range(5, n + 5)}
    start = time.process_time()
    predictions = read_predictions(tmp_path / "pred.csv", truth)
    evaluate_counts(predictions, CountBins((0.0, 10.0, 40.0)), n_resamples=20)
    assert time.process_time() - start < 5
    assert len(predictions) == n - 5
