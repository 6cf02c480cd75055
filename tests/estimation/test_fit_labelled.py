"""From a labelled set of several categories to estimates of any, through a stand-in detector."""

import json
import re

import cv2
import numpy as np
import pytest

from autoeval.detections import Detections, Evidence
from autoeval.errors import InputError
from autoeval.estimation.estimate_any import estimate_any
from autoeval.estimation.estimator import MapEstimator
from autoeval.estimation.fit_labelled import fit_labelled

WORDS = ("cup", "mug", "pot", "pan", "fork", "bowl", "plate", "spoon")
BRIGHT = {word: 250 - 15 * k for k, word in enumerate(WORDS)}


class BrightnessDetector:
    """Tells bright rectangles by their brightness; the darker, the less sure and less exact."""

    categories = (*BRIGHT, "knife")
    fingerprint = "brightness"
    backbone = "ResNet"
    settings = {"score_thr": 0.05}  # noqa: RUF012

    def observe(self, images, image_ids, *, dropout=None, repeats=0, seed=0, wants=()):
        return [self._one(*each) for each in zip(images, image_ids, strict=True)]

    def _one(self, image, image_id):
        gray = image[..., 0]
        xywh = cv2.connectedComponentsWithStats((gray > 100).astype(np.uint8))[2][1:, :4].astype(
            float
        )
        level = np.array([gray[int(y) + 1, int(x) + 1] for x, y, _, _ in xywh], float)
        labels = np.abs(level[:, None] - np.array(list(BRIGHT.values()))).argmin(1)
        shake = ((255 - level) / 25)[:, None]
        boxes = np.concatenate([xywh[:, :2], xywh[:, :2] + xywh[:, 2:]], 1) + shake
        boxes = Detections(boxes, (level - 100) / 300, labels)
        return Evidence(image_id, gray.shape, boxes, half_size=boxes)


def write_table(folder, *, n_images=12, names=tuple(BRIGHT)):
    """Write images with one rectangle of each category, in eight fields, as a COCO data set."""
    rng = np.random.default_rng(0)
    (folder / "images").mkdir(parents=True)
    images, annotations = [], []
    for k in range(1, n_images + 1):
        image = np.full((128, 256, 3), 20, np.uint8)
        for c, name in enumerate(names):
            left, top = 64 * (c % 4), 64 * (c // 4)
            x, y, w, h = (int(v) for v in rng.integers([4, 4, 16, 16], [20, 20, 36, 36]))
            image[top + y : top + y + h, left + x : left + x + w] = BRIGHT[name]
            box = {"bbox": [left + x, top + y, w, h], "area": w * h, "image_id": k}
            annotations.append({"id": len(annotations) + 1, "category_id": c + 1, **box})
        cv2.imwrite(str(folder / "images" / f"{k}.png"), image)
        images.append({"id": k, "file_name": f"{k}.png", "width": 256, "height": 128})
    categories = [{"id": c + 1, "name": name} for c, name in enumerate(names)]
    content = {"images": images, "annotations": annotations, "categories": categories}
    (folder / "annotations.json").write_text(json.dumps(content))
    return folder / "annotations.json", folder / "images"


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    return fit_labelled(BrightnessDetector(), *write_table(tmp_path_factory.mktemp("table")))


def test_every_category_is_a_source(fitted):
    table = fitted.table.set_index("category")
    assert list(table.index) == list(BRIGHT) and set(table["n_images"]) == {12}
    scores = {name: (level - 100) / 300 for name, level in BRIGHT.items()}
    over = {name: score if score > 0.3 else np.nan for name, score in scores.items()}
    assert table["atc@0.30"].to_dict() == pytest.approx(over, nan_ok=True)
    assert table["mAP"].iloc[0] > 0.8 > 0.5 > table["mAP"].iloc[-1]


def test_any_category_is_estimated_and_the_mean_over_several(fitted, tmp_path):
    _, images = write_table(tmp_path / "new", names=("cup", "spoon"))
    found = estimate_any(fitted.estimator, images, BrightnessDetector())
    assert list(found.per_category) == ["cup", "spoon"]
    cup, spoon = (found.per_category[name] for name in ("cup", "spoon"))
    assert cup["value"] > spoon["value"] + 0.2
    assert found.value == pytest.approx((cup["value"] + spoon["value"]) / 2, abs=0.05)
    asked = {"cutlery": ["spoon"]}
    one = estimate_any(fitted.estimator, images, BrightnessDetector(), categories=asked)
    assert one.per_category == {} and one.value == pytest.approx(spoon["value"], abs=0.1)
    (images / "torn.png").write_bytes(b"no image")
    torn = estimate_any(fitted.estimator, images, BrightnessDetector(), categories=asked)
    assert torn.value == one.value and torn.n_images == one.n_images
    assert any(re.search("^1 of .* left out: .*torn.png", guard) for guard in torn.guards)


def test_a_saved_estimator_knows_its_detector(fitted, tmp_path):
    fitted.estimator.save(tmp_path / "e.parquet")
    other = BrightnessDetector()
    other.settings = {"score_thr": 0.3}
    with pytest.raises(InputError, match=r"detector\.score_thr"):
        estimate_any(MapEstimator.load(tmp_path / "e.parquet"), tmp_path, other)


def test_categories_with_a_handful_of_boxes_are_named_and_left_out(tmp_path):
    labels, images = write_table(tmp_path / "few")
    content = json.loads(labels.read_text())
    rare = [a for a in content["annotations"] if a["category_id"] == 8 and a["image_id"] > 3]
    content["annotations"] = [a for a in content["annotations"] if a not in rare]
    labels.write_text(json.dumps(content))
    fit = fit_labelled(BrightnessDetector(), labels, images)
    assert "spoon" not in set(fit.table["category"]) and len(fit.table) == 7
    assert any("left out: 1 (spoon)" in problem for problem in fit.problems)


def test_bad_input(fitted, tmp_path):
    files = write_table(tmp_path / "few", n_images=4)
    with pytest.raises(InputError, match="only 0 of 8 categories occur in 5 images"):
        fit_labelled(BrightnessDetector(), *files)
    labels, images = write_table(tmp_path / "nothing", names=())
    with pytest.raises(InputError, match="no word in common"):
        fit_labelled(BrightnessDetector(), labels, images)
    foreign = BrightnessDetector()
    foreign.categories = tuple("abcdefghi")
    with pytest.raises(InputError, match=r"no word in common"):
        fit_labelled(foreign, *files)
    with pytest.raises(InputError, match="words of the detector but got wok"):
        estimate_any(fitted.estimator, files[1], BrightnessDetector(), categories={"wok": ["wok"]})
    empty = tmp_path / "empty" / "images"
    empty.mkdir(parents=True)
    for k in range(3):
        cv2.imwrite(str(empty / f"{k}.png"), np.full((64, 64, 3), 20, np.uint8))
    with pytest.raises(InputError, match="there is nothing to tell accuracy by"):
        estimate_any(fitted.estimator, empty, BrightnessDetector())
