import cv2
import numpy as np
import pytest
from scipy.fft import dctn

from autoeval.data.perceptual_hash import alike, perceptual_hash


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
        lambda image: cv2.imdecode(
            cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, 30])[1], 1
        ),
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
    assert alike(own, others, max_distance=1).tolist() == [1, -1]
    assert alike(own[:1]).tolist() == [-1] and alike(own[:0], others).tolist() == []
