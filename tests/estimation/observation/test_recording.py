"""What a pass keeps of a source's own images is what it saw, and what was labelled."""

import numpy as np
import pandas as pd
import pytest
from rectangles import RectangleDetector, rectangle_task

from autoeval.errors import InputError
from autoeval.estimation.meta_set import Scorer, apart, read_sites, recorded_sites
from autoeval.estimation.observation.observing import Observer
from autoeval.estimation.observation.presets import preset
from autoeval.metasets import SampleSet, own_images
from autoeval.runtime.job import Job


def test_own_images_keep_their_boxes_and_nothing_large(tmp_path):
    task = rectangle_task(tmp_path)
    seed_set = task.load_seed_sets()[0]
    samples = SampleSet(seed_set, own_images(seed_set, seed=0))
    job = Job("key", len(samples), samples, {"source": "here", "kind": "seed"})
    rows = Scorer(Observer(RectangleDetector(), task, preset("paper", repeats=2)))(job, print)
    assert len(rows[0]["labelled_boxes"]) < 50_000
    table, boxes = apart(pd.DataFrame(rows))
    assert "labelled_boxes" not in table
    (place,) = recorded_sites(boxes)
    assert (place.name, place.family, len(place.pool)) == ("here", "here", len(samples))
    assert place.truth.boxes == pytest.approx(np.concatenate([s.boxes for s in samples]))
    assert place.rankings[0].average_precision().mean() == pytest.approx(table["mAP"][0], abs=1e-6)


def test_a_work_dir_without_boxes(tmp_path):
    with pytest.raises(InputError, match="older versions"):
        read_sites(tmp_path)
