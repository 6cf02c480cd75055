"""What `observe` promises beyond the known detectors."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import torch
from random_detectors import mmdet_boxes

import autoeval
from autoeval.detections import PRECISIONS
from autoeval.detectors.detector import MMDetector
from autoeval.detectors.predicting import HostCopy, predict, single_precision
from autoeval.detectors.preprocessing import Preprocessor, collate
from autoeval.errors import InputError
from autoeval.estimation.observation.observing import Observer
from autoeval.estimation.observation.samples import ImageLoading, PassLog, observe_batches
from autoeval.io.labels.content import NO_BOXES
from autoeval.io.tasks.seed_set import Sample
from autoeval.io.tasks.task import Task


def test_images_of_several_sizes_and_none(build, images):
    detector = build("yolox_nano")
    seen = detector.observe(images, ["a", "b", "c"])
    assert [(one.image_id, one.image_size) for one in seen] == [
        (name, image.shape[:2]) for name, image in zip("abc", images, strict=True)
    ]
    assert detector.observe([], []) == []
    labels = seen[0].clean.labels
    assert labels.min() >= 0 and labels.max() < len(detector.categories)


def test_its_representation_says_what_it_is(build):
    detector = build("yolox_nano")
    shown = repr(detector)
    assert shown.startswith("<MMDetector YOLOX on CSPDarknet, 80 categories, ")
    assert shown.endswith(f", {detector.fingerprint}>")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"image_ids": ["a", "b"]}, "one id for each image"),
        ({"images": [np.zeros((4, 4, 3))]}, r"\(4, 4, 3\) float64"),
        ({"images": [np.zeros((4, 4), np.uint8)]}, r"\(4, 4\) uint8"),
        ({"images": [np.zeros((0, 4, 3), np.uint8)]}, r"\(0, 4, 3\)"),
    ],
)
def test_bad_calls(build, changes, message):
    call = {"images": [np.zeros((4, 4, 3), np.uint8)], "image_ids": ["a"], **changes}
    with pytest.raises(ValueError, match=message):
        build("yolox_nano").observe(**call)


def test_batches_of_several_give_each_image_its_own(build, images, monkeypatch):
    """As on an accelerator: images of one size together."""
    detector = build("yolox_nano")
    alone = detector.observe(images, ["a", "b", "c"])
    monkeypatch.setattr(detector, "max_batch", 4)
    together = detector.observe(images, ["a", "b", "c"])
    for one, two in zip(alone, together, strict=True):
        np.testing.assert_allclose(one.clean.scores[:5], two.clean.scores[:5], atol=1e-3)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_passes_keep_their_precision_and_leave_the_setting(build, images, monkeypatch, precision):
    """TensorFloat-32, which torch allows on GPUs, makes boxes depend on the rest of a batch."""
    detector, seen = build("yolox_nano"), []
    monkeypatch.setattr(detector, "precision", precision)
    hook = detector.model.backbone.register_forward_hook(
        lambda *call: seen.append((torch.backends.cudnn.allow_tf32, call[2][-1].dtype))
    )
    for before in (True, False):
        monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", before)
        detector.observe(images[:1], ["a"])
        with pytest.raises(ZeroDivisionError), single_precision():
            1 / 0  # noqa: B018
        assert torch.backends.cudnn.allow_tf32 is before
    hook.remove()
    kind = torch.bfloat16 if precision == "half" else torch.float32
    allowed = (False, False) if precision == "single" else (True, False)
    assert seen == [(allow, kind) for allow in allowed]


def test_another_precision_is_another_detector(build, monkeypatch):
    detector = build("yolox_nano")
    usual = dict(detector.settings)
    monkeypatch.setattr(detector, "precision", "single")
    monkeypatch.delitem(vars(detector), "settings", raising=False)
    assert detector.settings == usual | {"precision": "single"}
    with pytest.raises(InputError, match="framework, single, half"):
        MMDetector(detector.model, detector.config, detector.categories, precision="double")


def test_batches_halve_where_memory_runs_out(build, images, monkeypatch):
    detector, sizes = build("yolox_nano"), []
    expected = detector.observe(images[:1] * 5, list("abcde"))
    monkeypatch.setattr(detector, "max_batch", 4)
    predict = detector.model.predict

    def limited(inputs, samples):
        sizes.append(len(inputs))
        if len(inputs) > 1:
            raise torch.OutOfMemoryError
        return predict(inputs, samples)

    monkeypatch.setattr(detector.model, "predict", limited)
    with pytest.warns(UserWarning, match="1 images at a time"):
        seen = detector.observe(images[:1] * 5, list("abcde"))
    assert sizes == [4, 2, 1, 1, 1, 1, 1] and detector.max_batch == 1
    for one, other in zip(seen, expected, strict=True):
        np.testing.assert_array_equal(one.clean.boxes, other.clean.boxes)

    def too_small(inputs, samples):
        raise torch.OutOfMemoryError

    monkeypatch.setattr(detector.model, "predict", too_small)
    with pytest.raises(torch.OutOfMemoryError):
        detector.observe(images[:1], ["a"])


def test_images_prepared_ahead_are_the_same(build, images):
    preprocess = Preprocessor(build("yolox_nano").config)
    for image in images:
        preprocess.ahead(image)
    for image in reversed(images):
        ahead, now = preprocess(image), preprocess(image)
        assert torch.equal(ahead["inputs"], now["inputs"])
        assert ahead["data_samples"].metainfo == now["data_samples"].metainfo


def test_what_is_prepared_of_an_image_goes_with_it(build):
    preprocess = Preprocessor(build("yolox_nano").config)
    image = np.zeros((32, 48, 3), np.uint8)
    preprocess.ahead(image)
    assert len(preprocess._begun) == 1
    del image
    assert not preprocess._begun


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_workers_read_and_prepare_ahead_and_change_no_box(build, images, monkeypatch, workers):
    """With workers, images of later batches are prepared before an earlier one is computed."""
    detector, where, computed = build("yolox_nano"), [], []
    prepare = Preprocessor._prepare

    def prepared(self, image):
        where.append(threading.get_ident())
        return prepare(self, image)

    def predicted(model, batch):
        deadline = time.monotonic() + 30
        while not computed and workers and len(where) < 6 and time.monotonic() < deadline:
            time.sleep(0.01)  # or the threads could be slower than this small network
        computed.append(len(where))
        return predict(model, batch)

    expected = detector.observe(images * 2, list("abcdef"))
    monkeypatch.setattr(Preprocessor, "_prepare", prepared)
    monkeypatch.setattr("autoeval.detectors.detector.predict", predicted)
    task, before = Task("object", ("object",), ()), threading.active_count()
    boxes = Observer(detector, task, reading=ImageLoading(batch_size=2, num_workers=workers))
    samples = [Sample(e.image_id, images[k % 3].copy(), *NO_BOXES) for k, e in enumerate(expected)]
    seen = list(boxes.stream(samples, detector.launch))
    for (_, sample, one), other in zip(seen, expected, strict=True):
        assert sample.image_id == other.image_id
        np.testing.assert_array_equal(one.clean.boxes, other.clean.boxes)
        np.testing.assert_array_equal(one.clean.scores, other.clean.scores)
    assert len(where) == 6 and computed[0] == (6 if workers else 2)
    assert (threading.get_ident() in where) == (not workers)
    assert threading.active_count() == before


def test_tensors_of_a_device_come_in_one_copy(monkeypatch):
    """As bytes, the widest first; a device other than the host is played by its name alone."""
    tensors = [
        torch.rand(3, 4),
        torch.tensor([True, False, True]),
        torch.arange(5) - 2**40,
        torch.zeros(0, 4),
        torch.rand(2, 6)[:, ::2],
        torch.rand(1, 5)[:, -1],  # the scores of an image with one box
        torch.rand(0, 5)[:, -1],
        torch.rand(1, 7, 3)[:, ::7, 1:],
        torch.tensor(1.5),
    ]
    copies, of_tensor = [], torch.Tensor.cpu
    monkeypatch.setattr(torch.Tensor, "cpu", lambda x: copies.append(x.numel()) or of_tensor(x))
    monkeypatch.setattr("autoeval.detectors.predicting.is_on_host", lambda tensor: False)
    copy = HostCopy()
    added = [copy.add(tensors[:2]), copy.add([]), copy.add(tensors[2:])]
    copy.begin()
    assert len(copies) == 1
    first, none, last = (of_part() for of_part in added)
    assert none == []
    for array, tensor in zip(first + last, tensors, strict=True):
        assert array.dtype == tensor.numpy().dtype
        np.testing.assert_array_equal(array, tensor.numpy())
    assert len(copies) == 1


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_a_copy_from_a_gpu_is_waited_for_and_leaves_no_pinned_memory():
    values = torch.rand(64, 1000)
    copy = HostCopy()
    copy.add([values.cuda(), values[:0].cuda(), (values > 0.5).cuda()])
    copy.begin()
    first, none, mask = copy.arrays()
    np.testing.assert_array_equal(first, values.numpy())
    np.testing.assert_array_equal(mask, values.numpy() > 0.5)
    assert none.shape == (0, 1000) and not torch.from_numpy(first).is_pinned()


def test_a_batch_is_waited_for_when_the_next_one_is_launched(build, images, monkeypatch):
    """The network of batch k + 1 is run before the boxes of batch k are read on the host."""
    detector, events = build("yolox_nano"), []
    arrays, run = HostCopy.arrays, detector.model.predict
    monkeypatch.setattr(HostCopy, "arrays", lambda x: events.append("read") or arrays(x))
    monkeypatch.setattr(
        detector.model, "predict", lambda *given: events.append("launched") or run(*given)
    )
    task = Task("object", ("object",), (), dict.fromkeys(detector.categories, "object"))
    samples = [Sample(str(k), images[0], *NO_BOXES) for k in range(5)]
    watching = Observer(detector, task, reading=ImageLoading(batch_size=2))
    assert [s.image_id for s, _ in watching.each(samples)] == list("01234")
    two = ["launched"] * 2
    assert events == [*two, *two, "read", "read", "launched", "read", "read", "read"]


def test_images_of_a_batch_go_to_a_device_in_one_copy(build, images, monkeypatch):
    """A device other than the host is played by its name alone."""
    detector, stacked = build("retinanet_r18"), []
    prepared = [detector._preprocess(images[k]) for k in (0, 2)]
    expected, _ = collate(detector.model, prepared)
    monkeypatch.setattr(detector.model.data_preprocessor, "_device", torch.device("meta"))
    monkeypatch.setattr(
        "autoeval.detectors.preprocessing.to_device", lambda x, device: stacked.append(x) or x
    )
    monkeypatch.setattr(detector.model.data_preprocessor, "cast_data", lambda data: data)
    inputs, _ = collate(detector.model, prepared)
    assert [x.shape for x in stacked] == [(2, *prepared[0]["inputs"].shape)]
    torch.testing.assert_close(inputs, expected, rtol=0, atol=0)


def test_detect_takes_the_clean_pass_without_by_products(build, images, tmp_path, monkeypatch):
    """No hook, no copy but of boxes, scores and labels, and the framework's own boxes."""
    detector, copied, add = build("retinanet_r18"), [], HostCopy.add
    expected = [mmdet_boxes(detector, image) for image in images]
    for name in ("register_forward_hook", "register_forward_pre_hook"):
        monkeypatch.setattr(torch.nn.Module, name, lambda *given, **named: pytest.fail("a hook"))
    monkeypatch.setattr(
        HostCopy, "add", lambda self, x: copied.append([tuple(y.shape) for y in x]) or add(self, x)
    )
    found = autoeval.detect(detector, images, tmp_path / "boxes.parquet")
    assert copied == [[(len(e), 4), (len(e),), (len(e),)] for e in expected]
    assert len(found) == sum(map(len, expected)) > 0
    for k, boxes in enumerate(expected):
        np.testing.assert_array_equal(found.detections(k).boxes.astype(np.float32), boxes.boxes)
        np.testing.assert_array_equal(found.detections(k).scores.astype(np.float32), boxes.scores)


def test_a_failure_of_a_batch_comes_after_the_images_before_it():
    """Also where the next batch was launched meanwhile, and by the number of the image."""

    def launch(images, names):
        if "2" in names:
            raise ZeroDivisionError("odd image")
        return lambda: [name.upper() for name in names]

    samples, log = (
        [Sample(str(k), np.zeros((2, 2, 3), np.uint8), *NO_BOXES) for k in range(5)],
        PassLog(),
    )
    batches = [[(k, samples[k]) for k in part] for part in ([0, 1], [2, 3], [4])]
    assert [number for number, _, _ in observe_batches(batches, launch, log)] == [0, 1, 3, 4]
    assert list(log.unreadable) == [2] and log.n_observed == 4

    def stopped(images, names):
        if "2" in names:
            raise InputError("no such stage")
        return lambda: list(names)

    seen = []
    with pytest.raises(InputError, match="no such stage"):
        seen.extend(n for n, _, _ in observe_batches(batches, stopped, PassLog()))
    first = observe_batches(batches, stopped, PassLog())
    assert [next(first)[0], next(first)[0]] == [0, 1]


PROGRAM = """
import warnings
import numpy as np
from autoeval.detectors import MMDetector
from autoeval.detectors.building.category_names import coco_categories
from autoeval.detectors.loading import build_model, read_config

config = read_config("yolox_nano")
detector = MMDetector(build_model(config), config, coco_categories())
detector.observe([np.zeros((64, 64, 3), np.uint8)], ["a"])
warnings.warn("something else of the future", FutureWarning)
"""


def test_three_warnings_are_silent_and_no_other():
    words = [sys.executable, "-c", PROGRAM]
    shown = subprocess.run(words, capture_output=True, text=True, check=True).stderr
    assert "something else of the future" in shown
    assert not any(word in shown for word in ("pkg_resources", "autocast", "meshgrid"))
