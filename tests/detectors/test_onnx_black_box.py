"""A network of ours in ONNX Runtime as a black box finds what it finds in MMDetection."""

import re
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch

from autoeval.boxes import match_boxes
from autoeval.detectors import load_detector
from autoeval.detectors.black_box import BlackBoxDetector
from autoeval.detectors.detector_spec import DetectorSpec
from autoeval.io.images import read_image

pytest.importorskip("onnx", reason="needs the extra 'test': onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="needs the extra 'test': onnxruntime")
SIDE = 416
DOC = Path(__file__).parents[2] / "docs" / "how-to" / "predictions.md"


class Decoded(torch.nn.Module):
    """YOLOX up to boxes and scores, without suppression, as it is usually exported."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, pixels):
        head = self.model.bbox_head
        scores, moves, objects = head(self.model.extract_feat(pixels))
        sizes = [level.shape[-2:] for level in scores]
        priors = torch.cat(head.prior_generator.grid_priors(sizes, device="cpu", with_stride=True))

        def flat(levels):
            return torch.cat([level.flatten(2).transpose(1, 2) for level in levels], 1)

        confidence = flat(scores).sigmoid() * flat(objects).sigmoid()
        return head._bbox_decode(priors, flat(moves)), confidence


@pytest.fixture(scope="module")
def detector(shared):
    return load_detector("yolox_nano", checkpoint=shared / "weights" / "yolox_nano_coco.pth")


@pytest.fixture(scope="module")
def session(detector, tmp_path_factory):
    path = tmp_path_factory.mktemp("onnx") / "yolox.onnx"
    pixels = torch.zeros(1, 3, SIDE, SIDE)
    network = Decoded(detector.model).eval()
    torch.onnx.export(network, (pixels,), str(path), input_names=["pixels"], dynamo=False)
    return onnxruntime.InferenceSession(str(path))


def documented(session, categories):
    """Run the example of the documentation."""
    blocks = re.findall(r"```python\n(.*?)```", DOC.read_text(), re.DOTALL)
    (example,) = [block for block in blocks if "session.run" in block]
    names = {"session": session, "categories": categories, "np": np, "cv2": cv2}
    names["BlackBoxDetector"] = BlackBoxDetector
    exec(compile(example, str(DOC), "exec"), names)
    return names["detector"]


def test_the_same_boxes(detector, session, shared, monkeypatch):
    monkeypatch.chdir(Path(session._model_path).parent)
    black_box = documented(session, detector.categories)
    folder = shared / "real" / "vehicle"
    paths = [folder / "carla_drive/images/0001.jpg", folder / "highway_top/images/0001.jpg"]
    images, names = [read_image(path) for path in paths], ["a", "b"]
    ours = black_box.observe(images, names)
    theirs = detector.observe(images, names)
    for mine, reference, image in zip(ours, theirs, images, strict=True):
        limits = np.array([image.shape[1], image.shape[0]] * 2)
        found, expected = mine.clean.above(0.05), reference.clean.above(0.05)
        rows, columns, overlaps = match_boxes(found.boxes, expected.boxes.clip(0, limits))
        assert len(found) == len(expected) == len(rows) > 0
        assert overlaps.min() > 0.99
        np.testing.assert_allclose(found.scores[rows], expected.scores[columns], rtol=0, atol=1e-3)
        np.testing.assert_array_equal(found.labels[rows], expected.labels[columns])


class Rows(Decoded):
    """The same as YOLOX's own export gives it: centre, size, objectness, scores."""

    def forward(self, pixels):
        corners, scores = super().forward(pixels)
        sizes = corners[..., 2:] - corners[..., :2]
        return torch.cat(
            [corners[..., :2] + sizes / 2, sizes, torch.ones_like(sizes[..., :1]), scores], 2
        )


def test_a_yolox_by_the_options_that_it_needs(detector, shared, tmp_path):
    """Its pixels are BGR of 0 to 255; as others have them it is sure of nothing."""
    pixels, path = torch.zeros(1, 3, SIDE, SIDE), str(tmp_path / "rows.onnx")
    torch.onnx.export(Rows(detector.model).eval(), (pixels,), path, dynamo=False)
    (tmp_path / "words.txt").write_text("\n".join(detector.categories))
    options = {"rgb": False, "std": 1.0}
    loading = {"device": "cpu", "classes": str(tmp_path / "words.txt")}
    of_file = DetectorSpec(path, **loading, cfg_options=options)()
    images = [read_image(shared / "real/vehicle/highway_top/images/0001.jpg")]
    (found,), (expected,) = of_file.observe(images, ["a"]), detector.observe(images, ["a"])
    sure, known = found.clean.above(0.3), expected.clean.above(0.3)
    _, _, overlaps = match_boxes(sure.boxes, known.boxes)
    assert len(known) > 3 and (overlaps > 0.7).sum() >= 0.9 * len(known)
    plain = DetectorSpec(path, **loading)()
    assert not len(plain.observe(images, ["a"])[0].clean.above(0.3))
