"""A file of a reference that changes while a program runs is read again."""

import json
from dataclasses import replace

from rectangles import RectangleDetector, rectangle_task

from autoeval.estimation.observation.observing import Observer
from autoeval.estimation.observation.reference_boxes import PredictionsReference
from autoeval.stability.metasets import SampleSet, own_images
from autoeval.stability.passes.presets import preset
from autoeval.stability.passes.tally import scored_rows


def test_the_boxes_are_those_of_the_file_as_it_is(tmp_path):
    task = rectangle_task(tmp_path / "worlds")
    source = task.load_seed_sets()[0]
    samples, file = SampleSet(source, own_images(source)), tmp_path / "reference.json"
    agreed = []
    for shift in (0, 9.5):
        boxes = [
            {"image_id": int(image.image_id), "category": "box", "score": 0.9}
            | {"bbox": [left + shift, top, right - left, bottom - top]}
            for image in source.images
            for left, top, right, bottom in image.boxes.tolist()
        ]
        file.write_text(json.dumps(boxes))
        settings = replace(preset("paper", repeats=0), reference=PredictionsReference(file))
        (row,) = scored_rows(Observer(RectangleDetector(), task, settings), samples)
        agreed.append(row["hard_reference_ap@0.30"])
    assert agreed[0] > 0.9 > 0.5 > agreed[1]
