"""The labelled images of a seed set, read as they are."""

import numpy as np
import pytest
from pictures import seed_set

from autoeval.io.images import read_image
from autoeval.io.tasks.seed_set import SeedSetSamples, load_seed_set, own_image_ids
from autoeval.stability.metasets.recipe import SampleSet, own_images


def test_images_come_as_their_files_are_with_their_boxes(make_coco):
    files = make_coco([(2, "car", 5, 6, 10, 20)])
    samples = SeedSetSamples(load_seed_set("street", *files, ("car",)))
    assert [sample.image_id for sample in samples] == ["1", "2", "3"]
    second = samples[1]
    assert np.array_equal(second.image, read_image(samples.records[1].path))
    assert second.boxes.tolist() == [[5, 6, 15, 26]] and second.labels.tolist() == [0]
    assert samples.unread(1).image.size == 0 and samples.unread(1).boxes.tolist() == [
        [5, 6, 15, 26]
    ]
    assert not samples.transformed


@pytest.mark.parametrize("n_images", [7, 300])
def test_the_images_are_those_of_the_sample_set_without_transforms(n_images):
    """So that an estimator of a fit and the score table of a task are of the same images."""
    street = seed_set(300)
    assert (
        own_image_ids(street, n_images=n_images) == own_images(street, n_images=n_images).image_ids
    )
    whole = SampleSet(street, own_images(street))
    assert SeedSetSamples(street).records == whole.records
