"""Ultralytics: boxes equal those of its own `predict`, with networks of random weights.

Run where it is installed (AGPL-3.0): `pip install -e '.[ultralytics]'`, best apart.
"""

import time
from types import SimpleNamespace

import numpy as np
import pytest
from framework_images import scenes, two_sizes

import autoeval
from autoeval.detectors.adapters import ultralytics_model
from autoeval.detectors.adapters.ultralytics_model import from_ultralytics
from autoeval.detectors.detector_spec import DetectorSpec
from autoeval.errors import InputError
from tests.clients.torchvision_operators import usable_torchvision

pytest.importorskip("ultralytics", reason="needs the extra 'ultralytics'")
SIDE = 160
OPTIONS = {"imgsz": SIDE, "conf": 0.01, "iou": 0.5, "max_det": 40}


def spread(network):
    """Give the categories of a random head scores of different sizes, and boxes, too."""
    import torch

    head = network.model[-1]
    generator = torch.Generator().manual_seed(1)
    for name, least in (("cv2", 0), ("cv3", -3), ("one2one_cv2", 0), ("one2one_cv3", -3)):
        for last in (part[-1] for part in getattr(head, name, ()) or ()):
            with torch.no_grad():
                last.bias.copy_(torch.randn(last.bias.shape, generator=generator) + least)
                last.weight.copy_(torch.randn(last.weight.shape, generator=generator))


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    """Files of random weights by their architecture."""
    usable_torchvision()
    import torch
    from ultralytics import RTDETR, YOLO

    folder = tmp_path_factory.mktemp("weights")

    def write(name):
        path = folder / f"{name}.pt"
        if not path.exists():
            torch.manual_seed(0)
            model = (RTDETR if name.startswith("rtdetr") else YOLO)(f"{name}.yaml")
            if not name.startswith("rtdetr"):
                spread(model.model)
            model.save(path)
        return str(path)

    return write


def framework_boxes(path, images):
    from ultralytics import YOLO

    model, found = YOLO(path), []
    for image in images:
        (result,) = model.predict(image, verbose=False, **OPTIONS)
        found.append(result.boxes.cpu().numpy())
    return found


def assert_same(seen, found):
    for mine, theirs in zip(seen, found, strict=True):
        kept = (theirs.xyxy[:, 2:] > theirs.xyxy[:, :2]).all(1)  # random boxes may be inside out
        assert kept.sum() > 3
        np.testing.assert_array_equal(mine.clean.boxes, theirs.xyxy[kept])
        np.testing.assert_array_equal(mine.clean.scores, theirs.conf[kept])
        np.testing.assert_array_equal(mine.clean.labels, theirs.cls[kept])


@pytest.mark.parametrize("name", ["yolo11n", "yolo26n", "yolo11n-seg", "yolov8n"])
def test_boxes_are_those_of_predict(weights, name):
    """Of one image, of a batch of two sizes, and of an object: the same to the last bit."""
    path = weights(name)
    images = two_sizes()
    found = framework_boxes(path, images)
    assert min(map(len, found)) > 3
    detector = DetectorSpec(path, device="cpu", cfg_options=OPTIONS)()
    assert_same(detector.observe(images, list("abc")), found)

    from ultralytics import YOLO

    of_object = from_ultralytics(YOLO(path), options=OPTIONS)
    assert_same(of_object.observe(images[:1], ["a"]), found[:1])
    assert of_object.settings == detector.settings


def test_boxes_that_end_before_they_begin_have_no_area(weights):
    """A YOLO26 has no distribution of distances, and some are negative: a whole run was refused."""
    from ultralytics import YOLO

    model, images, options = YOLO(weights("yolo26n")), two_sizes(), {**OPTIONS, "max_det": 600}
    head = model.model.model[-1]
    for layers in (head.cv2, head.one2one_cv2):  # of versions without and with suppression
        layers[2][-1].bias.data -= 2
    detector = from_ultralytics(model, options=options)
    found = [model.predict(i, verbose=False, **options)[0].boxes.cpu().numpy() for i in images]
    for one in found:
        assert ((one.xyxy[:, 2:] - one.xyxy[:, :2]) < -2).any()
    assert_same(detector.observe(images, list("abc")), found)


def test_images_behind_a_slow_suppression_have_their_boxes(weights, monkeypatch):
    """That of Ultralytics stops after some seconds; the images behind in the batch had no box."""
    from ultralytics.utils import nms

    calls = []

    def slow():
        calls.append(None)
        if len(calls) == 4:  # after the first image of the batch; two calls are of the loading
            time.sleep(2.3)
        return time.time()

    path, images = weights("yolo11n"), scenes(3)
    found = framework_boxes(path, images)
    monkeypatch.setattr(ultralytics_model, "in_batches", lambda find, device: find)  # all in one
    monkeypatch.setattr(nms, "time", SimpleNamespace(time=slow))
    detector = DetectorSpec(path, device="cpu", cfg_options=OPTIONS)()
    assert_same(detector.observe(images, list("abc")), found)


@pytest.mark.slow
def test_rtdetr(weights):
    path, images = weights("rtdetr-l"), two_sizes()
    found = framework_boxes(path, images)
    detector = DetectorSpec(path, device="cpu", cfg_options=OPTIONS)()
    assert_same(detector.observe(images, list("abc")), found)
    assert max(map(len, found))


def test_an_object_that_was_used_has_the_same_name(weights):
    """Convolutions fused with their batch norms: the hash is of the weights that were saved."""
    from ultralytics import YOLO

    model = YOLO(weights("yolo11n"))
    before = from_ultralytics(model).fingerprint
    model.fuse()
    assert model.model.is_fused()
    assert from_ultralytics(model).fingerprint == before
    assert from_ultralytics(YOLO(weights("yolov8n"))).fingerprint != before


def test_other_prompts_make_another_detector():
    """Embeddings of what YOLO-World looks for: under equal words other boxes."""
    usable_torchvision()
    import torch
    from ultralytics import YOLOWorld

    torch.manual_seed(0)
    model, (image,), seen = YOLOWorld("yolov8s-worldv2.yaml"), scenes(1), {}
    model.model.names = {0: "car", 1: "bus"}
    model.model.model[-1].nc = 2
    for seed in (1, 2, 1):
        features = torch.randn(1, 2, 512, generator=torch.Generator().manual_seed(seed))
        model.model.txt_feats = features / features.norm(dim=-1, keepdim=True)
        detector = from_ultralytics(model, options={**OPTIONS, "conf": 0.0})
        (one,) = detector.observe([image], ["a"])
        seen.setdefault(detector.fingerprint, []).append(one.clean.scores.tolist())
    (first, again), (other,) = seen.values()
    assert first == again != other


def test_detect_takes_the_object(weights, tmp_path):
    from ultralytics import YOLO

    model = YOLO(weights("yolo11n"))
    model.overrides["imgsz"] = SIDE
    paths = scenes(3, tmp_path / "site")
    found = autoeval.detect(model, tmp_path / "site", tmp_path / "boxes.parquet")
    assert len(found.images) == len(paths) and len(found) > 3
    assert len(found.categories) == 80
    assert found.run.settings["framework"] == "ultralytics"
    assert found.run.versions["ultralytics"]


def test_what_an_object_is_set_to_counts_and_an_earlier_call_does_not(weights):
    """Its overrides, as its own `predict` keeps to them; they are part of its name."""
    from ultralytics import YOLO

    (image,), path = scenes(1), weights("yolo11n")
    (found,) = framework_boxes(path, [image])
    category = int(found.cls[0])
    used = YOLO(path)
    used.predict(image, classes=[category], verbose=False)
    assert_same(from_ultralytics(used, options=OPTIONS).observe([image], ["a"]), [found])

    model = YOLO(path)
    model.overrides |= {**OPTIONS, "classes": [category], "conf": 0.5}
    detector = from_ultralytics(model)
    of_category = found[found.cls == category]
    assert 0 < len(of_category) < len(found)
    assert_same(detector.observe([image], ["a"]), [of_category])
    assert detector.settings == {
        **from_ultralytics(YOLO(path), options=OPTIONS).settings, "classes": [category]
    }  # fmt: skip


def test_settings_of_an_object_that_move_no_box_have_no_effect(weights, tmp_path):
    """Files of boxes were written for each image, and two forms of one size made two detectors."""
    from ultralytics import YOLO

    images, path = scenes(1), weights("yolo11n")
    model = YOLO(path)
    files = {"save_txt": True, "save_crop": True, "project": str(tmp_path), "name": "boxes"}
    model.overrides |= {**OPTIONS, "imgsz": [SIDE, SIDE], **files}
    detector = from_ultralytics(model)
    assert_same(detector.observe(images, ["a"]), framework_boxes(path, images))
    assert not [*tmp_path.iterdir()]
    assert detector.fingerprint == from_ultralytics(YOLO(path), options=OPTIONS).fingerprint
    oblong = from_ultralytics(YOLO(path), options={**OPTIONS, "imgsz": [SIDE, 2 * SIDE]})
    assert oblong.settings["imgsz"] == [SIDE, 2 * SIDE]


def test_another_suppression_makes_another_detector(weights):
    from ultralytics import YOLO

    plain, other = (YOLO(weights("yolov8n")) for _ in range(2))
    other.overrides["nms"] = False
    assert from_ultralytics(other).settings == {**from_ultralytics(plain).settings, "nms": False}


def test_callbacks_of_an_object_do_not_count(weights):
    """Among them is the tracker that `track` of some versions leaves in it."""
    from ultralytics import YOLO

    images, path = scenes(2), weights("yolo11n")
    found, model = framework_boxes(path, images), YOLO(path)

    def shorten(predictor):
        predictor.results = [result[:1] for result in predictor.results]

    model.add_callback("on_predict_postprocess_end", shorten)
    detector = from_ultralytics(model, options=OPTIONS)
    assert_same(detector.observe(images, list("ab")), found)
    assert [len(r) for r in model.predict(images, verbose=False, **OPTIONS)] == [1, 1]
    assert_same(detector.observe(images, list("ab")), found)


@pytest.mark.parametrize("name", ["yolo11n-pose", "yolo11n-obb", "yolo11n-cls"])
def test_other_tasks_are_refused_in_one_line(weights, name):
    from ultralytics import YOLO

    with pytest.raises(InputError, match="Expected an Ultralytics model for detect") as refused:
        from_ultralytics(YOLO(f"{name}.yaml"))
    assert "\n" not in str(refused.value)


def test_an_object_of_an_exported_file_is_refused(tmp_path):
    """It has no weights that could be hashed; the file is run by its name."""
    from ultralytics import YOLO

    (tmp_path / "best.onnx").write_bytes(b"")
    with pytest.raises(InputError, match=r"best\.onnx, which was exported"):
        from_ultralytics(YOLO(tmp_path / "best.onnx", task="detect"))


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        (DetectorSpec("no/where.pt"), "No weights no/where.pt"),
        (DetectorSpec("torn.pt"), "cannot load torn.pt"),
        (DetectorSpec("torn.pt", classes="words.txt"), "no classes with torn.pt"),
    ],
)
def test_bad_weights(spec, told, tmp_path, monkeypatch):
    usable_torchvision()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "torn.pt").write_bytes(b"torn")
    with pytest.raises(InputError, match=told):
        spec()


def test_weights_that_cannot_be_fetched(tmp_path, monkeypatch):
    """One message with the address, the local path, and what to give instead."""
    usable_torchvision()
    import ultralytics

    def offline(name):
        raise ConnectionError("Download failure: no network")

    monkeypatch.setattr(ultralytics, "YOLO", offline)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as refused:
        DetectorSpec("yolo11n.pt")()
    for part in (ultralytics_model.ADDRESS, str(tmp_path / "yolo11n.pt"), "--detector PATH"):
        assert part in str(refused.value)


def test_unknown_options(weights):
    with pytest.raises(InputError, match="cfg-options of Ultralytics has 'nms'"):
        DetectorSpec(weights("yolo11n"), cfg_options={"nms": 0.5})()
    with pytest.raises(InputError, match=r"cannot run DetectionModel .*max_det"):
        DetectorSpec(weights("yolo11n"), cfg_options={"max_det": "many"})()
