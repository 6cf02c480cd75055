"""The keys of jobs name everything that their rows depend on."""

import pytest
from rectangles import RectangleDetector, rectangle_task

from autoeval.estimation.meta_set import sample_set_jobs, score_meta_set
from autoeval.estimation.observation.observing import Observer
from autoeval.estimation.observation.presets import preset
from autoeval.metasets import own_images
from autoeval.runtime.store import RowStore
from autoeval.scores.confidence_scores import AverageConfidence


@pytest.fixture
def meta_set(tmp_path):
    task = rectangle_task(tmp_path / "worlds")
    seed_sets = task.load_seed_sets()[:1]
    observer = Observer(RectangleDetector(), task, preset("paper", repeats=1))
    return observer, seed_sets, [own_images(seed_sets[0])]


def key(meta_set):
    return sample_set_jobs(*meta_set)[0].key


def test_a_changed_score_is_computed_anew(meta_set, tmp_path, monkeypatch):
    observer, before = meta_set[0], key(meta_set)
    score_meta_set(*meta_set, store=RowStore(tmp_path / "rows"))
    monkeypatch.setattr(AverageConfidence, "revision", 2)
    assert key(meta_set) != before
    observed = observer.detector.observed
    score_meta_set(*meta_set, store=RowStore(tmp_path / "rows"))
    assert observer.detector.observed == observed + 6


def test_a_new_score_is_computed_in_an_old_work_dir(meta_set, tmp_path, request):
    score_meta_set(*meta_set, store=RowStore(tmp_path / "rows"))
    request.getfixturevalue("widest")
    table, _ = score_meta_set(*meta_set, store=RowStore(tmp_path / "rows"))
    assert table["widest"].gt(0).all()
