"""Files that begin at a higher score: the fit is read at that floor, and its target is theirs."""

import numpy as np
import pandas as pd
import pytest

from autoeval.boxes import Boxes, LabelledImage
from autoeval.comparison.common_ground import on_common_ground
from autoeval.errors import InputError
from autoeval.estimation.calibrating import FLOORS, calibrate
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.fitting import fit_sets, join_fits
from autoeval.estimation.labelled_sets import labelled_site
from autoeval.estimation.read_site import compared_with_fit
from autoeval.model.priors import calibration_prior, regression_prior
from autoeval.model.regression import Regression
from autoeval.report.estimate import estimate_values
from autoeval.sites.file_looks import Looks
from autoeval.sites.site import Site
from tests.made_sites import WORDS, random_found, truth_from


def labelled(seed, name="val", floor=0.0):
    found = random_found(seed)
    truth = truth_from(found)
    return labelled_site(Site(found.where(found.scores >= floor), truth=truth, name=name))


@pytest.fixture(scope="module")
def fitted():
    return fit_sets([labelled(0)], context={})


def cut(found, floor):
    return found.where(found.scores >= floor)


def test_held_out_figures_are_at_the_floor_that_the_fit_is_read_at():
    """Files cut at .25: the mean error is that of fits at .25, not at that of full files."""
    fit = fit_sets([labelled(k, f"site{k}", floor=0.25) for k in range(3)], context={})
    rows, printed = fit.table_, fit.fit_result_.cross_validation[0].summary()

    def error_at(floor):
        errors = []
        for source in ("site0", "site1", "site2"):
            left_out = rows[rows["source"] == source]
            others = Regression(floor=floor).fit(rows[rows["source"] != source])
            values = np.clip(others.distribution(left_out).mean, 0, 1)
            errors.append(np.mean(np.abs(values - left_out["mAP"])))
        return np.mean(errors)

    assert printed["mean_absolute_error"] == pytest.approx(error_at(0.25), abs=1e-9)
    assert abs(error_at(0.0) - error_at(0.25)) > 0.02  # 5.5 and 2.9 points


def site_of(found, statistics):
    return Site(found, named=True, floor=statistics.start_of(found).threshold)


def test_boxes_over_a_score_match_as_before():
    full = labelled(3)
    above = full.above(0.3)
    again = labelled_site(Site(above.boxes, truth=full.truth, name="again"))
    assert 0 < len(above.boxes) < len(full.boxes)
    for ours, theirs in zip(above.evaluation.matches, again.evaluation.matches, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    for ours, theirs in zip(above.evaluation.rankings, again.evaluation.rankings, strict=True):
        np.testing.assert_allclose(ours.average_precision(), theirs.average_precision())


def test_each_floor_has_a_prior_of_its_own():
    spreads = [regression_prior("mAP", floor).spread for floor in (0.0, 0.1, 0.25)]
    assert len(set(spreads)) == 3
    missed = [calibration_prior(floor).missed.mean[0] for floor in (0.05, 0.1, 0.25, 0.3, 0.5)]
    assert missed == sorted(missed)  # the higher the floor, the more is missed
    same = [calibration_prior(floor).boxes[0].mean for floor in (0.0, 0.3)]
    np.testing.assert_array_equal(*same)
    near, at, full = (regression_prior("recall@0.3", of) for of in (0.27, 0.25, 0.0))
    assert near == at != full
    unknown = regression_prior("mAP", float("nan"))
    assert unknown == regression_prior("mAP")


def test_the_target_is_that_of_the_boxes_in_the_file(fitted):
    assert list(fitted.floors_) == list(FLOORS) == [of for of, _ in fitted.looks_.floors]
    shares = [share for _, share in fitted.looks_.floors]
    assert shares[4] == pytest.approx(np.mean(random_found(0).scores >= 0.25))
    full = fitted.table_.set_index("category")
    for floor, of in fitted.floors_.items():
        rows = pd.DataFrame(of.rows).set_index("category")
        expected = labelled(0, floor=floor).evaluation.rankings
        known = [expected[WORDS.index(name)] for name in rows.index]
        np.testing.assert_allclose(rows["mAP"], [k.average_precision().mean() for k in known])
        assert (rows["mAP"] <= full.loc[rows.index, "mAP"] + 1e-12).all()
        np.testing.assert_array_equal(of.calibration.boxes, fitted.calibration_.boxes)
    assert fitted.floors_[0.5].calibration.missed[0] > fitted.calibration_.missed[0]


def test_a_site_takes_the_fit_at_the_floor_of_its_file(fitted):
    found = cut(random_found(1), 0.25)
    site = site_of(found, fitted.looks_)
    assert site.floor == 0.25
    there = fitted.at_floor(0.25)
    assert there.regression_.floor == 0.25 and there.table_ is not fitted.table_
    estimate = fitted.predict_site(site)
    expected = there.predict_site(Site(found, named=True))
    assert estimate.to_dict() == expected.to_dict() and estimate.site.floor == 0.25
    misread = fitted.predict_site(Site(found, named=True))
    assert misread.value != estimate.value
    plan = fitted.plan_labels(estimate, n=3)
    assert plan.priors == there.plan_labels(expected, n=3).priors


def test_the_curve_of_a_cut_file_is_that_of_its_floor(fitted):
    site = site_of(cut(random_found(1), 0.25), fitted.looks_)
    estimate = fitted.predict_site(site, 0.4)
    curve = estimate_values(estimate, fitted)["curve"]
    (recall,) = [r for r in curve if r["measure"] == "recall" and r["threshold"] == 0.4]
    assert recall["value"] == pytest.approx(estimate.other_targets["recall@0.4"]["value"])


def test_floors_are_saved(fitted, tmp_path):
    fitted.save(tmp_path / "fit.parquet")
    loaded = AccuracyEstimator.load(tmp_path / "fit.parquet")
    pd.testing.assert_frame_equal(loaded.table_, fitted.table_, check_dtype=False)
    site = site_of(cut(random_found(1), 0.3), loaded.looks_)
    assert loaded.predict_site(site).to_dict() == fitted.predict_site(site).to_dict()


def test_joined_fits_keep_the_floors_that_all_have(fitted):
    other = fit_sets([labelled(5, "high", floor=0.2)], context={})
    assert min(other.floors_) == 0.25
    joined = join_fits({"one": fitted, "two": other})
    # where the higher one begins both are known, too: files cut there were refused
    assert list(joined.floors_) == [0.2, *other.floors_]
    both_cut = fit_sets([labelled(0, floor=0.2), labelled(5, "high", floor=0.2)], context={})
    for name in ("category", "source", "mAP", "n_boxes"):
        at_floor, of_cut = (of.table_[name].tolist() for of in (joined.at_floor(0.2), both_cut))
        assert at_floor == pytest.approx(of_cut, abs=1e-12)
    assert joined.looks_.start_of(cut(random_found(1), 0.2)).threshold == 0.2
    together = fit_sets([*fitted.sites_.read(), *other.sites_.read()], context={})
    site = site_of(cut(random_found(1), 0.3), joined.looks_)
    assert site.floor == 0.3
    values = [of.predict_site(site).value for of in (joined, together)]
    assert values[0] == pytest.approx(values[1], abs=1e-12)


def scores_of(scores):
    n = len(scores)
    images = tuple(LabelledImage(str(k), f"{k}.jpg", None) for k in range(n))
    boxes = np.tile(np.float32([0, 0, 9, 9]), (n, 1))
    none = np.zeros(n, np.int64)
    return Boxes(images, ("car",), np.arange(n), none, boxes, np.asarray(scores, float))


FULL = np.geomspace(0.01, 0.99, 2000)
SHARES = tuple((floor, float(np.mean(floor <= FULL))) for floor in FLOORS)


@pytest.mark.parametrize(
    ("scores", "floor"),
    [
        (FULL, 0.0),
        (FULL[FULL >= 0.25], 0.25),
        (np.append(FULL[FULL >= 0.31], 0.3), 0.3),
        (FULL[FULL >= 0.25][::40], 0.25),
        (np.array([0.26, 0.6, 0.9]), 0.0),  # so few boxes can all be confident
        (np.array([0.29, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95]), 0.0),  # next to no threshold
    ],
)
def test_which_floor_a_file_has(scores, floor):
    statistics = Looks(("car",), floor=0.01, most_boxes=9, floors=SHARES)
    assert statistics.start_of(scores_of(scores)).threshold == floor


@pytest.mark.parametrize(
    "scores",
    [
        1 / (1 + np.sqrt((1 - FULL) / FULL)),  # temperature 2: begins at .091
        0.3 + 0.7 * FULL,
        FULL[FULL >= 0.22] + 0.007,  # no threshold that anybody chooses
        FULL[FULL >= 0.7],
    ],
)
def test_another_scale_is_not_taken_for_a_floor(scores):
    statistics = Looks(("car",), floor=0.01, most_boxes=9, floors=SHARES)
    found = scores_of(np.sort(scores))
    with pytest.raises(InputError, match=r"the scores do not compare.*conf=0\.01"):
        statistics.start_of(found)


def test_boxes_under_a_low_floor_of_the_fit_are_cut_too():
    """Half as many boxes again under .02 change nothing: the fit has none of them."""
    statistics = Looks(("car",), floor=0.02, n_boxes=200)
    scores = np.linspace(0.02, 1, 100)
    more = scores_of(np.append(scores, np.linspace(0.01, 0.0199, 50)))
    kept = compared_with_fit(Site(more), statistics)
    np.testing.assert_array_equal(kept.boxes.scores, scores)
    (note,) = kept.left_out
    assert note.code == "low-scores-missing"


def test_a_box_under_the_lowest_of_the_fit_by_chance_stays():
    """Of 100 boxes over the same threshold as 200 others, 4 lie under all by (1/3)^4 = 1.2 %."""
    statistics = Looks(("car",), floor=0.02, n_boxes=200)
    few = Site(scores_of(np.append(np.linspace(0.02, 1, 96), [0.019, 0.018, 0.017, 0.016])))
    same = compared_with_fit(few, statistics)
    assert same.boxes is few.boxes and same.left_out == ()
    unknown = Looks(("car",), floor=0.02)
    assert len(compared_with_fit(few, unknown).boxes) == 96


def test_detectors_are_compared_each_at_its_floor(fitted):
    sites = {
        "a": Site(random_found(1), floor=0.3),
        "b": Site(random_found(2)),
    }
    fits, there, _ = on_common_ground({"a": fitted, "b": fitted}, sites)
    assert fits["a"].regression_ is fitted.at_floor(0.3).regression_ and fits["b"] is fitted
    assert [of.floor for of in there.values()] == [0.0, 0.0]


@pytest.mark.parametrize("order", [1, -1])
def test_a_site_without_a_box_has_no_floor_and_takes_none_from_the_others(order):
    """Two sites of a task, at one of which the detector finds nothing, in either order."""
    found = random_found(2)
    truth = truth_from(found)
    one = random_found(0)
    sets = [
        labelled_site(Site(cut(one, 0.1), truth=truth_from(one), name="a", everywhere=True)),
        labelled_site(Site(found.where([]), truth=truth, name="b", everywhere=True)),
    ][::order]
    fit = fit_sets(sets, context={})
    assert fit.looks_.floor == cut(one, 0.1).floor and list(fit.floors_) == list(FLOORS[2:])
    alone = calibration_prior(cut(one, 0.1).floor)
    assert calibrate(sets)[1].missed.tolist() == calibrate(sets, alone)[1].missed.tolist()
    with pytest.raises(InputError, match="the scores do not compare"):
        compared_with_fit(Site(cut(random_found(9), 0.37)), fit.looks_)
