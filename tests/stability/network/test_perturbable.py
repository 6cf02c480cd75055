"""What `observe` promises of a detector under dropout, beyond the known detectors."""

from collections import Counter

import numpy as np
import pytest
import torch
from branching import same
from device_waits import device_waits

from autoeval.detectors import MMDetector, predicting
from autoeval.detectors.black_box import BlackBoxDetector
from autoeval.errors import InputError
from autoeval.stability.dropout_search.trial import PARTS
from autoeval.stability.network import capture
from autoeval.stability.network.forward import stacked_boxes
from autoeval.stability.network.forward.dropout_spec import DropoutSpec
from autoeval.stability.network.perturbable import PerturbableDetector
from autoeval.stability.network.viewed_black_box import ViewedBlackBox
from autoeval.stability.passes.presets import BY_PRODUCTS, as_perturbable


def test_repeats_and_seeds(build, images):
    detector, spec = build("yolox_nano"), DropoutSpec("before", (1, 2), 0.3)

    def scores(seed=0, name="a", repeats=2):
        (seen,) = detector.observe(images[:1], [name], dropout=spec, repeats=repeats, seed=seed)
        return [tuple(boxes.scores) for boxes in seen.perturbed]

    base = scores()
    assert len(base) == 2 and base[0] != base[1]
    assert scores(repeats=3)[:2] == base  # more repeats leave the first ones as they are
    assert scores(seed=1) != base and scores(name="b") != base


def test_without_dropout_and_without_images(build, images):
    detector = build("yolox_nano")
    seen = detector.observe(images, ["a", "b", "c"])
    assert [(one.image_id, one.perturbed) for one in seen] == [("a", ()), ("b", ()), ("c", ())]
    assert detector.observe([], [], wants=["views"]) == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"repeats": 1}, "with a `dropout`"),
        ({"repeats": -1, "dropout": DropoutSpec()}, "0 or more"),
        ({"wants": ["masks", "views"]}, "got masks"),
    ],
)
def test_bad_calls(build, changes, message):
    call = {"images": [np.zeros((4, 4, 3), np.uint8)], "image_ids": ["a"], **changes}
    with pytest.raises(ValueError, match=message):
        build("yolox_nano").observe(**call)


@pytest.fixture
def unsplittable(build, monkeypatch):
    """A detector whose backbone has a forward of its own, and the one it is made from."""
    known = build("retinanet_r18")
    backbone = known.model.backbone

    class Other(type(backbone)):
        def forward(self, x):
            return super().forward(x)

    monkeypatch.setattr(backbone, "__class__", Other)
    with pytest.warns(UserWarning, match="Other.*cannot be split"):
        other = PerturbableDetector(known.model, known.config, known.categories)
    return known, other


@pytest.mark.parametrize("position", ["after", "before"])
def test_fallback_gives_the_same_boxes(unsplittable, images, position):
    known, other = unsplittable
    assert known.splits_backbone and not other.splits_backbone
    spec = DropoutSpec(position, (0, 2), 0.3)
    both = (of.observe(images[:2], ["a", "b"], dropout=spec, repeats=2) for of in unsplittable)
    for one, two in zip(*both, strict=True):
        assert same(one.clean, two.clean) and all(map(same, one.perturbed, two.perturbed))


def test_each_part_of_the_fallback_costs_alike(unsplittable, images):
    """A search counts what it executes by part: stem, four stages, neck and head."""
    costs = unsplittable[1].part_costs(images[0])
    assert costs == pytest.approx([1 / len(PARTS)] * len(PARTS))


def test_fallback_without_stages(unsplittable, images, monkeypatch):
    known, _ = unsplittable
    monkeypatch.setattr("autoeval.stability.network.forward.stages.STAGE_LISTS", ())
    monkeypatch.setattr("autoeval.stability.network.forward.stages.STRIDES", ())
    with pytest.warns(UserWarning, match="No stages were found"):
        other = PerturbableDetector(known.model, known.config, known.categories)
    assert len(other.observe(images[:1], ["a"])[0].clean)
    assert other.stages == () and "dropout_stages" not in other.settings
    with pytest.raises(InputError, match="Cannot find the stages of the backbone Other"):
        other.observe(images[:1], ["a"], dropout=DropoutSpec(), repeats=1)


def test_stages_of_ones_choice(unsplittable, images):
    """Given as the family has them they change no box; the settings tell them all the same."""
    known, _ = unsplittable
    names = ("layer1", "layer2", "layer3.0", "layer4")
    with pytest.raises(InputError, match="'conv9' fits 0: conv1, bn1"):
        PerturbableDetector(known.model, known.config, known.categories, stages=("layer2", "conv9"))
    other = PerturbableDetector(known.model, known.config, known.categories, stages=names)
    assert other.stages == names and other.settings["dropout_stages"] == list(names)
    assert known.stages == ("layer1", "layer2", "layer3", "layer4")
    assert "dropout_stages" not in known.settings
    for stages, equal in (((0, 1), True), ((2,), False)):
        spec = DropoutSpec("after", stages, 0.3)
        (one,) = known.observe(images[:1], ["a"], dropout=spec, repeats=1)
        (two,) = other.observe(images[:1], ["a"], dropout=spec, repeats=1)
        assert np.array_equal(one.perturbed[0].boxes, two.perturbed[0].boxes) == equal


def test_batches_of_several_give_each_image_its_own(build, images, monkeypatch):
    """As on an accelerator: images of one size together, all repeats together."""
    detector, spec = build("yolox_nano"), DropoutSpec("before", (1, 2), 0.3)
    alone = detector.observe(images, ["a", "b", "c"], dropout=spec, repeats=3)
    monkeypatch.setattr(detector, "max_batch", 4)
    together = detector.observe(images, ["a", "b", "c"], dropout=spec, repeats=3)
    for one, two in zip(alone, together, strict=True):
        for a, b in zip((one.clean, *one.perturbed), (two.clean, *two.perturbed), strict=True):
            np.testing.assert_allclose(a.scores[:5], b.scores[:5], atol=1e-3)


def test_repeats_are_stacked_lower_where_memory_runs_out(build, images, monkeypatch):
    """Before the clean pass is given fewer images; numbers are those of any other batch size."""
    detector, spec, sizes = build("yolox_nano"), DropoutSpec("before", (1, 2), 0.3), []
    batch, ids, predict = [images[0], images[2]], list("ab"), detector.model.predict
    alone = detector.observe(batch, ids, dropout=spec, repeats=3)

    def small(inputs, samples):
        if len(inputs) > 4:
            raise torch.OutOfMemoryError
        sizes.append(len(inputs))
        return predict(inputs, samples)

    monkeypatch.setattr(detector.model, "predict", small)
    for name in ("max_batch", "_stacked"):
        monkeypatch.setattr(detector, name, 4)
    with pytest.warns(UserWarning, match="going on with 4 perturbed images at a time"):
        together = detector.observe(batch, ids, dropout=spec, repeats=3)
    assert detector.max_batch == 4 and sizes[-3:] == [2, 4, 2]
    for one, other in zip(alone, together, strict=True):
        for a, b in zip((one.clean, *one.perturbed), (other.clean, *other.perturbed), strict=True):
            np.testing.assert_allclose(a.scores[:5], b.scores[:5], atol=1e-3)


def test_without_repeats_batches_of_images_are_halved_at_once(build, images, monkeypatch):
    detector = build("yolox_nano")
    predict = detector.model.predict

    def small(inputs, samples):
        if len(inputs) > 1:
            raise torch.OutOfMemoryError
        return predict(inputs, samples)

    monkeypatch.setattr(detector.model, "predict", small)
    monkeypatch.setattr(detector, "max_batch", 2)
    with pytest.warns(UserWarning) as warned:
        detector.observe([images[0], images[2]], list("ab"))
    (said,) = [str(of.message) for of in warned if "memory" in str(of.message)]
    assert "going on with 1 images" in said and detector.max_batch == 1


@pytest.fixture
def elsewhere(monkeypatch):
    """Play a device other than the host: what is added to a copy is copied."""
    for module in (predicting, stacked_boxes):
        monkeypatch.setattr(module, "is_on_host", lambda tensor: False)


EVERYTHING = (*BY_PRODUCTS, "logits", "prototypes", "views", "reweighted")
# What waits for a stack of four: candidates over the threshold, their numbers, then for each part
# that memory allows each round of its suppression, and the boxes that stay. RetinaNet finds its
# candidates on five levels, twice each; they are suppressed in two parts, of six rounds and five.
COPIED = {"cpu": 1, "numpy": 1}
READS = {
    "yolox_nano": {"aten::nonzero": 1, **COPIED, "aten::equal": 1, "aten::index": 1},
    "retinanet_r18": {"aten::nonzero": 10, **COPIED, "aten::equal": 11, "aten::index": 2},
}


@pytest.mark.parametrize("name", ["yolox_nano", "retinanet_r18", "faster_rcnn_r50"])
def test_a_batch_is_launched_without_waiting_but_for_mmdets_own_post_processing(
    build, images, monkeypatch, elsewhere, name
):
    """All that its passes leave comes in one copy, and nothing is drawn on the host."""
    detector, spec = build(name), DropoutSpec("after", (1, 2), 0.15)
    batch, ids = [images[0], images[2]], list("ab")
    options = {"dropout": spec, "repeats": 2, "wants": EVERYTHING}
    monkeypatch.setattr(detector, "max_batch", 4)
    monkeypatch.setattr(stacked_boxes, "MOST_PAIRS", 2**19)
    expected = detector.observe(batch, ids, **options)  # also draws the change of the weights
    for owner, function in (
        (torch, "rand"),
        (torch, "bernoulli"),
        (torch.Tensor, "uniform_"),
        (torch.Tensor, "bernoulli_"),
        (torch.nn.functional, "dropout"),
    ):
        monkeypatch.setattr(owner, function, drawn_on_the_host)
    with device_waits() as waits:
        seen = detector.launch(batch, ids, **options)
    # Boxes of a stack are suppressed together: their numbers are read, once for all images.
    stack, copy = waits.ours[:-1], waits.ours[-1]
    reads = Counter(wait.partition(" ")[2] for wait in stack)
    assert reads == READS.get(name, {})
    assert copy.startswith("predicting.py:") and copy.endswith(" cpu")
    for one, other in zip(expected, seen(), strict=True):
        assert same(one.clean, other.clean) and all(map(same, one.perturbed, other.perturbed))
        assert all(map(same, one.views, other.views)) and one.missing == other.missing == {}


def drawn_on_the_host(*args, **kwargs):
    raise AssertionError("a mask was drawn on the host")


@pytest.mark.parametrize(
    "read",
    [
        *("x.sum().item()", "bool(x.any())", "float(x[0, 0])", "x.nonzero()"),
        *("x.cpu()", "x.to('cpu')", "x.numpy()", "numpy.asarray(x)", "x.tolist()"),
        *("x[x[:, 0] > 0]", "x[x > 0]", "x[[0, 0]]", "x[numpy.array([0])]"),
        "torch.tensor([1.0], device=x.device)",
    ],
)
def test_a_read_before_the_copy_would_be_seen(build, images, monkeypatch, read):
    detector = build("yolox_nano")
    names = {"torch": torch, "numpy": np, "reduce": capture.free_energy}
    lines = f"def reads(x):\n    {read}\n    return reduce(x)\n"
    exec(compile(lines, capture.__file__, "exec"), names)
    monkeypatch.setattr(capture, "free_energy", names["reads"])
    with device_waits() as waits:
        detector.launch(images[:1], ["a"], wants=BY_PRODUCTS)
    assert waits.ours and all(where.startswith("capture.py:2 ") for where in waits.ours)


def test_any_detector_is_made_perturbable(build):
    """Its settings, and with them its fingerprint, stay as they are: rows that are kept count."""
    known = build("retinanet_r18")
    plain = MMDetector(known.model, known.config, known.categories)
    made = as_perturbable(plain)
    assert isinstance(made, PerturbableDetector) and made.fingerprint == plain.fingerprint
    assert as_perturbable(made) is made and as_perturbable(made, made.stages) is made
    assert as_perturbable(made, ("layer1", "layer2")).stages == ("layer1", "layer2")
    other = object()
    assert as_perturbable(other) is other
    black_box = BlackBoxDetector(lambda images: ([], [], []), ["car"], name="mine")
    viewed = as_perturbable(black_box)
    assert isinstance(viewed, ViewedBlackBox) and as_perturbable(viewed) is viewed
    assert viewed.fingerprint == black_box.fingerprint
    for detector in (other, black_box):
        with pytest.raises(InputError, match=r"Expected no stages with .*Leave them out"):
            as_perturbable(detector, ("layer1",))
