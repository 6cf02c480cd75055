"""Boxes under a score floor are left out by one rule, whether their labels are known or not."""

from dataclasses import replace

import numpy as np
from made_sites import random_found, truth_from

from autoeval.accuracy.coco_evaluation import match_categories
from autoeval.boxes import same_boxes
from autoeval.sites.site import Site


def test_a_floor_cuts_labelled_and_new_sites_alike_and_matches_stay():
    """A score of exactly .3, in double precision or single, is at a floor of .3 and stays."""
    found = random_found(1)
    scores = found.scores.astype(np.float64)
    scores[:4] = [0.3, np.float32(0.3), np.nextafter(0.3, 0), 0.29]
    found = replace(found, scores=scores)
    labelled = Site(found, truth=truth_from(found)).above(0.3)
    new = Site(found).above(0.3)
    assert new.evaluation is None and same_boxes(new.boxes, labelled.boxes)
    assert len(new.boxes) == 3 + np.count_nonzero(scores[4:] >= np.float32(0.3))
    matches = match_categories(labelled.boxes, labelled.truth)
    np.testing.assert_array_equal(labelled.evaluation.matches.hits, matches.hits)
