import numpy as np
import pytest

from autoeval.detections import Candidates, Detections, Evidence
from autoeval.errors import InputError

BOXES = np.arange(12, dtype=float).reshape(3, 4)
CLEAN = Detections(BOXES, [0.9, 0.5, 0.2], [2, 0, 1])
CANDIDATES = Candidates(BOXES, [0.9, 0.5, 0.2], [2, 0, 1], [True, False, True])
LOOKUP = np.array([-1, 0, 1])


def test_selecting_candidates_selects_what_was_kept_too():
    chosen = CANDIDATES.above(0.3)
    assert isinstance(chosen, Candidates)
    assert chosen.kept.tolist() == [True, False]
    assert CANDIDATES.relabel(LOOKUP).kept.tolist() == [True, True]
    assert CANDIDATES.relabel(LOOKUP).labels.tolist() == [1, 0]


def test_relabelling_keeps_the_parts_of_evidence_in_step():
    logits = np.arange(12).reshape(3, 4)
    of_boxes = {"energies": logits[:, 0], "logits": logits}
    parts = {"candidates": CANDIDATES, "features": np.ones(5), **of_boxes}
    whole = Evidence("a", (9, 9), CLEAN, (CLEAN[:2],), views=(CLEAN[1:],), **parts)
    evidence = whole.relabel(LOOKUP)
    assert evidence.clean.labels.tolist() == [1, 0]
    assert evidence.perturbed[0].labels.tolist() == [1]
    assert evidence.views[0].labels.tolist() == [0]
    assert evidence.candidates.scores == pytest.approx([0.9, 0.2])
    np.testing.assert_array_equal(evidence.logits, logits[[0, 2]])
    assert evidence.energies.tolist() == [0, 8]
    assert evidence.features.shape == (5,)


def test_parts_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="`kept` of shape"):
        Candidates(BOXES, CLEAN.scores, CLEAN.labels, [True])
    with pytest.raises(ValueError, match="`logits` of 3 clean boxes but got 2"):
        Evidence("a", (9, 9), CLEAN, logits=np.zeros((2, 4)))
    with pytest.raises(ValueError, match="`energies` of 3 clean boxes but got 2"):
        Evidence("a", (9, 9), CLEAN, energies=np.zeros(2))


def test_what_is_missing_is_explained():
    evidence = Evidence("a", (9, 9), CLEAN, missing={"logits": "the head gives none"})
    assert evidence.why_missing("logits") == "the head gives none"
    assert evidence.why_missing("views") == "the pass was made without views"
    assert evidence.why_missing("clean") is None
    with pytest.raises(InputError, match="Expected logits of image 'a' but the head gives none"):
        evidence.require("logits")
