"""Curves over score thresholds, and the threshold that is chosen by one."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import autoeval
from autoeval.accuracy.measures import (
    MEASURES,
    OperatingPoint,
    RankedDetections,
    image_counts,
    value_of,
)
from autoeval.cli import main
from autoeval.errors import InputError
from autoeval.estimation.fitting import fit_sets
from autoeval.estimation.label_planning import PlanRequest, make_plan
from autoeval.estimation.threshold_choice import (
    ENDS,
    FINE,
    THRESHOLDS,
    _table,
    choose_from,
    choose_threshold,
    exact_curve,
    expected_curve,
    labelled_curve,
    score_thresholds,
)
from autoeval.labels.labelled_estimate import labelled_part
from autoeval.report.threshold import choice_text, choice_values
from autoeval.sites.site import Site
from tests.estimation.test_estimates_at_thresholds import labelled
from tests.label_worlds import assistance_of, label_set, make_site
from tests.made_sites import random_found


@pytest.mark.parametrize("best", [0.505, 0.515, 0.525])
def test_where_no_box_is_over_more_thresholds_the_choice_stands(best):
    """Hundredths around the choice over the best score have no row; columns stay numbers."""

    def curve_at(thresholds):
        points = [OperatingPoint(name, t) for t in thresholds for name in MEASURES]
        return _table((p, (1 - p.score_thr,) * 3) for p in points if p.score_thr < best)

    chosen = choose_from(curve_at, recall=0.45)
    assert chosen.threshold == pytest.approx(int(100 * best) / 100)


def straight(width=0.1):
    """Recall falls from .9 to .1, precision rises from .5 to .9, F1 is the best at .6."""
    rows = []
    for t in np.arange(1, 10) / 10:
        of = {"recall": 1 - t, "precision": 0.45 + t / 2, "f1": 0.7 - abs(t - 0.6)}
        rows += [(t, name, v, v - width, v + width) for name, v in of.items()]
    return pd.DataFrame(rows, columns=["threshold", "measure", *ENDS])


def test_the_highest_threshold_with_a_recall_and_the_lowest_with_a_precision():
    chosen = choose_threshold(straight(), recall=0.75)
    assert [chosen.threshold, chosen.lower, chosen.upper] == pytest.approx([0.25, 0.15, 0.35])
    assert chosen.at["precision"]["value"] == pytest.approx(0.575)
    chosen = choose_threshold(straight(), precision=0.7)
    assert [chosen.threshold, chosen.lower, chosen.upper] == pytest.approx([0.5, 0.3, 0.7])


def test_the_best_f1_and_those_within_a_point_of_it():
    chosen = choose_threshold(straight())
    assert [chosen.threshold, chosen.lower, chosen.upper] == pytest.approx([0.6, 0.59, 0.61])


def test_where_the_interval_ends_beyond_the_curve_its_edge_is_given():
    chosen = choose_threshold(straight(), recall=0.85)
    assert [chosen.lower, chosen.threshold] == pytest.approx([0.1, 0.15])
    nowhere = choose_threshold(straight(), recall=0.99)
    assert choice_text(nowhere).split("\n\n")[0] == (
        "no threshold is estimated to reach a recall of 99 %; "
        "the greatest estimate at any is 90.0 % (80.0 to 100.0), at 0.10. "
        "Undecided: the intervals do not rule it out; label a few images to know"
    )
    plain = choice_values(nowhere)["threshold"]
    assert [plain["greatest"], plain["greatest_lower"], plain["greatest_upper"]] == pytest.approx(
        [0.9, 0.8, 1.0]
    )
    assert np.isnan(plain["threshold"]) and plain["undecided"] is True


def test_the_greatest_estimate_is_not_rounded_to_the_goal_that_it_misses():
    close = straight()
    close["value"] -= 0.0003
    nowhere = choose_threshold(close, recall=0.9)
    assert np.isnan(nowhere.value) and nowhere.goal == 0.9
    assert "at any is 89.97 % (80.0 to 100.0)" in choice_text(nowhere)
    assert np.isnan(choose_threshold(straight()).goal)


def test_without_an_estimate_no_threshold_is_said_to_miss_what_is_wanted():
    unknown = straight()
    unknown[[*ENDS]] = np.nan
    for wanted in ({"recall": 0.8}, {}):
        assert "have no estimate here" in choice_text(choose_threshold(unknown, **wanted))


def test_no_threshold_is_chosen_where_the_interval_is_too_wide_for_an_estimate():
    curve = straight()
    at = (curve["measure"] == "precision") & curve["threshold"].between(0.35, 0.65)
    curve.loc[at, [*ENDS]] = np.nan
    chosen = choose_threshold(curve, precision=0.7)  # with an estimate it is reached at .5
    assert chosen.threshold == pytest.approx(0.7) and not chosen.at["precision"]["value"] < 0.8
    assert choose_threshold(curve, recall=0.6).at.keys() == {"recall", "f1"}  # at .4


def test_the_last_estimates_before_thresholds_without_one_are_found():
    def curve_at(thresholds):
        rows = []
        for t in thresholds.tolist():
            values = {"precision": t + 0.25, "recall": 1 - t, "f1": 0.5}
            gap = 0.315 < t < 0.415
            rows += [(t, name, *3 * [np.nan if gap else v]) for name, v in values.items()]
        return pd.DataFrame(rows, columns=["threshold", "measure", *ENDS])

    assert choose_from(curve_at, precision=0.56).threshold == pytest.approx(0.31)
    assert choose_from(curve_at, recall=0.585).threshold == pytest.approx(0.31)


def test_what_thresholds_without_an_estimate_reach_is_undecided():
    narrow = straight(width=0.02)
    assert not choose_threshold(narrow, recall=0.95).undecided
    narrow.loc[narrow["threshold"] < 0.25, [*ENDS]] = np.nan
    assert choose_threshold(narrow, recall=0.95).undecided
    # precision without a box is not defined, whatever the labels say
    scores, hits = np.array([0.5, 0.4]), np.array([[1.0, 0.0]])
    ranked = RankedDetections.of(scores, np.zeros(2, int), np.repeat(hits, 10, 0), np.ones(1))
    counted = exact_curve([ranked], thresholds=np.array([0.3, 0.45, 0.6]))
    assert np.isnan(counted["value"]).any()
    assert not choose_threshold(counted[counted["threshold"] != 0.45], precision=0.9).undecided


def test_what_the_whole_interval_excludes_is_decided():
    narrow = straight()
    narrow["lower"], narrow["upper"] = narrow["value"] - 0.02, narrow["value"] + 0.02
    nowhere = choose_threshold(narrow, recall=0.99)
    assert not nowhere.undecided and "Undecided" not in choice_text(nowhere)
    assert choose_threshold(narrow, recall=0.91).undecided


@pytest.mark.parametrize("wanted", [{"recall": 1.2}, {"precision": 0}, dict.fromkeys(MEASURES[:2])])
def test_bad_wishes(wanted):
    wanted = {name: 0.5 if value is None else value for name, value in wanted.items()}
    with pytest.raises(InputError):
        choose_threshold(straight(), **wanted)


def test_the_curve_of_a_site_is_that_of_its_estimates():
    estimator = fit_sets([labelled(f"s{k}", k, everywhere=True) for k in range(3)], context={})
    estimate = estimator.predict_site(Site(random_found(9)), 0.4)
    curve = expected_curve(estimator, estimate).set_index(["measure", "threshold"])
    for name in MEASURES:
        for end in ENDS:
            assert curve.loc[(name, 0.4), end] == pytest.approx(
                estimate.other_targets[f"{name}@0.4"][end]
            )
    assert len(curve) == len(MEASURES) * len(THRESHOLDS)


def test_all_labels_give_the_exact_curve_and_few_come_near():
    site = make_site(77, n_images=100, categories=("car", "bus"))
    plan = make_plan(site.pool, assistance_of(3), PlanRequest(100))
    exact = exact_curve(site.evaluation.rankings).set_index(["measure", "threshold"])
    counts = np.sum([image_counts(of, 0.35) for of in site.evaluation.rankings], axis=0)
    assert exact.loc[("f1", 0.35), "value"] == pytest.approx(value_of("f1", counts))
    part = labelled_part(plan, label_set(site, range(100)), at_threshold=True)
    whole = labelled_curve(part)
    for row in whole.itertuples():
        known = exact.loc[(row.measure, row.threshold), "value"]
        assert [row.lower, row.value, row.upper] == pytest.approx([known] * 3)
    part = labelled_part(plan, label_set(site, plan.drawn[:30]), at_threshold=True)
    few = labelled_curve(part).set_index(["measure", "threshold"])
    held = [
        few.loc[key, "lower"] <= exact.loc[key, "value"] <= few.loc[key, "upper"]
        for key in few.index
    ]
    assert np.mean(held) > 0.7


def test_a_labelled_set_is_chosen_from_at_its_scores():
    """By each set of boxes that some threshold keeps."""
    rankings = make_site(77, n_images=100, categories=("car", "bus")).evaluation.rankings
    scores = np.unique(np.concatenate([of.scores for of in rankings]))
    thresholds = score_thresholds(rankings)
    n_over = [np.count_nonzero(scores > np.float32(t)) for t in thresholds]
    assert n_over == list(range(len(scores), -1, -1))

    def value(measure, threshold):
        counts = [image_counts(of, threshold).sum(axis=1) for of in rankings]
        return value_of(measure, np.sum(counts, axis=0)[:, None])

    def choose(**wanted):
        return choose_from(
            lambda t: exact_curve(rankings, thresholds=t), start=thresholds, **wanted
        )

    by_measure = {name: np.array([value(name, t) for t in thresholds]) for name in MEASURES}
    expected = {
        "recall": thresholds[by_measure["recall"] >= 0.5].max(),
        "precision": thresholds[by_measure["precision"] >= 0.8].min(),
        "f1": thresholds[np.nanargmax(by_measure["f1"])],
    }
    for name, wanted in (
        ("recall", {"recall": 0.5}),
        ("precision", {"precision": 0.8}),
        ("f1", {}),
    ):
        chosen = choose(**wanted)
        same = np.float32([chosen.threshold, expected[name]])
        assert len({np.count_nonzero(scores > t) for t in same}) == 1
        assert chosen.at[name]["value"] == pytest.approx(value(name, expected[name]))
        assert len(chosen.curve) <= len(MEASURES) * (len(FINE) + 6)


@pytest.mark.parametrize("wanted", [{"precision": 0.4}, {}])
@pytest.mark.parametrize("source", ["counted", "labelled", "expected"])
def test_no_threshold_under_the_lowest_score_is_chosen(wanted, source):
    """Of a file cut at .3 all lower ones keep the same boxes, of which a whole file has more."""
    sample = Path("docs/getting-started/sample")
    boxes = json.loads((sample / "val_predictions.json").read_text())
    cut = [box for box in boxes if box["score"] > 0.3]
    labels, given = sample / "val.json", {}
    if source != "counted":
        given = {"estimator": autoeval.fit(labels, boxes), "images": labels}
    if source != "expected":
        given["labels"] = labels
    assert autoeval.threshold(predictions=boxes, **given, precision=0.4).value < 0.3
    choice = autoeval.threshold(predictions=cut, **given, **wanted)
    assert "low-scores-missing" in {notice.code for notice in choice.warnings}
    assert choice.value >= 0.3 and choice.curve["threshold"].min() == pytest.approx(0.3)
    if wanted:
        assert choice.value == choice.lower == pytest.approx(0.3) or source == "expected"


@pytest.mark.parametrize(
    ("lowest", "first"),
    [(np.nan, 0.01), (0.01, 0.01), (0.0199, 0.01), (0.3, 0.29), (0.3001, 0.3), (1.0, 0.99)],
)
def test_a_curve_begins_at_the_hundredth_below_the_lowest_score(lowest, first):
    ranked = RankedDetections.of(np.ones(4), np.arange(4), np.ones((1, 4)), np.ones(4, int))
    choice = choose_from(lambda t: exact_curve([ranked], thresholds=t), lowest=lowest)
    assert choice.value == choice.lower == pytest.approx(first)


class TestCommand:
    FILES = (
        "--labels",
        "docs/getting-started/sample/val.json",
        "--predictions",
        "docs/getting-started/sample/val_predictions.json",
    )

    def test_the_labelled_set_is_counted_exactly(self, tmp_path, capsys):
        assert main(["threshold", *self.FILES, "--recall", ".7", "--work-dir", str(tmp_path)]) == 0
        said = capsys.readouterr().out
        chosen = float(said.partition("a recall of 70 %: ")[2].split()[0])
        curve = pd.read_csv(tmp_path / "report/threshold_curve.csv")
        recall = curve[curve["measure"] == "recall"].set_index("threshold")["value"]
        assert recall[chosen] >= 0.7 > recall[recall.index > chosen].iloc[0]
        page = (tmp_path / "report.html").read_text()
        assert "<svg" in page or "<img" in page

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ((), "Expected --estimator FILE"),
            ((*FILES, "--recall", "90"), "over 0 and under 1"),
            (("--plan", "nowhere"), "--plan needs --labels"),
        ],
    )
    def test_what_is_missing_is_said(self, options, message, capsys):
        assert main(["threshold", *options]) == 2
        assert message in capsys.readouterr().err


def rows_of_cars():
    """Two cars in each of 40 images, of which every sixth is missed; false boxes score under .1."""
    size = {"height": 480, "width": 640}
    images = [{"id": k, "file_name": f"{k}.jpg", **size} for k in range(40)]
    cars = [
        {"image_id": k // 2, "category_id": 1, "bbox": [20 + 300 * (k % 2), 99, 60 + k % 7, 40]}
        for k in range(80)
    ]
    labels = {"images": images, "categories": [{"id": 1, "name": "car"}], "annotations": cars}
    boxes = [{**car, "score": 0.945 - 0.01 * k} for k, car in enumerate(cars) if k % 6 != 5]
    boxes += [
        {**car, "bbox": [20, 300, 60, 40], "score": 0.02 + 0.001 * k}
        for k, car in enumerate(cars[::2])
    ]
    return labels, boxes


@pytest.mark.parametrize("target", ["mAP", "recall", "precision"])
def test_labels_choose_a_threshold_by_a_fit_of_any_target_and_where_all_boxes_are_right(target):
    labels, boxes = rows_of_cars()
    fitted = autoeval.fit(labels, boxes, target=target, score_thr=None if target == "mAP" else 0.3)
    choice = autoeval.threshold(fitted, boxes, images=labels, labels=labels, recall=0.7)
    # 56 of 80 cars are found by the boxes down to that of car 66, with a score of .285
    assert choice.value == pytest.approx(0.28) and choice.at["recall"]["value"] == 56 / 80
    some = {**labels, "images": labels["images"][:20]}
    some["annotations"] = [car for car in labels["annotations"] if car["image_id"] < 20]
    of_some = autoeval.threshold(fitted, boxes, images=labels, labels=some, recall=0.7)
    assert 0.1 < of_some.lower <= of_some.value <= of_some.upper < 0.5


def test_the_result_of_a_fit_of_recall_has_the_recall_on_the_labelled_images():
    labels, boxes = rows_of_cars()
    fitted = autoeval.fit(labels, boxes, target="recall", score_thr=0.29)
    result = fitted.fit_result_
    # boxes of the cars up to 65, without every sixth
    assert result.value == pytest.approx(55 / 80)
    assert result.to_dict()["fit/recall_0.29"] == result.value
    assert result.per_category["car"]["value"] == result.value


def test_a_threshold_warns_of_few_images_as_estimates_at_it_do():
    """It rests on the same scores of the same images."""
    labels, boxes = rows_of_cars()
    fitted = autoeval.fit(labels, boxes)
    estimate = autoeval.estimate(boxes, estimator=fitted, images=labels, score_thr=0.3)
    choice = autoeval.threshold(fitted, boxes, images=labels, recall=0.5)
    labelled = autoeval.threshold(fitted, boxes, images=labels, labels=labels, recall=0.5)
    codes = [{notice.code for notice in result.warnings} for result in (estimate, choice, labelled)]
    assert ["few-images" in of_result for of_result in codes] == [True, True, False]


def test_a_threshold_names_what_was_left_out_of_the_boxes():
    labels, boxes = rows_of_cars()
    fitted = autoeval.fit(labels, boxes)
    below = [{**box, "score": 0.005} for box in boxes]
    choice = autoeval.threshold(fitted, boxes + below, images=labels, recall=0.5)
    assert "low-scores-missing" in {notice.code for notice in choice.warnings}
    assert choice.value == autoeval.threshold(fitted, boxes, images=labels, recall=0.5).value
