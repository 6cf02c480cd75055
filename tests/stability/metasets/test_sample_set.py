import hashlib
import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from autoeval.errors import InputError
from autoeval.io.images import UnreadableImageError, read_image
from autoeval.io.tasks.seed_set import load_seed_set, named_rng
from autoeval.stability.metasets.recipe import (
    MetaSetConfig,
    Recipe,
    SampleSet,
    draw_recipes,
    own_images,
)
from autoeval.stability.metasets.transforms import MILD, TransformStep, get_transform

BOXES = [(1, "car", 2, 2, 6, 6), (1, "car", 20, 10, 20, 20, 1), (2, "person", 0, 0, 4, 4)]


@pytest.fixture
def street(make_coco):
    mapping = {"car": "vehicle", "person": "human"}
    return load_seed_set("street", *make_coco(BOXES), ("human", "vehicle"), mapping)


def digest(sample):
    parts = (sample.image, sample.boxes, sample.labels, sample.iscrowd)
    return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()


def test_own_images_are_the_files(street):
    samples = list(SampleSet(street, own_images(street)))
    assert [sample.image_id for sample in samples] == ["1", "2", "3"]
    for sample, record in zip(samples, street.images, strict=True):
        np.testing.assert_array_equal(sample.image, read_image(record.path))
        np.testing.assert_array_equal(sample.boxes, record.boxes)
    assert samples[0].labels.tolist() == [1, 1] and samples[0].iscrowd.tolist() == [False, True]


def test_labels_are_known_unread_unless_they_move_with_the_pixels(street):
    own = SampleSet(street, own_images(street))
    for k, sample in enumerate(own):
        unread = own.unread(k)
        assert (unread.image_id, unread.image.size) == (sample.image_id, 0)
        for name in ("boxes", "labels", "iscrowd"):
            np.testing.assert_array_equal(getattr(unread, name), getattr(sample, name))
    turned = Recipe("street", ("1",), (TransformStep("Rotate", 90.0),), 0)
    with pytest.raises(ValueError, match="changes its images: read them"):
        SampleSet(street, turned).unread(0)


def test_a_stamp_changes_with_the_file_and_the_size_that_labels_give(street):
    samples, record = SampleSet(street, own_images(street)), street.images[0]
    before = samples.stamp(0)
    samples.records = (replace(record, width=61), *samples.records[1:])
    assert samples.stamp(0) == before.replace("60 x 40", "61 x 40") != before
    samples.records = (record, *samples.records[1:])
    os.utime(record.path, ns=(1, 1))
    assert samples.stamp(0) != before and samples.stamp(0).endswith("-1")
    record.path.unlink()
    assert samples.stamp(0) == f"60 x 40 {record.path} absent"


def test_steps_are_applied_in_order(street):
    """Solarize then Brightness, by hand: invert what is over 150, then halve; and not reversed."""
    steps = (TransformStep("Solarize", 150.0), TransformStep("Brightness", 0.5))
    sample = SampleSet(street, Recipe("street", ("2",), steps, 0))[0]
    before = read_image(street.images[1].path).astype(float)
    expected = np.where(before >= 150, 255 - before, before) / 2
    np.testing.assert_allclose(sample.image.astype(float), expected, atol=1)


def test_labels_stay_with_their_boxes_when_one_is_dropped(street):
    """A quarter turn of 60 x 40 takes (x, y) to (10 + y, 50 - x), so the first box goes."""
    steps = (TransformStep("Rotate", 90.0), TransformStep("Solarize", 200.0))
    sample = SampleSet(street, Recipe("street", ("1",), steps, 0))[0]
    np.testing.assert_allclose(sample.boxes, [[20, 10, 40, 30]], atol=1e-9)
    assert sample.labels.tolist() == [1] and sample.iscrowd.tolist() == [True]


def test_an_area_to_ignore_stays_while_any_of_it_is_in_the_image(street):
    """As above: x 0..11 becomes y 39..50, of which one row in eleven is left in the image.

    What is found in a part of a crowd would count as wrong without it.
    """
    boxes = np.array([[0, 0, 11, 10], [0, 0, 11, 10], [0, 0, 30, 10]], float)
    labels, crowd = np.array([0, 1, 1]), np.array([False, True, False])
    record = replace(street.images[0], boxes=boxes, labels=labels, iscrowd=crowd)
    changed = replace(street, images=(record, *street.images[1:]))
    recipe = Recipe("street", ("1",), (TransformStep("Rotate", 90.0),), 0)
    sample = SampleSet(changed, recipe)[0]
    np.testing.assert_allclose(sample.boxes, [[10, 39, 20, 40], [10, 20, 20, 40]], atol=1e-9)
    assert sample.labels.tolist() == [1, 1] and sample.iscrowd.tolist() == [True, False]


@pytest.mark.parametrize("per_image", [False, True])
def test_same_recipe_same_pixels_in_any_order_and_on_any_worker(street, per_image):
    for recipe in draw_recipes(street, MetaSetConfig(n_sets=4, per_image=per_image)):
        sample_set = SampleSet(street, recipe)
        expected = [digest(sample) for sample in sample_set]
        again = pickle.loads(pickle.dumps(sample_set))
        assert [digest(again[i]) for i in (2, 0, 1)] == [expected[i] for i in (2, 0, 1)]
        with ThreadPoolExecutor(3) as workers:
            assert list(workers.map(lambda i, s=again: digest(s[i]), [0, 1, 2] * 4)) == expected * 4


def test_an_image_does_not_depend_on_its_neighbours(street):
    steps = (TransformStep("Rotate", None), TransformStep("Brightness", None))
    together = SampleSet(street, Recipe("street", ("1", "2", "3"), steps, 5))
    alone = SampleSet(street, Recipe("street", ("3",), steps, 5))
    assert digest(together[2]) == digest(alone[0])
    other_seed = SampleSet(street, Recipe("street", ("3",), steps, 6))
    assert digest(alone[0]) != digest(other_seed[0])


@pytest.mark.parametrize("name", MILD)
def test_magnitudes_of_none_differ_from_image_to_image(street, name):
    draws = {get_transform(name).draw(named_rng(0, str(i), 0)) for i in range(10)}
    assert len(draws) > 1


def test_unreadable_images_are_named_and_the_others_remain(street):
    street.images[1].path.write_bytes(b"no image")
    sample_set = SampleSet(street, own_images(street))
    with pytest.raises(UnreadableImageError, match=r"2\.png"):
        sample_set[1]
    assert sample_set[0].image.shape == sample_set[2].image.shape == (40, 60, 3)


def test_recipes_that_do_not_fit(street):
    with pytest.raises(InputError, match="of seed set 'field', not 'street'"):
        SampleSet(street, Recipe("field", ("1",), (), 0))
    with pytest.raises(InputError, match=r"names 2 images that seed set 'street' lacks.*8, 9"):
        SampleSet(street, Recipe("street", ("1", "8", "9"), (), 0))


def test_an_image_of_another_size_than_annotated_is_refused(make_coco):
    """Boxes drawn on the stored pixels of a photograph on its side do not fit it as it is shown."""

    def smaller(document):
        document["images"][0]["height"] = 39

    ann_file, img_dir = make_coco(size=(40, 60), change=smaller)
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (60, 40)).save(img_dir / "2.png", exif=exif)
    seed_set = load_seed_set("s", ann_file, img_dir, ("car",), {"car": "car"})
    samples = SampleSet(seed_set, own_images(seed_set))
    with pytest.raises(UnreadableImageError, match=r"60 x 40 pixels .* says 60 x 39"):
        samples[0]
    with pytest.raises(UnreadableImageError, match="is 40 x 60 pixels once turned by its EXIF"):
        samples[1]
