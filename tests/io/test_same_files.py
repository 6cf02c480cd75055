"""Files and images that are the same, or nearly."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from scipy.fft import dctn

from autoeval.io.find_images import (
    ImageArray,
    copied,
    copies_taken,
    same_content,
    without_copies,
)
from autoeval.io.image_lists import ImageFile
from autoeval.io.tasks.inspection import near_copies, perceptual_hash


def write(folder, contents):
    for name, content in contents.items():
        (folder / name).write_text(content)


def test_equal_content_is_found_whatever_the_name(tmp_path):
    write(tmp_path, {"a": "one", "b": "two", "c": "three", "d": "one", "e": "", "f": ""})
    new, own = ([tmp_path / name for name in (*names, "missing")] for names in ("abce", "df"))
    assert same_content(new, own) == [tmp_path / "a"]


def test_of_copies_the_first_is_kept(tmp_path):
    write(tmp_path, {"a": "one", "b": "two", "c": "one", "d": "three", "e": "one", "f": ""})
    paths = [tmp_path / name for name in (*"abcdef", "missing", "gone")]
    files = [ImageFile(path.name, path) for path in paths]
    array = ImageArray("g", np.zeros((2, 2, 3), np.uint8))
    images = [array, *files, array]
    assert copied(images) == [3, 5]
    assert copied([files[0]] * 2) == [1]
    images = [*files, array, array]
    kept, (told,) = without_copies(images)
    assert [image.image_id for image in kept] == ["a", "b", "d", "f", "missing", "gone", "g", "g"]
    assert told.startswith("2 of 10 images are copies")
    assert told.endswith("(c, e), and were left out")
    assert without_copies(kept) == (kept, ()) and copies_taken(kept) == ()
    assert copies_taken(images)[0].startswith("2 of 10 images are copies")


POOR = [cv2.IMWRITE_JPEG_QUALITY, 30]


def photo(seed):
    """Smooth shapes, as photographs have."""
    noise = np.random.default_rng(seed).integers(0, 256, (8, 10, 3), dtype=np.uint8)
    return cv2.resize(noise, (320, 240), interpolation=cv2.INTER_CUBIC)


def distance(first, second):
    return (perceptual_hash(first) ^ perceptual_hash(second)).bit_count()


def test_bits_are_those_of_the_low_frequencies():
    grey = cv2.cvtColor(photo(0), cv2.COLOR_BGR2GRAY)
    small = cv2.resize(grey, (32, 32), interpolation=cv2.INTER_AREA).astype(float)
    low = dctn(small, norm="ortho")[1:9, 1:9]
    bits = "".join(str(int(value)) for value in (low > np.median(low)).ravel())
    assert perceptual_hash(photo(0)) == int(bits, 2) and bits.count("1") == 32


@pytest.mark.parametrize(
    "copy",
    [
        lambda image: cv2.resize(image, None, fx=0.4, fy=0.5),
        lambda image: cv2.imdecode(cv2.imencode(".jpg", image, POOR)[1], 1),
        lambda image: cv2.convertScaleAbs(image, alpha=0.8, beta=10),
    ],
)
def test_copies_are_near_and_other_images_are_far(copy):
    assert distance(photo(1), copy(photo(1))) <= 4
    assert distance(photo(1), copy(photo(2))) > 12


def test_a_flat_image_has_none():
    assert perceptual_hash(np.full((50, 60, 3), 9, np.uint8)) is None


def test_copies_across_sets():
    own, others = np.array([1, 255], np.uint64), np.array([240, 0, 3], np.uint64)
    assert near_copies(own, others, max_distance=1).tolist() == [1, -1]
    assert near_copies(own[:1]).tolist() == [-1] and near_copies(own[:0], others).tolist() == []
