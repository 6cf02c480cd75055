from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from observations import found, image, observations, shaky_worlds

from autoeval.detections import Evidence
from autoeval.errors import InputError
from autoeval.stability.reports.box_quality import (
    box_level_correlation,
    box_level_report,
    box_table,
    stability_of_boxes,
)


def planted(source, seed, n_images=40):
    """Images whose one box moves under dropout exactly onto the true box."""
    rng = np.random.default_rng(seed)
    images = []
    for n in range(n_images):
        true = np.array([20.0, 20, 80, 80])
        clean = true + rng.uniform(0, 50, 1) * [1, 0, 1, 0]
        images.append(image(str(n), found(clean, rng.uniform(0.1, 1, 1)), [found(true)] * 2, true))
    return {(source, source, "seed"): images}


def test_stability_that_equals_the_iou_and_confidence_that_is_noise():
    boxes = box_table(observations(planted("a", 0) | planted("b", 1) | planted("c", 2)))
    assert boxes["stability"].to_numpy() == pytest.approx(boxes["iou"].to_numpy())
    # a square of side 60 moved sideways by d overlaps itself by (60 - d) / (60 + d)
    assert boxes["iou"].between((60 - 50) / (60 + 50), 1).all()
    result = box_level_correlation(boxes).set_index(["source", "measure"])
    stable, confident = (result.loc["all", name] for name in ("stability", "confidence"))
    assert stable["r2"] == pytest.approx(1) and stable["auroc"] == 1
    assert stable["lower"] == pytest.approx(1) and stable["r2_over_half"] == pytest.approx(1)
    assert stable["boxes_over_half"] == (boxes["iou"] > 0.5).sum()
    assert confident["r2"] < 0.1 and 0.35 < confident["auroc"] < 0.65
    assert result.loc[("a", "stability"), "boxes"] == 40


def test_lost_boxes_count_as_0_and_faint_ones_not_at_all():
    clean = found([[0, 0, 10, 10], [50, 0, 60, 10], [80, 0, 90, 10]], [0.9, 0.8, 0.02])
    kept = found([[0, 0, 10, 10]])
    half = found([[0, 0, 10, 10], [50, 0, 60, 5]])
    assert stability_of_boxes(Evidence("x", (9, 9), clean, (kept, half))).tolist() == [1, 0.25, 0]
    one = image("x", clean, [kept, half], [[0, 0, 10, 10]])
    table = box_table(observations({("a", "a", "seed"): [one]}))
    assert table["stability"].tolist() == [1, 0.25] and table["iou"].tolist() == [1, 0]


def test_the_truth_is_of_the_same_category_and_crowds_are_left_out():
    clean = found(
        [[0, 0, 10, 10], [0, 0, 10, 10], [50, 50, 60, 60], [50, 50, 60, 60]], labels=[0, 1, 0, 1]
    )
    true, iscrowd = [[0, 0, 10, 10], [40, 40, 99, 99]], [False, True]
    one = image("x", clean, [clean], true, labels=[1, 0], iscrowd=iscrowd)
    table = box_table(observations({("a", "a", "seed"): [one]}, ("car", "person")))
    # the third box lies in a crowd of its category, the fourth in one of another
    assert table["iou"].tolist() == [0, 1, 0]


def test_one_source_has_no_interval_and_equal_measures_no_correlation():
    result = box_level_correlation(box_table(observations(planted("a", 0))).assign(confidence=0.7))
    assert result["lower"].isna().all()
    confident = result[result["measure"] == "confidence"]
    assert confident["r2"].isna().all() and confident["spearman"].isna().all()


def test_no_box_anywhere_and_no_repeats():
    nothing = image("x", found([]), [found([])], [])
    with pytest.raises(InputError, match=r"score above 0\.05 but the detector found none"):
        box_table(observations({("a", "a", "seed"): [nothing]}))
    without = image("x", found([[0, 0, 9, 9]]), [], [])
    with pytest.raises(InputError, match="without perturbed"):
        box_table(observations({("a", "a", "seed"): [without]}))


def test_the_interval_over_boxes_draws_groups_of_sources():
    made = observations(planted("a", 0) | planted("b", 1) | planted("c", 2) | planted("d", 3))
    sets = [replace(one, group="ab") if one.source in "ab" else one for one in made.sets]
    boxes = box_table(replace(made, sets=tuple(sets)))
    assert boxes.groupby("source")["group"].first().tolist() == ["ab", "ab", "c", "d"]
    merged = boxes.assign(source=boxes["group"])
    by_group, expected = (
        box_level_correlation(each).set_index(["source", "measure"]).loc[("all", "confidence")]
        for each in (boxes, merged)
    )
    assert by_group[["r2", "lower", "upper"]].tolist() == pytest.approx(
        expected[["r2", "lower", "upper"]].tolist()
    )


def test_the_report_is_of_own_images_where_sample_sets_were_observed_too():
    made = shaky_worlds()
    report, own = box_level_report(made), box_level_report(made.of_kind("seed"))
    pd.testing.assert_frame_equal(report.parts[0].table, own.parts[0].table)
    assert report.parts[0].table["boxes"].tolist()[0] == 4 * 8
