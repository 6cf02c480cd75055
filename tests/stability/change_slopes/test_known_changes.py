"""Sites observed as they come and changed, and what slopes make of them, on made-up sites."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from fading_sites import FadingDetector, fading_task

from autoeval.accuracy.mean_ap import MeanAP
from autoeval.errors import InputError
from autoeval.estimation.calibrating import calibrated_rows
from autoeval.estimation.observation.observing import Observer
from autoeval.estimation.observation.pass_settings import PassSettings
from autoeval.monitoring.changes.condition import bounds_of, image_moves
from autoeval.monitoring.changes.image_numbers import image_numbers
from autoeval.stability.change_slopes.fit_change import (
    ChangeInputs,
    fit_change,
    left_out,
    slope_rows,
)
from autoeval.stability.change_slopes.image_weights import fit_image_weights, image_products
from autoeval.stability.change_slopes.known_changes import (
    known_changes,
    observe_changes,
    positions,
    true_precision,
)
from autoeval.stability.metasets.recipe import MetaSetConfig
from autoeval.stability.metasets.transforms import TransformStep

KINDS = ("contrast", "gaussian_noise", "brightness")
META_SET = MetaSetConfig(transforms=KINDS, n_sets=6, n_images=8, n_transforms=1, in_turn=True)
READ = ("ac", "best", "contrast")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sites")
    detector = FadingDetector()
    observer = Observer(detector, fading_task(folder / "data"), PassSettings(), batch_size=3)
    options = {
        "folder": folder / "rows",
        "meta_set": META_SET,
        "everywhere": [TransformStep("contrast", 4.0)],
        "untouched": 24,
    }
    return observer, options, observe_changes(observer, **options)


@pytest.fixture(scope="module")
def changes(world):
    return known_changes(world[2][0], ("box",))


def test_every_site_is_observed_untouched_and_changed(world):
    _, _, (observed, warnings) = world
    assert warnings == ()
    for k in range(5):
        own = [images for images in observed if images.site == f"w{k}"]
        assert [len(images) for images in own if not images.change] == [24]
        assert len([images for images in own if images.change]) == META_SET.n_sets + 1
        assert ("contrast", 4) in {(images.change, images.severity) for images in own}
        base = next(images for images in own if not images.change)
        for images in own:
            names = [base.records[i].file_name for i in positions(base, images)]
            assert names == [record.file_name for record in images.records]


def test_what_was_observed_is_not_observed_again(world):
    observer, options, (observed, _) = world
    before = observer.detector.observed
    again, _ = observe_changes(observer, **options)
    assert observer.detector.observed == before
    assert [(i.site, i.change, i.severity) for i in again] == [
        (i.site, i.change, i.severity) for i in observed
    ]


def test_true_precision_is_that_of_the_evaluation(world):
    images = world[2][0][0]
    metric = MeanAP(("box",))
    for record, truth in zip(images.records[:5], images.truth, strict=False):
        metric.update(record.clean, *truth)
    assert true_precision(images, 0, range(5)) == pytest.approx(metric.compute()["mAP"])


def test_a_change_is_the_difference_on_the_same_images(world, changes):
    observed, (known, levels) = world[2][0], changes
    assert len(known) == 5 * (META_SET.n_sets + 1)
    assert set(levels["site"]) == {f"w{k}" for k in range(5)}
    row = known.rows.iloc[0]
    base = next(i for i in observed if i.site == row["site"] and not i.change)
    images = next(
        i
        for i in observed
        if (i.site, i.change, i.severity) == (row["site"], row["kind"], row["severity"])
    )
    same = positions(base, images)
    assert row["true"] == true_precision(images, 0) - true_precision(base, 0, same)
    numbers = known.images[row["site"], "box"]
    assert known.before[0] == pytest.approx(numbers[same].mean(axis=0))
    assert len(numbers) == len(base)
    assert len(known.untouched[0]) == len(base) - len(images)


def test_the_level_of_a_site_is_estimated_by_the_others(world, monkeypatch):
    """Other truths at one site change what is estimated of all the others, not of itself.

    With the calibration that detectors usually have: one that is fitted has seen these truths where
    it serves the others.
    """
    monkeypatch.setattr(
        "autoeval.stability.change_slopes.known_changes.calibrated_rows",
        partial(calibrated_rows, calibrate=False),
    )
    observed = world[2][0]
    moved = [
        replace(i, truth=tuple((b + 12, *rest) for b, *rest in i.truth)) if i.site == "w2" else i
        for i in observed
    ]
    levels = [
        known_changes(o, ("box",))[1].set_index("site")["estimate"] for o in (observed, moved)
    ]
    same = np.isclose(levels[0], levels[1], atol=1e-9)
    assert dict(zip(levels[0].index, same, strict=True)) == {f"w{k}": k == 2 for k in range(5)}


def test_numbers_of_a_site_are_calibrated_by_other_groups(world, changes):
    """Other truths at one site change the numbers of sites of the other folds, not its own."""
    observed = world[2][0]
    moved = [
        replace(i, truth=tuple((b + 12, *rest) for b, *rest in i.truth)) if i.site == "w2" else i
        for i in observed
    ]
    before, after = (of.images for of in (changes[0], known_changes(moved, ("box",))[0]))
    same = {site: np.allclose(before[site, "box"], after[site, "box"]) for site, _ in before}
    assert same == {f"w{k}": k == 2 for k in range(5)}  # w0 and w4 share a fold, w2 is alone


def test_without_calibration_numbers_are_of_confidences(world):
    known, _ = known_changes(world[2][0], ("box",), calibrate=False)
    base = next(i for i in world[2][0] if i.site == "w0" and not i.change)
    np.testing.assert_array_equal(known.images["w0", "box"], image_numbers(base.records, 0))
    assert not fit_change(known, ChangeInputs(READ)).calibrated


def test_sites_of_one_group_cannot_estimate_each_other(world):
    together = [replace(images, group="one") for images in world[2][0]]
    with pytest.raises(InputError, match="two groups or more"):
        known_changes(together, ("box",))


def test_left_out_means_unseen(changes):
    """What a group does under one kind of change has no part in what is estimated of it there."""
    rows = slope_rows(changes[0], READ, bounds_of(READ))
    unseen = (rows.group == "w1") & (rows.kind == "contrast")
    altered = rows._replace(y=np.where(unseen, rows.y + 0.5, rows.y))
    for kinds in (True, False):
        estimated, moved = (left_out(fitted, kinds=kinds)[0] for fitted in (rows, altered))
        assert np.isfinite(estimated).all()
        assert estimated[unseen] == pytest.approx(moved[unseen])
        assert not np.allclose(estimated, moved)


def test_slopes_estimate_changes_of_unseen_sites_better_than_no_change(changes):
    rows = slope_rows(changes[0], READ, bounds_of(READ))
    estimated, _ = left_out(rows, kinds=False)
    assert np.abs(estimated - rows.y).mean() < 0.6 * np.abs(rows.y).mean()


def test_the_fitted_model_holds_what_it_read_and_covers(changes):
    model = fit_change(changes[0], ChangeInputs(READ), origin="made up")
    assert model.names == READ and model.slopes.widening > 0 and model.origin == "made up"
    rows = slope_rows(changes[0], READ, bounds_of(READ))
    mean, std = model.slopes.predict(rows.x)
    assert np.mean(np.abs(rows.y - mean) < 1.645 * std) >= 0.9


def test_weights_of_images_look_past_what_differs_anyway():
    """Of two quantities that fall alike, the one that is steady from image to image counts."""
    rng = np.random.default_rng(0)
    base = rng.normal(0, 1e-6, (400, image_numbers([]).shape[1]))
    names = list(range(base.shape[1]))
    steady, unsteady = names[-1], names[-2]
    base[:, steady] += rng.normal(0, 0.02, 400)
    base[:, unsteady] += rng.normal(0, 0.6, 400)
    changed = base.copy()
    changed[:, [steady, unsteady]] -= 0.2
    products = image_products(base, changed, -0.5)
    weights = fit_image_weights(products)
    assert weights[0, -1] > 20 * abs(weights[0, -2])
    said = image_moves(changed, base) @ weights[0]
    assert said.mean() < -0.3 and abs((image_moves(base, base) @ weights[0]).mean()) < 0.02
    assert not weights[1, -2:].any()  # both are signals of the camera
    halves = image_products(base[:0], changed, -0.5) + products
    assert fit_image_weights(halves) == pytest.approx(weights)  # where all were changed, no part
    with pytest.raises(InputError, match="observed as they come"):  # nor weights of nothing
        fit_image_weights(image_products(base[:0], changed, -0.5))
