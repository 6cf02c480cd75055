"""The meta-set of the code released with the paper on box stability."""

from dataclasses import replace

import numpy as np
import pytest
from pictures import picture, seed_set

from autoeval.errors import InputError
from autoeval.io.tasks.task import load_task
from autoeval.stability.metasets import MetaSetConfig, load_metaset_config
from autoeval.stability.metasets.recipe import draw_recipes
from autoeval.stability.metasets.transforms import (
    RELEASED_MIX,
    TransformStep,
    apply_step,
    imgaug_mix,
)

IMAGE = picture(40, 60)
BOXES = np.array([[1.0, 2.0, 30.0, 20.0]])


class Given:
    """In the place of a generator: draws what it is given."""

    def __init__(self, *draws):
        self.draws = list(draws)

    def uniform(self, low=0.0, high=1.0, size=None):
        drawn = self.draws.pop(0)
        assert np.all((np.asarray(drawn) >= low) & (np.asarray(drawn) <= high))
        return drawn if size is None else np.broadcast_to(drawn, size)

    def integers(self, high):
        return self.draws.pop(0)


def one(change, pixel, *draws):
    """Return what becomes of the single colour of an image."""
    image = np.tile(np.uint8(pixel), (5, 5, 1))
    changed = change(image, Given(*draws))
    assert changed.dtype == np.uint8 and (changed == changed[0, 0]).all()
    return changed[0, 0].tolist()


@pytest.mark.parametrize(
    ("change", "draws", "pixel", "expected"),
    [
        # grey by .299, .587, .114 of the channels as they come: 29.9 + 117.4 + 5.7 = 153
        (imgaug_mix.colour, (0,), [100, 200, 50], [153, 153, 153]),
        (imgaug_mix.colour, (1,), [100, 200, 50], [100, 200, 50]),
        # the kernel sums to 1 - share + share * lightness: .5 + .5 * 1.2
        (imgaug_mix.sharpen, (0.5, 1.2), [100, 200, 50], [110, 220, 55]),
        # 2000 K is (255, 137, 18), the first channel being taken for red
        (imgaug_mix.temperature, (2000,), [100, 200, 50], [100, 107, 4]),
        # half way from 1200 K (83) to 1400 K (101): 92
        (imgaug_mix.temperature, (1300,), [255, 255, 255], [255, 92, 0]),
        (imgaug_mix.solarise, (0.4, 100.7), [99, 100, 255], [99, 155, 0]),
        (imgaug_mix.solarise, (0.6, 100.7), [99, 100, 255], [99, 100, 255]),
        # cut off, not rounded, and no more than 255
        (imgaug_mix.multiply, (0.3, 1.15), [100, 201, 250], [114, 231, 255]),
        (imgaug_mix.multiply, (0.1, [1.2, 1.0, 0.8]), [100, 200, 51], [120, 200, 40]),
        (imgaug_mix.grayscale, (0.5,), [100, 200, 50], [126, 176, 102]),
    ],
)
def test_worked_by_hand(change, draws, pixel, expected):
    assert one(change, pixel, *draws) == expected


def test_contrast_is_stretched_over_what_is_left():
    ramp = np.repeat(np.arange(50, 150, dtype=np.uint8), 3).reshape(10, 10, 3)
    stretched = imgaug_mix.autocontrast(ramp, Given(10))
    assert (stretched[ramp <= 60] == 0).all() and (stretched[ramp >= 140] == 255).all()
    # 100 pixels of each of 50 to 149: a step is (10000 - 100) // 255 = 38 pixels, half of one first
    wide = np.tile(ramp, (10, 10, 1))
    steps = (19 + 100 * (wide.astype(int) - 50)) // 38
    np.testing.assert_array_equal(imgaug_mix.equalise(wide, Given()), np.minimum(steps, 255))


def test_one_to_four_of_eight_and_boxes_stay():
    """Each number of transforms comes up equally often, and each transform among them."""
    counts, calls = np.zeros(5, int), dict.fromkeys(range(8), 0)
    eight = imgaug_mix.EIGHT

    def counted(k):
        def change(image, rng):
            calls[k] += 1
            counts[-1] += 1
            return eight[k](image, rng)

        return change

    numbers = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(imgaug_mix, "EIGHT", tuple(map(counted, range(8))))
        for seed in range(400):
            counts[-1] = 0
            rng = np.random.default_rng(seed)
            step = TransformStep(RELEASED_MIX, None)
            image, boxes, kept = apply_step(step, IMAGE, BOXES, rng=rng)
            assert image.shape == IMAGE.shape and image.dtype == np.uint8
            assert boxes is BOXES and kept.tolist() == [0]
            numbers.append(int(counts[-1]))
    drawn = np.bincount(numbers, minlength=6)
    assert drawn[[0, 5]].sum() == 0 and drawn[1:5].min() > 70  # 100 expected of each
    # 2.5 on average, so each of the eight in 125 of 400 images
    assert min(calls.values()) > 90 and max(calls.values()) < 165


def test_all_sample_sets_have_the_same_images_that_hold_an_object():
    config = load_metaset_config("configs/metasets/released.py")
    recipes = draw_recipes(seed_set(1200, every=3), config)
    assert len(recipes) == 50 and len({recipe.image_ids for recipe in recipes}) == 1
    ids = recipes[0].image_ids
    assert len(set(ids)) == 250 and all(int(name) % 3 == 0 for name in ids)
    assert {recipe.steps for recipe in recipes} == {(TransformStep(RELEASED_MIX, None),)}
    assert len({recipe.seed for recipe in recipes}) == 50  # the transforms differ
    others = draw_recipes(seed_set(1200, every=3), MetaSetConfig(n_sets=2, same_images=True))
    assert [recipe.image_ids for recipe in others] != [ids, ids]


def test_no_image_with_an_object():
    """An area to ignore is none: one of a category that nobody labelled spans each image."""
    everywhere = seed_set(2, every=1)
    images = tuple(replace(image, iscrowd=np.array([True])) for image in everywhere.images)
    with pytest.raises(InputError, match="none of its 2"):
        draw_recipes(replace(everywhere, images=images), MetaSetConfig(with_objects=True))
    with pytest.raises(InputError, match=r"'street' with labelled objects .* none of its 2"):
        draw_recipes(seed_set(2), MetaSetConfig(with_objects=True))


def test_the_task_of_cars_has_the_sets_of_the_task_of_vehicles(tmp_path):
    car, vehicle = (
        load_task(f"configs/tasks/paper_{name}.py", tmp_path) for name in ("car", "vehicle")
    )
    assert car.categories == ("car",)
    assert [s.name for s in car.seed_sets] == [s.name for s in vehicle.seed_sets]
    for ours, theirs in zip(car.seed_sets, vehicle.seed_sets, strict=True):
        assert (ours.labels, ours.img_dir) == (theirs.labels, theirs.img_dir)
        assert set(ours.mapping or ()) <= set(theirs.mapping or ())
