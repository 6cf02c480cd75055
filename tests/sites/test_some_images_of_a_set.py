"""Some images of a labelled set: matches and features stay those of these images alone."""

from dataclasses import replace

import numpy as np
import pytest
from label_worlds import make_site

from autoeval.accuracy.coco_evaluation import match_categories, top_detections

CHOSEN = np.array([1, 4, 30, 59])


def crowded_site():
    """A site whose boxes all lie in a few images: more than the hundred that evaluation counts."""
    site = make_site(5, n_objects=9.0)
    clean = site.boxes
    clean = replace(clean, image=np.where(clean.image < 40, 4, clean.image))
    assert np.bincount(clean.image).max() > 300
    return replace(site, boxes=clean, reference=clean.where(clean.scores > 0.5))


def test_matches_are_those_of_the_images_alone():
    site = crowded_site()
    some = site.on_images(CHOSEN)
    assert len(some) == 4
    matched, ignored = match_categories(some.boxes, some.truth)
    assert (some.evaluation.matches[0] == matched).all()
    assert (some.evaluation.matches[1] == ignored).all()
    assert matched.any()


def test_a_mask_keeps_its_images():
    """A mask was read as the positions 0 and 1, which left two images of 60."""
    site = crowded_site()
    mask = np.isin(np.arange(60), CHOSEN)
    for chosen in (mask, mask.tolist()):
        some, expected = site.on_images(chosen), site.on_images(CHOSEN)
        assert some.boxes.images == expected.boxes.images and len(some) == 4
        assert (some.boxes.scores == expected.boxes.scores).all() and len(some.boxes.scores)
        assert (some.evaluation.matches.hits == expected.evaluation.matches.hits).all()
    assert len(site.boxes.on_images(~mask).images) == 56
    with pytest.raises(IndexError):
        site.boxes.on_images(mask[:9])
    assert len(site.boxes.on_images([]).images) == 0


def test_the_pool_holds_the_boxes_that_evaluation_counts_with_their_matches():
    site = crowded_site()
    matched, ignored = match_categories(site.pool, site.truth)
    assert len(site.pool) < len(site.boxes)
    found = site.boxes
    of_pool = site.evaluation.matches.of(top_detections(found.image, found.label, found.scores))
    assert (of_pool.hits == matched).all() and (of_pool.ignored == ignored).all()
    assert not ignored.any()


def test_at_most_so_many_images_are_drawn_by_a_seed():
    site = make_site(5)
    assert site.at_most(60) is site
    first, second = site.at_most(20), site.at_most(20)
    ids = [image.image_id for image in first.truth.images]
    assert len(set(ids)) == 20
    assert ids == [image.image_id for image in second.truth.images]
    assert ids == sorted(ids, key=[image.image_id for image in site.truth.images].index)
