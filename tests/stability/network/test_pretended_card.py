"""The whole pass on a GPU that is pretended on a processor: its numbers, launches and waits."""

import copy

import numpy as np
import pytest
from branching import same
from pretend_card import pretend_card
from random_detectors import random_model

from autoeval.stability.network import capture
from autoeval.stability.network.forward import stacked_boxes
from autoeval.stability.network.forward.dropout_spec import DropoutSpec
from autoeval.stability.network.perturbable import PerturbableDetector
from autoeval.stability.passes.presets import BY_PRODUCTS

EVERYTHING = (*BY_PRODUCTS, "logits", "prototypes", "views", "reweighted")
MIDDLE = DropoutSpec("after", (1, 2), 0.15)
LAST = DropoutSpec("after", (3,), 0.15)


@pytest.fixture(autouse=True)
def few_regions(monkeypatch):
    """Pool a few candidates: each is an operation or more, which take their time here."""
    monkeypatch.setattr(capture, "MOST_POOLED", 20)


def on_card(name, **options):
    """Build a known detector on the card that is pretended."""
    model, *others = random_model(name)
    detector = PerturbableDetector(copy.deepcopy(model).to("cuda:0"), *others, **options)
    detector.max_batch = 2
    return detector


@pytest.mark.parametrize(
    ("name", "spec", "repeats", "wants"),
    [
        ("yolox_nano", LAST, 3, EVERYTHING),
        ("retinanet_r18", MIDDLE, 1, EVERYTHING),
        # two stages: perturbed passes, too, are post-processed image by image
        ("faster_rcnn_r50", LAST, 1, (*BY_PRODUCTS, "logits", "prototypes")),
    ],
)
def test_a_card_gives_what_a_processor_gives(images, name, spec, repeats, wants):
    """No operand lies on the other side, and each number is the same for batches of one size."""
    two, ids = [images[0], images[2]], ["a", "b"]
    options = {"dropout": spec, "repeats": repeats, "wants": wants}
    processor = PerturbableDetector(*random_model(name))
    processor.max_batch = 2
    expected = processor.observe(two, ids, **options)
    with pretend_card():
        seen = on_card(name).observe(two, ids, **options)
    for one, other in zip(expected, seen, strict=True):
        assert one.missing == other.missing == {}
        passes = zip((one.clean, *one.perturbed), (other.clean, *other.perturbed), strict=True)
        assert all(same(a, b) for a, b in passes)
        assert all(map(same, one.views, other.views))
        for field in {"energies", "features", "logits", "prototypes"} & {*wants}:
            assert np.array_equal(getattr(one, field), getattr(other, field))


@pytest.mark.parametrize("precision", ["single", "half"])
def test_other_precisions_run_on_a_card(images, precision):
    options = {"dropout": LAST, "repeats": 2, "wants": BY_PRODUCTS}
    with pretend_card():
        (seen,) = on_card("yolox_nano", precision=precision).observe(images[:1], ["a"], **options)
    assert len(seen.perturbed) == 2 and seen.missing == {} and len(seen.clean)
    scores = seen.clean.scores
    assert scores.dtype == np.float32
    assert np.array_equal(scores, scores.astype(np.float16)) == (precision == "half")


def test_memory_that_runs_out_leaves_numbers_as_they_are(images):
    """First fewer repeats are stacked, then batches are halved; in the end each image is alone."""
    two, options = [images[0], images[2]], {"dropout": LAST, "repeats": 2}
    with pretend_card():
        alone = on_card("yolox_nano")
        alone.max_batch = 1
        expected = alone.observe(two, ["a", "b"], **options)
    with pretend_card(most=1) as card:
        detector = on_card("yolox_nano")
        with pytest.warns(UserWarning, match="memory of cuda:0 does not hold"):
            seen = detector.observe(two, ["a", "b"], **options)
    assert detector.max_batch == 1 and card.waits
    for one, other in zip(expected, seen, strict=True):
        passes = zip((one.clean, *one.perturbed), (other.clean, *other.perturbed), strict=True)
        assert len(one.perturbed) == 2 and all(same(a, b) for a, b in passes)


@pytest.mark.parametrize("name", ["yolox_nano", "retinanet_r18"])
def test_a_stack_takes_less_than_a_twentieth_of_mmdets_launches_and_waits(
    images, monkeypatch, name
):
    """For the 64 perturbed images of a batch of 16; eight launch as much, and are counted here."""
    two, ids = [images[0], images[2]], ["a", "b"]

    def cost(repeats):
        card.launches = card.waits = 0
        detector.observe(two, ids, dropout=LAST, repeats=repeats)
        return np.array([card.launches, card.waits])

    with pretend_card() as card:
        detector = on_card(name)
        detector.model.bbox_head.test_cfg["nms_pre"] = 50  # the quicker they are overlapped here
        together = cost(4)
        monkeypatch.setattr(stacked_boxes, "known_head", lambda model: None)
        one_by_one = cost(4)
        of_image = (one_by_one - cost(2)) / 4  # the network launches as much for either stack
    of_stack = 8 * of_image - (one_by_one - together)
    assert all(of_image > 5)
    assert all(of_stack > 0) and all(of_stack < 64 * of_image / 20)
