"""Boxes that real detectors found on real labelled sets, read once a process."""

from functools import cache

from autoeval.io.coco import read_coco
from autoeval.io.predictions import read_predictions


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
