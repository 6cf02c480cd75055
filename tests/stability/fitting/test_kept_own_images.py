"""Which own images of a source keep their boxes, for the default method."""

import pandas as pd
from rectangles import RectangleDetector, rectangle_task

from autoeval.estimation.observation.observing import Observer
from autoeval.runtime.jobs import Job
from autoeval.stability.fitting import meta_set
from autoeval.stability.metasets import SampleSet, own_images
from autoeval.stability.passes.presets import preset


def test_images_of_a_large_source_are_kept_at_equal_distances(tmp_path, monkeypatch):
    """The first ones may be of one video, while the accuracy of the table is that of all."""
    monkeypatch.setattr(meta_set, "MOST_IMAGES", 3)
    task = rectangle_task(tmp_path / "worlds")
    source = task.load_seed_sets()[0]
    samples = SampleSet(source, own_images(source))
    observer = Observer(RectangleDetector(), task, preset("paper", repeats=0))
    rows = meta_set.Scorer(observer)(Job("key", 6, samples, {"source": "w0", "kind": "seed"}), id)
    _, boxes = meta_set.apart(pd.DataFrame(rows))
    (kept,) = meta_set.recorded_sets(boxes)
    assert [image.image_id for image in kept.boxes.images] == ["1", "3", "6"]
    labels = [record.boxes.tolist() for record in source.images]
    assert kept.truth.boxes.tolist() == labels[0] + labels[2] + labels[5]
