"""Labelled images that cannot be a random draw are warned of; random draws are not."""

from dataclasses import replace

import numpy as np
import pytest
from label_worlds import assistance_of, label_set, make_site
from scipy.stats import hypergeom

from autoeval.estimation.label_planning import PlanRequest, make_plan
from autoeval.labels.labelled_estimate import estimate_with_labels
from autoeval.labels.matching import chosen_for_boxes, chosen_in_a_row, hypergeometric_cdf
from autoeval.labels.values import ValueWithError

CODE = "labels-not-random"


@pytest.mark.parametrize(("n", "n_good", "k"), [(20, 7, 5), (400, 390, 30), (9, 9, 3), (9, 0, 3)])
def test_the_distribution_is_scipys(n, n_good, k):
    for x in range(k + 1):
        expected = hypergeom.cdf(x, n, n_good, k)
        assert hypergeometric_cdf(x, n, n_good, k) == pytest.approx(expected, abs=1e-6)


def test_random_draws_are_not_warned_of():
    """Both tests are exact: of 4,000 draws less than one in a thousand is thought improbable."""
    rng, alarms = np.random.default_rng(0), 0
    for _ in range(2000):
        n = int(rng.integers(10, 300))
        k = int(rng.integers(1, n))
        chosen = np.isin(np.arange(n), rng.choice(n, k, replace=False))
        alarms += bool(chosen_for_boxes(chosen, rng.poisson(rng.uniform(0, 3), n)))
        alarms += bool(chosen_in_a_row(chosen))
    assert alarms <= 3


def test_rows_by_hand():
    """Of the 252 sets of 5 of 10 images 6 are one row: by chance too often to be warned of."""
    few, many = np.arange(10) < 5, (np.arange(100) >= 40) & (np.arange(100) < 60)
    assert hypergeometric_cdf(1, 10, 6, 5) == pytest.approx(6 / 252, abs=1e-6)
    assert chosen_in_a_row(few) == [] and chosen_in_a_row(many) != []
    every_fifth = np.arange(100) % 5 == 0
    assert chosen_in_a_row(every_fifth) == []


@pytest.fixture(scope="module")
def world():
    site = make_site(77, n_images=120)
    assistance = assistance_of(3)
    plan = make_plan(site.pool, assistance, PlanRequest(60))
    return site, replace(plan, priors={"mAP": ValueWithError(0.45, 0.09)})


def codes(plan, site, images, **options):
    labels = label_set(site, images)
    return [warning.code for warning in estimate_with_labels(plan, labels, **options).warnings]


def test_images_that_were_chosen_are_warned_of(world):
    site, plan = world
    found = plan.found
    shown = np.bincount(found.image[found.scores > 0.3], minlength=120)
    most = np.argsort(-shown, kind="stable")[:30]
    rng = np.random.default_rng(1)
    at_random = np.sort(rng.choice(120, 30, replace=False))
    in_order = sorted(range(120), key=lambda k: found.images[k].image_id)
    assert CODE in codes(plan, site, most, planned=False)
    assert CODE in codes(plan, site, in_order[30:60], planned=False)
    assert CODE not in codes(plan, site, at_random, planned=False)
    assert CODE not in codes(plan, site, range(120), planned=False)


@pytest.mark.parametrize("hashed", [False, True])
def test_neighbours_are_known_by_their_file_names(world, hashed):
    """Ids that a tool gave are in another order; a number in a name is one without zeros, too.

    Label Studio puts a hash of each image before its name.
    """
    site, plan = world
    ids = np.random.default_rng(2).permutation(120).tolist()
    images = tuple(
        replace(image, image_id=str(k), file_name=f"{f'{k * 97:07x}a-' * hashed}gate {n}.jpg")
        for n, (k, image) in enumerate(zip(ids, site.boxes.images, strict=True))
    )
    plan = replace(plan, found=replace(plan.found, images=images))
    site = replace(site, truth=replace(site.truth, images=images))
    assert CODE in codes(plan, site, range(90, 120), planned=False)
    assert CODE not in codes(plan, site, np.argsort(ids)[:30], planned=False)


def test_a_plan_of_which_the_crowded_images_alone_were_labelled(world):
    site, plan = world
    found = plan.found
    shown = np.bincount(found.image[found.scores > 0.3], minlength=120)[plan.drawn]
    most = plan.drawn[np.argsort(-shown, kind="stable")[:25]]
    some = codes(replace(plan), site, most)
    assert CODE in some and "plan-incomplete" in some
    assert CODE not in codes(plan, site, plan.drawn[:25])
