import math

import numpy as np
import pandas as pd
import pytest
from rectangles import BOXES, RectangleDetector, rectangle_task

from autoeval.counting.binning import released_bins
from autoeval.counting.label_free import EDGES, CountingError, CountingErrorSettings
from autoeval.counting.measures.count_errors import bin_table, pooled
from autoeval.detections import Detections
from autoeval.estimation.observation.observing import Observer
from autoeval.stability.metasets import SampleSet, own_images
from autoeval.stability.passes.presets import ScoredSettings
from autoeval.stability.passes.tally import scored_rows


def counted(pairs, **settings):
    """Measure images of which each is (true count, scores of the detector's boxes)."""
    measure = CountingErrorSettings(**settings).make()
    for true, scores in pairs:
        detections = Detections(np.zeros((len(scores), 4)), np.array(scores), np.zeros(len(scores)))
        measure.update(detections, np.zeros((true, 4)), np.zeros(true, int), np.zeros(true, bool))
    return measure.compute()


# 3 for 3, 1 for 4 and 1 for 0 at .3; 2 for 3, none for 4 and none for 0 at .6
IMAGES = [(3, [0.9, 0.8, 0.4]), (4, [0.5, 0.2]), (0, [0.31])]


def test_errors_worked_by_hand():
    figures = counted(IMAGES)
    assert figures["count_mae"] == pytest.approx((0 + 3 + 1) / 3)
    assert figures["count_rmse"] == pytest.approx(math.sqrt((0 + 9 + 1) / 3))
    assert figures["count_relative_mae"] == pytest.approx((0 + 3 + 1) / (3 + 4 + 0))
    assert counted(IMAGES, score_thr=0.6)["count_mae"] == pytest.approx((1 + 4 + 0) / 3)
    # bins [0, 3] with errors 0 and 1, (3, 10] with error 3; variances 1/4 and 0
    figures = counted(IMAGES, edges=(0, 3, 10))
    assert figures["count_pooled_mae"] == pytest.approx((2 * 0.5 + 1 * 3) / 3)
    assert figures["count_pooled_std"] == pytest.approx(math.sqrt(2 * 0.25 / 3))
    figures = counted(IMAGES, edges=(1, 3.5))
    assert figures["count_pooled_mae"] == 0  # only the image with three objects is left
    assert figures["count_mae"] == pytest.approx(4 / 3)


def test_the_pooled_mean_is_the_mean_where_bins_cover_all_counts():
    rng = np.random.default_rng(0)
    images = [(int(n), rng.uniform(0, 1, rng.integers(0, 60))) for n in rng.integers(0, 90, 50)]
    figures = counted(images)
    assert figures["count_pooled_mae"] == pytest.approx(figures["count_mae"], rel=1e-12)
    true = np.array([n for n, _ in images])
    n = np.array([(scores.astype(np.float32) > 0.3).sum() for _, scores in images])
    pooled_figures = pooled(bin_table(true, n, released_bins(0, 1000)))
    assert figures["count_pooled_std"] == pytest.approx(pooled_figures[1])


def test_crowds_are_not_counted_and_nothing_has_no_error():
    measure = CountingError()
    measure.update(Detections.empty(), np.zeros((3, 4)), np.zeros(3), np.array([0, 1, 0]))
    assert measure.compute()["count_mae"] == 2
    assert all(math.isnan(value) for value in CountingError().compute().values())
    figures = counted([(0, [0.9]), (0, [])])
    assert figures["count_mae"] == 0.5 and math.isnan(figures["count_relative_mae"])


def test_detections_in_an_area_to_ignore_count_as_little_as_its_objects():
    """Two cars are labelled and found; of the three boxes in the ignored half nothing is known."""
    true = np.array([[0.0, 0, 10, 10], [20, 0, 30, 10], [100, 0, 200, 100]])
    left = np.array([0.0, 20, 110, 130, 150, 160])
    found = np.stack([left, np.zeros(6), left + 10, np.full(6, 10)], axis=1)
    detections = Detections(found, np.full(6, 0.9), np.array([0, 0, 0, 0, 0, 1]))
    measure = CountingError()
    measure.update(detections, true, np.zeros(3, int), np.array([False, False, True]))
    assert measure.compute()["count_mae"] == 1  # the box of another category is one too many
    pools = [ScoredSettings(measures=measures) for measures in ((CountingErrorSettings(),), ())]
    assert pools[0].kept_with != pools[1].kept_with  # rows of earlier numbers are made again


def test_the_settings_survive_being_written_as_json():
    described = ScoredSettings(measures=(CountingErrorSettings(0.5),)).to_dict()
    assert described["measures"] == ({"score_thr": 0.5, "edges": EDGES},)
    assert "measures" not in ScoredSettings().to_dict()


def test_a_pass_measures_counting_beside_map(tmp_path):
    seed_set = rectangle_task(tmp_path).load_seed_sets()[0]
    settings = ScoredSettings(repeats=2, measures=(CountingErrorSettings(),))
    observer = Observer(RectangleDetector(), BOXES, settings)
    table = pd.DataFrame(scored_rows(observer, SampleSet(seed_set, own_images(seed_set))))
    assert (table["count_mae"] == 0).all()  # one rectangle an image, and it is found
    assert (table["count_stability@0.30"] == 1).all() and table["mAP"].notna().all()
