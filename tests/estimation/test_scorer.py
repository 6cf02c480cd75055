import pickle

import pytest
from rectangles import RectangleDetector, rectangle_task

from autoeval.errors import InputError
from autoeval.estimation.meta_set import Scorer
from autoeval.estimation.observation.observing import Observer
from autoeval.estimation.observation.presets import preset
from autoeval.metasets import SampleSet, own_images
from autoeval.runtime.job import Job, attempt, prepare

loads = []


class OtherDetector(RectangleDetector):
    fingerprint = "other"


def load():
    loads.append("here")
    return RectangleDetector()


@pytest.fixture
def task(tmp_path):
    return rectangle_task(tmp_path)


def sent(task, loader):
    """What arrives in another process."""
    observer = Observer(RectangleDetector(), task, preset("paper", repeats=2))
    scorer = Scorer(observer, load=loader)
    return pickle.loads(pickle.dumps(scorer))


@pytest.mark.parametrize("loader", [None, load])
def test_scores_the_same_where_it_was_sent(task, loader):
    loads.clear()
    seed_set = task.load_seed_sets()[0]
    job = Job("a", 6, SampleSet(seed_set, own_images(seed_set)), {"source": "w0"})
    there = sent(task, loader)
    for _ in range(2):
        prepare(there)
    assert len(loads) == (loader is not None)
    here = Scorer(Observer(RectangleDetector(), task, preset("paper", repeats=2)))
    tables = [attempt(scorer, job, lambda n: None).rows for scorer in (here, there)]
    bos, source = ([[row[name] for row in rows] for rows in tables] for name in ("bos", "source"))
    assert bos[0] == bos[1] and len(bos[0]) == 2
    assert source == [["w0", "w0"]] * 2


def test_a_worker_with_another_detector_is_refused(task):
    with pytest.raises(InputError, match=r"other where this run is of.*rectangles"):
        prepare(sent(task, OtherDetector))
