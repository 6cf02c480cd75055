"""The backtest of few labels, from made work dirs and made labelled sets to its tables."""

import numpy as np
import pandas as pd
import pytest
from label_worlds import make_site

from autoeval.accuracy.average_precision import RankedDetections
from autoeval.accuracy.operating_point import influence_on
from autoeval.errors import InputError
from autoeval.labels.assistance import MixingWeights
from autoeval.labels.value_with_error import NOTHING
from autoeval.labels.variance_prior import VariancePrior
from autoeval.sites.labelled_set import labelled_set
from autoeval.sites.site_boxes import SiteBoxes
from autoeval.stability.fitting.meta_set import LABELLED
from autoeval.stability.fitting.stored_sets import pack_set
from autoeval.stability.reports.few_labels import labels_from_files_report, labels_report
from autoeval.stability.studies.label_backtest import EvaluatedPair, effective_labels

NAMES = ("a", "b", "c", "d")


@pytest.fixture(scope="module")
def work_dir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("work")
    sites = [make_site(k, n_images=70, name=name) for k, name in enumerate(NAMES)]
    boxes = [
        {"source": s.name, "group": s.name, LABELLED: pack_set(s.pool, s.truth)} for s in sites
    ]
    of_all = {"sample_set": "own", "kind": "seed", "transforms": "", "repeat": 0, "n_images": 70}
    rows = [
        {"source": site.name, **of_all, "expected_ap": site.pool.found.scores.mean()}
        | {"likely_share": (site.pool.found.scores > 0.3).mean(), "box_size": -1.8}
        | {"mAP": site.rankings[0].average_precision().mean()}
        for site in sites
    ]
    pd.DataFrame(boxes).to_parquet(folder / "boxes.parquet")
    pd.DataFrame(rows).to_parquet(folder / "scores.parquet")
    return folder


def test_every_site_and_estimator_is_evaluated(work_dir, tmp_path):
    report = labels_report(work_dir, draws=6)
    tables = {part.name: part.table for part in report.parts}
    evaluated = tables["labels_by_site"]
    assert sorted(set(evaluated["site"])) == list(NAMES)
    assert set(evaluated["k"]) == {5, 10, 20, 30, 50}
    assert evaluated["coverage"].between(0, 1).all()
    errors = tables["labels"].pivot(index="k", columns="estimator", values="error")
    assert (errors.loc[50] < errors.loc[5]).all()
    assert len(tables["labels_correlation"]) == 4
    assert len(tables["labels_stopping"]) == 2
    assert {path.suffix for path in report.write(tmp_path)} == {".png", ".md", ".csv"}


def test_no_site_is_large_enough(work_dir):
    with pytest.raises(InputError, match="None of 4 sites has 71 images"):
        labels_report(work_dir, draws=2, fewest=71)


def test_one_labelled_set_is_fitted_on_and_the_other_groups_are_evaluated(tmp_path):
    sets = [
        labelled_set(SiteBoxes(site.pool.found), site.truth, name=site.name, everywhere=True)
        for site in (make_site(k, n_images=64, name=name) for k, name in enumerate(NAMES))
    ]
    report = labels_from_files_report(sets[:2], sets, draws=6)
    by_site = {part.name: part.table for part in report.parts}["labels_from_files_by_site"]
    pairs = by_site[(by_site["k"] == 10) & (by_site["estimator"] == "combined")]
    assert sorted(pairs["site"]) == ["a", "b", "c", "c", "d", "d"]
    errors = by_site.pivot_table(index="k", columns="estimator", values="error")
    assert (errors.loc[50] < errors.loc[10]).all()
    assert "a, b" in report.about
    with pytest.raises(InputError, match="None of 4 sites has 65 images"):
        labels_from_files_report(sets[:2], sets, fewest=65)


def test_the_effective_sample_size_of_the_sample_estimate_is_its_size():
    rows = [
        {"site": "a", "category": "c", "fitted_on": on, "k": 10, "n_images": 100}
        | {"estimator": estimator, "rmse": share * size}
        for on, size in (("x", 0.2), ("y", 0.4))
        for estimator, share in (("sample", 1), ("combined", 0.5))
    ]
    effective = effective_labels(pd.DataFrame(rows))["effective"]
    # 1 / w = 1 / 100 + (1 / 10 - 1 / 100) / 4
    assert effective.tolist() == pytest.approx(2 * [10, 1 / (0.01 + 0.09 / 4)])


def test_for_precision_a_plan_draws_from_the_images_with_a_box():
    """Of four images the second and the last have a box over .3; the mean over those two counts."""
    scores, image = np.array([0.9, 0.8, 0.6, 0.2]), np.array([1, 3, 3, 0])
    hits = np.array([[1, 0, 1, 1]])
    ranking = RankedDetections.of(scores, image, hits, np.array([1, 1, 2, 2]))
    expected = np.array([[0, 0.8, 0, 1.1], [0, 1, 0, 2], [1, 1, 2, 2]], float)
    mixing = MixingWeights({"model": 1.0}, VariancePrior(1.0, 4.0), 0.5)
    for target, images in (("precision@0.3", [1, 3]), ("recall@0.3", [0, 1, 2, 3])):
        predicted = influence_on(target.partition("@")[0], expected)
        pair = EvaluatedPair("s", "car", "t", ranking, predicted, mixing, 0.0, NOTHING, target)
        own = influence_on(target.partition("@")[0], expected[:, images])
        assert pair.drawn_from.predicted == pytest.approx(own)
        assert pair.drawn_from.truth == pair.truth
        assert pair.drawn_from.ranking.n_true.tolist() == [[1, 1, 2, 2][k] for k in images]
    assert pair.truth == pytest.approx(2 / 6)
