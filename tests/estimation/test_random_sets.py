"""Random small sets as files: ours and pycocotools' average precision are the same number.

Images are listed in any order of their ids, scores and overlaps tie, coordinates have one decimal
so that overlaps equal IoU thresholds, boxes are duplicated, some have no area, images are empty or
hold crowds.
"""

import contextlib
import io
import json

import numpy as np
import pytest
from labelled_site import estimate_labelled
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

import autoeval
from autoeval.accuracy.coco_evaluation import rank_categories
from autoeval.io.coco import read_coco
from autoeval.io.labels.content import labelled_boxes
from autoeval.io.predictions import read_predictions

WORDS = ("car", "bus", "cat")  # of cats only a crowd is labelled
SETS = 300
OF_WHICH_QUICK = 60


def random_set(seed, folder, *, n_images=10, n_true=25, n_found=80):
    """Write labels and results of a random set; return both files."""
    rng = np.random.default_rng(seed)
    ids = rng.permutation(rng.choice(200, n_images, replace=False) + 1).tolist()
    used = ids[: n_images - 2]  # the others hold nothing

    def boxes(n):
        corner, side = rng.integers(0, 300, (n, 2)), rng.integers(1, 7, (n, 2)) * 10
        return (np.concatenate([corner, side], axis=1) / 10).round(1).tolist()

    truth, found = boxes(n_true), boxes(n_found)
    annotations = [
        {
            "id": k,
            "image_id": int(rng.choice(used)),
            "category_id": int(rng.integers(1, 3)),
            "bbox": box,
            "area": box[2] * box[3],
            "iscrowd": int(rng.random() < 0.1),
        }
        for k, box in enumerate(truth, 1)
    ]
    results = [
        {
            "image_id": int(rng.choice(used)),
            "category_id": int(rng.integers(1, 3)),
            "bbox": box,
            "score": int(rng.integers(1, 20)) / 20,
        }
        for box in found
    ]
    for row, k in zip(results, rng.permutation(n_true)[:20], strict=False):
        near = annotations[k]
        x, y, width, height = near["bbox"]
        row |= {"image_id": near["image_id"], "category_id": near["category_id"]}
        row["bbox"] = [x, y, round(width * rng.choice([1, 0.5, 0.6, 0.9]), 2), height]
        row["score"] = max(row["score"], 0.4)
    results += [dict(results[k]) for k in rng.integers(0, n_found, 3)]  # duplicates
    results[-1] |= {"bbox": [1.5, 2.5, 0.0, 3.1]}
    crowd = {"id": n_true + 1, "image_id": used[0], "category_id": 3, "iscrowd": 1}
    annotations.append({**crowd, "bbox": [1.0, 2.0, 30.0, 30.0], "area": 900.0})
    results += [{"image_id": k, "category_id": 3, "bbox": [2, 3, 4, 5], "score": 0.9} for k in used]
    document = {
        "images": [{"id": k, "file_name": f"{k}.jpg", "width": 640, "height": 480} for k in ids],
        "categories": [{"id": k, "name": name} for k, name in enumerate(WORDS, 1)],
        "annotations": annotations,
    }
    order = rng.permutation(len(results))
    for name, content in (("labels", document), ("boxes", [results[k] for k in order])):
        (folder / f"{name}.json").write_text(json.dumps(content))
    return folder / "labels.json", folder / "boxes.json"


def by_pycocotools(labels, boxes):
    """Average precision, (categories, 10); NaN without an object."""
    with contextlib.redirect_stdout(io.StringIO()):
        truth = COCO(str(labels))
        evaluation = COCOeval(truth, truth.loadRes(str(boxes)), "bbox")
        evaluation.params.areaRng, evaluation.params.areaRngLbl = [[0, 1e10]], ["all"]
        evaluation.params.maxDets = [100]
        evaluation.evaluate()
        evaluation.accumulate()
    precision = evaluation.eval["precision"][:, :, :, 0, 0].mean(axis=1).T
    return np.where(precision < 0, np.nan, precision)


@pytest.mark.parametrize(
    "seeds",
    [
        range(OF_WHICH_QUICK),
        pytest.param(range(OF_WHICH_QUICK, SETS), marks=pytest.mark.slow),
    ],
    ids=["quick", "rest"],
)
def test_files_give_what_pycocotools_gives(tmp_path, seeds):
    for seed in seeds:
        labels, boxes = random_set(seed, tmp_path)
        content = read_coco(labels)
        numbers = dict(zip(content.numbers, content.categories, strict=True))
        found = read_predictions(boxes, images=content.images, numbers=numbers)
        found = found.as_categories(WORDS, {word: word for word in WORDS})
        rankings = rank_categories(found, labelled_boxes(content, WORDS))
        ours = np.array([ranking.average_precision() for ranking in rankings])
        expected = by_pycocotools(labels, boxes)
        np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-9, err_msg=f"set {seed}")


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fit")
    return autoeval.fit(*random_set(1000, folder, n_images=30, n_true=80, n_found=200))


def test_every_door_gives_it_with_the_labels_of_all_images(tmp_path, fitted):
    labels, boxes = random_set(0, tmp_path)
    expected = np.nanmean(by_pycocotools(labels, boxes))
    result = estimate_labelled(fitted, boxes, labels, images=labels)
    assert result.value == pytest.approx(expected, abs=1e-6)
    assert result.interval == pytest.approx((expected, expected), abs=1e-6)
    other = tmp_path / "other.json"
    reversed_ = [
        {**row, "score": round(1 - row["score"], 2)} for row in json.loads(boxes.read_text())
    ]
    other.write_text(json.dumps(reversed_))
    files = {"a": boxes, "b": other}
    compared = autoeval.compare(
        dict.fromkeys(files, fitted), [*files.values()], images=labels, labels=labels
    )
    values = dict(zip(compared.ranking["detector"], compared.ranking["value"], strict=True))
    expected = {name: np.nanmean(by_pycocotools(labels, file)) for name, file in files.items()}
    assert values == pytest.approx(expected, abs=1e-6)
