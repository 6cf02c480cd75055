"""Detectors compared on images that a plan drew with unequal probabilities."""

from dataclasses import replace

import numpy as np
import pytest
from comparison.two_detectors import site_labels, site_predictions, some_labels, write_detectors

from autoeval import AccuracyEstimator, Predictions, compare, fit, plan_labels
from autoeval.comparison.paired_labels import pair_labels
from autoeval.io.coco import read_coco
from autoeval.labels.plan import inverse_probabilities

DETECTORS = ("strong", "weak")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return write_detectors(tmp_path_factory.mktemp("unequal"))


@pytest.fixture(scope="module")
def plan(world):
    """Drawn for the weak detector with the strong one as its reference."""
    strong, weak = (world / f"set_{name}_predictions.json" for name in DETECTORS)
    helped = fit(world / "set.json", Predictions(weak, reference=strong), work_dir=world / "helped")
    reference, own = site_predictions(world, *DETECTORS)
    boxes = Predictions(own, reference=reference)
    return plan_labels(helped, boxes, images=site_labels(world), n=20, work_dir=world / "plan")


@pytest.fixture(scope="module")
def labels(world, plan):
    drawn = {int(plan.found.images[k].image_id) for k in plan.drawn}
    return some_labels(world, world / "plan/labels.json", drawn)


@pytest.fixture(scope="module")
def sites(world):
    return {
        name: AccuracyEstimator.load(world / name).predict(file, images=site_labels(world)).site
        for name, file in zip(DETECTORS, site_predictions(world, *DETECTORS), strict=True)
    }


def test_without_a_plan_blocks_of_time_are_those_that_come_with_the_boxes(sites, labels):
    blocks = np.arange(len(sites["weak"])) // 5
    of_videos = {name: replace(site, blocks=blocks) for name, site in sites.items()}
    sample = pair_labels(of_videos, read_coco(labels), target="mAP", plan=None).sample
    np.testing.assert_array_equal(sample.clusters, blocks[sample.images])
    assert sample.n_clusters < len(sample.images) == 20


def test_labels_count_by_the_inverse_of_their_probability(sites, plan, labels):
    assert plan.sizes is not None and plan.sizes.std() > 0.1
    content = read_coco(labels)
    weighted = pair_labels(sites, content, target="mAP", plan=plan)
    weights = inverse_probabilities(plan.sizes, weighted.sample.images)
    np.testing.assert_allclose(weighted.sample.weights, weights)
    for name in DETECTORS:
        values = [of.value for of in weighted.accuracies[name]]
        expected = [of.average_precision(weights).mean() for of in weighted.rankings[name]]
        np.testing.assert_allclose(values, expected)
    equal = pair_labels(sites, content, target="mAP", plan=replace(plan, sizes=None))
    assert equal.sample.weights is None
    one, other = ([of.value for of in pair.accuracies["weak"]] for pair in (weighted, equal))
    assert np.nanmax(np.abs(np.subtract(one, other))) > 1e-3


def test_compare_reads_them_from_the_folder_of_the_plan(world, plan, labels):
    given = {"images": site_labels(world), "labels": labels}
    fits = {name: world / name for name in DETECTORS}
    found = compare(fits, site_predictions(world, *DETECTORS), **given)
    assert not any("no plan drew" in warning for warning in found.warnings)
