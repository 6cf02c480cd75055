"""No rule about odd files speaks of what real detectors found on every image of real sets."""

import itertools
import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from autoeval.errors import InputError
from autoeval.io.coco import read_coco
from autoeval.io.labels.content import labelled_boxes
from autoeval.io.predictions import read_predictions
from autoeval.io.predictions.covered_images import joined_files, unseen_images
from autoeval.sites.file_looks import check_limit
from autoeval.sites.label_warnings import of_other_images, reference_elsewhere, unseen_by_labels

pytestmark = pytest.mark.rare

NUMBERS = {str(k): f"category {k}" for k in range(100)}
FOLDERS = ["yolo26n/vehicle", "nanodet_plus/all", "fastestdet/person", "yolov8n/two"]


@cache
def labels_of(path):
    """Return the labels of the set that a file of predictions is of."""
    place = path.relative_to(path.parents[1]).with_suffix("")
    return read_coco(path.parents[3] / "real" / place / "annotations.json")


@cache
def found_by(path):
    """Return what a file of predictions holds, on all images of its set."""
    return read_predictions(path, images=labels_of(path).images)


def real_predictions(shared):
    """Yield the path, the labels and the boxes of every set and detector."""
    paths = sorted((shared / "real_predictions").glob("*/*/*.json"))
    assert len(paths) >= 100
    for path in paths:
        yield path, labels_of(path), found_by(path)


def test_no_real_set_is_warned_of_and_half_of_one_is_refused(shared):
    for path, labels, read in real_predictions(shared):
        images = np.unique(labelled_boxes(labels).image)
        notes = unseen_images(read, images, path.name, refuse=True)[1]
        assert all(note.severity == "note" for note in notes), path
        for floor in (0.1, 0.25, 0.5):
            cut = read.where(read.scores > floor)
            notes = unseen_images(cut, np.arange(len(labels.images)), path.name)[1]
            assert all(note.severity == "note" for note in notes), path
    half = read.where(read.image < len(labels.images) // 2)
    with pytest.raises(InputError, match="have no box"):
        unseen_images(half, images, path.name, refuse=True)


def test_no_real_list_is_taken_for_a_cut_one(shared):
    for path, _, found in real_predictions(shared):
        assert check_limit(found, path.name) == (), path
    order = np.lexsort((-found.scores, found.image))
    image = found.image[order]
    best = found.where(order[np.arange(len(order)) - np.searchsorted(image, image) < 10])
    assert "have exactly 10 boxes" in check_limit(best, path.name)[0]


def test_no_real_file_is_one_of_several_however_it_is_sorted(shared):
    rng, before = np.random.default_rng(0), {}
    for path, _, read in real_predictions(shared):
        n = np.arange(len(read))
        by_category, by_score = np.lexsort((n, read.label)), np.argsort(-read.scores)
        by_worker = np.lexsort((read.image, read.image % 4))
        for order in (n, by_category, by_score, by_worker, rng.permutation(n)):
            assert joined_files(read.image[order], read.label[order]) == (), path
        words = {word: word for word in read.categories}
        other = before.get(path.parent)
        if other is not None:
            second = other.as_categories(read.categories, words)
            image = np.concatenate([read.image, second.image])
            assert joined_files(image, np.concatenate([read.label, second.label])), path
        before.setdefault(path.parent, read)


def _corners(bbox):
    x, y, width, height = bbox
    return [x, y, x + width, y + height]


def _centre(bbox):
    x, y, width, height = bbox
    return [x + width / 2, y + height / 2, width, height]


@pytest.mark.parametrize("folder", FOLDERS)
def test_corners_are_recognised_without_the_sizes_of_images(folder, shared):
    """Real files are read, and refused once their widths and heights are corners."""
    for file in sorted((shared / "real_predictions" / folder).glob("*.json"))[:2]:
        rows = json.loads(file.read_text())
        for least in (0, 0.3):
            widths = [row for row in rows if row["score"] > least]
            if len(widths) < 20:
                continue
            assert len(read_predictions(widths, numbers=NUMBERS))
            corners = [{**row, "bbox": _corners(row["bbox"])} for row in widths]
            with pytest.raises(InputError, match=r"write \[x1, y1, x2 - x1, y2 - y1\]"):
                read_predictions(corners, numbers=NUMBERS)
            if least:  # of few boxes hardly one may lie at an edge
                continue
            centres = [{**row, "bbox": _centre(row["bbox"])} for row in widths]
            with pytest.raises(InputError, match=r"write \[x - w / 2, y - h / 2, w, h\]"):
                read_predictions(centres, numbers=NUMBERS)


def test_images_that_were_not_run_at_real_sets(shared):
    """Four detectors that were run on every image, and their boxes on half of these alone."""
    rng, n_sets, n_false, n_found = np.random.default_rng(0), 0, 0, 0
    for _, labels, read in real_predictions(shared):
        truth = labelled_boxes(labels)
        words = {word: word for word in truth.categories}
        if "vehicle" in words:
            words |= dict.fromkeys(("car", "bus", "truck"), "vehicle")
        read = read.as_categories(truth.categories, words)
        several = np.bincount(truth.image, minlength=len(truth.images)) > 1
        if several.sum() < 10:
            continue
        half = rng.permutation(len(truth.images)) < len(truth.images) // 2
        for floor in (0.1, 0.25, 0.35, 0.5):
            cut = read.where(read.scores >= floor)
            n_sets += 1
            n_false += bool(unseen_by_labels(cut, truth))
            n_found += bool(unseen_by_labels(cut.where(half[cut.image]), truth))
    assert n_sets >= 500 and n_false <= 0.01 * n_sets and n_found >= 0.66 * n_sets


def test_references_of_other_images_at_real_sites(shared):
    detectors, n, n_false, n_found = ("yolo26n", "nanodet_plus", "fastestdet"), 0, 0, 0
    n_both_ways = 0
    for path in sorted((shared / "real_predictions/fastestdet").glob("*/*.json"))[::2]:
        place = path.relative_to(shared / "real_predictions/fastestdet")
        files = [shared / "real_predictions" / of / place for of in detectors]
        found = [found_by(file) for file in files if file.exists()]
        for boxes, other in itertools.permutations(found, 2):
            turned = replace(other, image=(other.image + 1) % len(other.images))
            n += 1
            n_false += bool(reference_elsewhere(boxes, other))
            n_found += bool(reference_elsewhere(boxes, turned))
            both_ways = of_other_images(boxes, other) and of_other_images(other, boxes)
            n_both_ways += bool(both_ways)
    assert n >= 100 and n_false <= 0.01 * n and n_found >= n / 2 and not n_both_ways
