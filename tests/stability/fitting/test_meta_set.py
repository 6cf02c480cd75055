"""Sample sets as jobs: what their keys name, who scores them, and what is kept of own images."""

import os
import pickle

import numpy as np
import pandas as pd
import pytest
from rectangles import RectangleDetector, rectangle_task

from autoeval.boxes import Boxes, LabelledImage
from autoeval.errors import InputError
from autoeval.estimation.observation.observing import Observer
from autoeval.io.labels.content import NO_BOXES
from autoeval.runtime.jobs import Job, attempt, prepare
from autoeval.runtime.store import RowStore
from autoeval.stability.fitting.meta_set import (
    Scorer,
    apart,
    recorded_sets,
    sample_set_jobs,
    score_meta_set,
    truth_of_samples,
)
from autoeval.stability.metasets import SampleSet, own_images
from autoeval.stability.passes.presets import preset
from autoeval.stability.scores.confidence_scores import AverageConfidence

loads = []


class OtherDetector(RectangleDetector):
    fingerprint = "other"


def load():
    loads.append("here")
    return RectangleDetector()


@pytest.fixture
def observer(tmp_path):
    return Observer(RectangleDetector(), rectangle_task(tmp_path / "w"), preset("paper", repeats=2))


@pytest.fixture
def meta_set(observer):
    seed_sets = observer.task.load_seed_sets()[:1]
    return observer, seed_sets, [own_images(seed_sets[0])]


@pytest.fixture
def samples(meta_set):
    (seed_set,) = meta_set[1]
    return SampleSet(seed_set, own_images(seed_set, seed=0))


def sent(observer, loader):
    """What arrives in another process."""
    return pickle.loads(pickle.dumps(Scorer(observer, load=loader)))


@pytest.mark.parametrize("loader", [None, load])
def test_scores_the_same_where_it_was_sent(observer, samples, loader):
    loads.clear()
    job, there = Job("a", 6, samples, {"source": "w0"}), sent(observer, loader)
    for _ in range(2):
        prepare(there)
    assert len(loads) == (loader is not None)
    tables = [attempt(scorer, job, lambda n: None).rows for scorer in (Scorer(observer), there)]
    bos, source = ([[row[name] for row in rows] for rows in tables] for name in ("bos", "source"))
    assert bos[0] == bos[1] and len(bos[0]) == 2
    assert source == [["w0", "w0"]] * 2


def test_a_worker_with_another_detector_is_refused(observer):
    with pytest.raises(InputError, match=r"other where this run is of.*rectangles"):
        prepare(sent(observer, OtherDetector))


def test_a_changed_score_is_computed_anew(meta_set, tmp_path, monkeypatch):
    detector, before = meta_set[0].detector, sample_set_jobs(*meta_set)[0].key
    score_meta_set(*meta_set, store=RowStore(tmp_path / "rows"))
    monkeypatch.setattr(AverageConfidence, "revision", 2)
    assert sample_set_jobs(*meta_set)[0].key != before
    observed = detector.observed
    score_meta_set(*meta_set, store=RowStore(tmp_path / "rows"))
    assert detector.observed == observed + 6


def test_an_image_that_is_changed_in_place_is_scored_anew(meta_set):
    """Its file keeps its size, as one of pixels that are not compressed does."""
    image, before = meta_set[1][0].images[0].path, sample_set_jobs(*meta_set)[0].key
    assert sample_set_jobs(*meta_set)[0].key == before
    os.utime(image, ns=(7, 7))
    assert sample_set_jobs(*meta_set)[0].key != before


def test_a_new_score_is_computed_in_an_old_work_dir(meta_set, tmp_path, request):
    score_meta_set(*meta_set, store=RowStore(tmp_path / "rows"))
    request.getfixturevalue("widest")
    table, _ = score_meta_set(*meta_set, store=RowStore(tmp_path / "rows"))
    assert table["widest"].gt(0).all()


def test_own_images_keep_their_boxes_and_nothing_large(observer, samples):
    job = Job("key", len(samples), samples, {"source": "here", "kind": "seed"})
    rows = Scorer(observer)(job, print)
    assert len(rows[0]["labelled_boxes"]) < 50_000
    table, boxes = apart(pd.DataFrame(rows))
    assert "labelled_boxes" not in table
    (place,) = recorded_sets(boxes)
    assert (place.name, place.group, len(place)) == ("here", "here", len(samples))
    assert place.truth.boxes == pytest.approx(np.concatenate([s.boxes for s in samples]))
    assert place.evaluation.rankings[0].average_precision().mean() == pytest.approx(
        table["mAP"][0], abs=1e-6
    )


def test_labels_of_each_image_become_the_truth_of_a_site():
    images = tuple(LabelledImage(str(k), f"{k}.jpg", (48, 64)) for k in range(3))
    none = np.zeros(0, np.int64)
    found = Boxes(images, ("car", "dog"), none, none, np.zeros((0, 4)), np.zeros(0))
    car, dog = np.array([[1.0, 2, 3, 4]]), np.array([[5.0, 6, 7, 8], [0, 0, 9, 9]])
    labels = [(car, [0], [False]), NO_BOXES, (dog, [1, 1], [True, False])]
    truth = truth_of_samples(found, [tuple(map(np.asarray, of)) for of in labels])
    assert truth.image.tolist() == [0, 2, 2] and truth.label.tolist() == [0, 1, 1]
    assert truth.crowd.tolist() == [False, True, False]
    np.testing.assert_array_equal(truth.boxes, np.concatenate([car, dog]))
