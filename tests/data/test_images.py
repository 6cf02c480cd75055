import pickle

import cv2
import numpy as np
import pytest
from PIL import Image

from autoeval.data.images import UnreadableImageError, read_image


def encoded(suffix: str, quality: int = 95) -> bytes:
    noise = np.random.default_rng(0).integers(0, 256, (64, 96, 3), dtype=np.uint8)
    return cv2.imencode(suffix, noise, [cv2.IMWRITE_JPEG_QUALITY, quality])[1].tobytes()


def jpeg_with_thumbnail() -> bytes:
    """A JPEG whose EXIF holds a small JPEG with an end marker of its own."""
    whole = encoded(".jpg")
    segment = b"Exif\x00\x00" + encoded(".jpg", quality=10)
    return whole[:2] + b"\xff\xe1" + (len(segment) + 2).to_bytes(2, "big") + segment + whole[2:]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (b"plain text, with the suffix of an image", "not an image"),
        (b"\xff\xd8", "cut short"),  # nothing behind the first marker
        (encoded(".jpg")[:200], "cut short"),  # ends in the header
        (encoded(".jpg")[:-2], "cut short"),  # only the end marker is gone
        (encoded(".jpg")[:4000].ljust(9000, b"\0"), "cut short"),  # a download reserved its room
        (jpeg_with_thumbnail()[:-900], "cut short"),  # the thumbnail's end marker is no excuse
        (encoded(".png")[:-100], "cut short"),
        (encoded(".bmp")[:-100], "cut short"),
        (encoded(".webp")[:-100], "cut short"),
    ],
)
def test_says_why_a_file_cannot_be_used(tmp_path, content, reason):
    path = tmp_path / "bad.jpg"
    path.write_bytes(content)
    with pytest.raises(UnreadableImageError, match=reason) as caught:
        read_image(path)
    assert caught.value.path == path and "bad.jpg" in str(caught.value)


@pytest.mark.parametrize(("make", "reason"), [("none", "no such file"), ("folder", "is a folder")])
def test_missing_file_and_folder(tmp_path, make, reason):
    path = tmp_path / "image.png"
    if make == "folder":
        path.mkdir()
    with pytest.raises(UnreadableImageError, match=reason):
        read_image(path)


@pytest.mark.parametrize("suffix", [".jpg", ".png", ".bmp", ".webp", ".tif", ".gif", ".ppm"])
def test_reads_whole_files_of_every_suffix(tmp_path, suffix):
    path = tmp_path / f"good{suffix}"
    path.write_bytes(encoded(suffix))
    image = read_image(path)
    assert image.shape == (64, 96, 3) and image.dtype == np.uint8


def test_a_thumbnail_does_no_harm(tmp_path):
    path = tmp_path / "good.jpg"
    path.write_bytes(jpeg_with_thumbnail())
    assert read_image(path).shape == (64, 96, 3)


@pytest.mark.parametrize("orientation", [1, 3, 6, 8])
def test_equals_the_loader_of_mmdet_whatever_the_orientation(tmp_path, orientation):
    from mmcv.transforms import LoadImageFromFile

    picture = np.random.default_rng(1).integers(0, 256, (8, 12, 3), dtype=np.uint8)
    exif = Image.Exif()
    exif[0x0112] = orientation
    path = tmp_path / "turned.jpg"
    Image.fromarray(picture).save(path, exif=exif)
    expected = LoadImageFromFile().transform({"img_path": str(path)})["img"]
    np.testing.assert_array_equal(read_image(path), expected)
    assert expected.shape == ((12, 8, 3) if orientation in (6, 8) else (8, 12, 3))


def test_grey_images_get_three_channels_in_order_bgr(tmp_path):
    Image.fromarray(np.full((3, 4), 7, np.uint8)).save(tmp_path / "grey.png")
    Image.new("RGB", (4, 3), (255, 0, 0)).save(tmp_path / "red.png")
    assert read_image(tmp_path / "grey.png").tolist() == [[[7, 7, 7]] * 4] * 3
    assert read_image(tmp_path / "red.png")[0, 0].tolist() == [0, 0, 255]


def test_the_error_survives_the_way_between_processes():
    error = pickle.loads(pickle.dumps(UnreadableImageError("a.jpg", "why not")))
    assert str(error) == "a.jpg: why not" and error.reason == "why not"
