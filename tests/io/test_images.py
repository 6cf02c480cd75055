import os
import pickle
import zlib

import cv2
import numpy as np
import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from autoeval.errors import InputError
from autoeval.io.images import UnreadableImageError, image_size, read_image


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


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda path: None, "no such file"),
        (os.mkdir, "is a folder"),
        (os.mkfifo, "is no ordinary file"),  # reading it would wait for ever
    ],
)
def test_missing_file_folder_and_pipe(tmp_path, make, reason):
    make(tmp_path / "image.png")
    with pytest.raises(UnreadableImageError, match=reason):
        read_image(tmp_path / "image.png")


@pytest.mark.parametrize("suffix", [".jpg", ".png", ".bmp", ".webp", ".tif", ".gif", ".ppm", ""])
def test_reads_whole_files_of_every_suffix(tmp_path, suffix):
    """And a JPEG with a thumbnail, without a suffix."""
    path = tmp_path / f"good{suffix}"
    path.write_bytes(encoded(suffix) if suffix else jpeg_with_thumbnail())
    image = read_image(path)
    assert image.shape == (64, 96, 3) and image.dtype == np.uint8


def read_as_mmdet(path):
    """Read an image that its loader reads alike."""
    from mmcv.transforms import LoadImageFromFile

    expected = LoadImageFromFile().transform({"img_path": str(path)})["img"]
    np.testing.assert_array_equal(read_image(path), expected)
    return expected


def save_turned(picture, path, orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    picture.save(path, exif=exif)
    return path


@pytest.mark.rare
@pytest.mark.parametrize("orientation", [1, 3, 6, 8])
def test_equals_the_loader_of_mmdet_whatever_the_orientation(tmp_path, orientation):
    picture = np.random.default_rng(1).integers(0, 256, (8, 12, 3), dtype=np.uint8)
    path = save_turned(Image.fromarray(picture), tmp_path / "turned.jpg", orientation)
    expected = read_as_mmdet(path)
    assert expected.shape == ((12, 8, 3) if orientation in (6, 8) else (8, 12, 3))


def test_grey_images_get_three_channels_in_order_bgr(tmp_path):
    Image.fromarray(np.full((3, 4), 7, np.uint8)).save(tmp_path / "grey.png")
    Image.new("RGB", (4, 3), (255, 0, 0)).save(tmp_path / "red.png")
    assert read_image(tmp_path / "grey.png").tolist() == [[[7, 7, 7]] * 4] * 3
    assert read_image(tmp_path / "red.png")[0, 0].tolist() == [0, 0, 255]


def test_the_error_survives_the_way_between_processes():
    error = pickle.loads(pickle.dumps(UnreadableImageError("a.jpg", "why not")))
    assert str(error) == "a.jpg: why not" and error.reason == "why not"


@pytest.mark.parametrize("suffix", [".png", ".tif"])
@pytest.mark.parametrize("bits", [10, 12, 14])
def test_few_bits_stored_in_many_are_refused(tmp_path, suffix, bits):
    picture = np.random.default_rng(0).integers(0, 2**bits, (20, 30, 3)).astype(np.uint16)
    cv2.imwrite(str(tmp_path / f"raw{suffix}"), picture)
    with pytest.raises(UnreadableImageError, match=f"stores {bits} bits in 16"):
        read_image(tmp_path / f"raw{suffix}")


@pytest.mark.rare
@pytest.mark.parametrize("brightest", [0, 65535])
def test_sixteen_bits_in_use_are_read_as_mmdet_reads_them(tmp_path, brightest):
    picture = np.linspace(0, brightest, 600).astype(np.uint16).reshape(20, 30)
    cv2.imwrite(str(tmp_path / "deep.png"), picture)
    assert read_as_mmdet(tmp_path / "deep.png").max() == brightest // 257


def test_images_too_large_are_refused_before_they_are_decoded(tmp_path, monkeypatch):
    path = tmp_path / "large.png"
    Image.new("L", (3, 3)).save(path)
    content = path.read_bytes()
    claimed = content[12:16] + (30_000).to_bytes(4, "big") * 2 + content[24:29]
    path.write_bytes(content[:12] + claimed + zlib.crc32(claimed).to_bytes(4, "big") + content[33:])
    monkeypatch.setattr(cv2, "imdecode", None)
    with pytest.raises(UnreadableImageError, match="900 megapixels, more than the limit of 100; A"):
        read_image(path)


def test_the_limit_is_a_variable_of_the_environment(tmp_path, monkeypatch):
    path = tmp_path / "image.png"
    Image.new("L", (1000, 100)).save(path)
    monkeypatch.setenv("AUTOEVAL_MAX_MEGAPIXELS", "0.1")
    assert read_image(path).shape == (100, 1000, 3)
    monkeypatch.setenv("AUTOEVAL_MAX_MEGAPIXELS", "0.09")
    with pytest.raises(UnreadableImageError, match=r"0.1 megapixels, more than the limit of 0\.09"):
        read_image(path)
    for wrong in ("none", "-1", "nan"):
        monkeypatch.setenv("AUTOEVAL_MAX_MEGAPIXELS", wrong)
        expected = f"AUTOEVAL_MAX_MEGAPIXELS to be a positive number but got '{wrong}'"
        with pytest.raises(InputError, match=expected):
            read_image(path)


@pytest.mark.parametrize("orientation", [1, 6, 8])
@pytest.mark.parametrize("suffix", [".jpg", ".png", ".webp", ".tif", ".avif", ".jp2", ".bmp"])
def test_the_header_says_the_size_that_decoding_gives(tmp_path, suffix, orientation):
    path = save_turned(Image.new("RGB", (12, 8)), tmp_path / f"turned{suffix}", orientation)
    assert image_size(path) == read_image(path).shape[:2]


@pytest.mark.parametrize("suffix", [".jpg", ".webp", ".png"])
def test_an_orientation_in_xmp_alone_turns_no_image(tmp_path, suffix):
    """OpenCV, by which images are decoded, passes it over."""
    xmp = '<rdf:Description xmlns:tiff="http://ns.adobe.com/tiff/1.0/" tiff:Orientation="6"/>'
    info = PngInfo()
    info.add_itxt("XML:com.adobe.xmp", xmp)
    options = {"pnginfo": info} if suffix == ".png" else {"xmp": xmp.encode()}
    Image.new("RGB", (12, 8)).save(tmp_path / f"1{suffix}", **options)
    path = tmp_path / f"1{suffix}"
    assert image_size(path) == read_image(path).shape[:2] == (8, 12)


def test_a_jpeg_with_a_second_picture_is_turned_as_others_are(tmp_path):
    """As cameras write it with a preview, which Pillow calls another format."""
    picture, exif = Image.new("RGB", (12, 8)), Image.Exif()
    exif[0x0112] = 6
    options = {"save_all": True, "append_images": [picture]}
    picture.save(tmp_path / "1.jpg", format="MPO", exif=exif, **options)
    assert image_size(tmp_path / "1.jpg") == read_image(tmp_path / "1.jpg").shape[:2] == (12, 8)


@pytest.mark.parametrize(
    ("start", "name"),
    [
        (b"\0\0\0 ftypavif", "AVIF"),
        (b"\0\0\0\x18ftypheic", "HEIC"),
        (b"\0\0\0\x0cjP  \r\n\x87\n", "JPEG 2000"),
    ],
)
def test_formats_that_not_every_opencv_reads_are_named(tmp_path, start, name):
    (tmp_path / "photo.avif").write_bytes(start.ljust(64, b"\0"))
    with pytest.raises(UnreadableImageError, match=f"is {name}, which this OpenCV cannot read"):
        read_image(tmp_path / "photo.avif")


def test_a_name_that_is_no_text_can_be_told(tmp_path):
    path = tmp_path / os.fsdecode(b"bad\xff.jpg")
    path.touch()
    with pytest.raises(UnreadableImageError) as caught:
        read_image(path)
    assert str(caught.value).encode().endswith(rb"bad\xff.jpg: the file is empty (0 bytes)")


@pytest.mark.parametrize("suffix", [".hdr", ".pfm", ".pam"])
def test_formats_that_pillow_does_not_know_obey_the_limit(tmp_path, monkeypatch, suffix):
    """Their size is read from the header, as OpenCV would decode it."""
    pixels = np.random.default_rng(0).random((40, 60, 3)).astype(np.float32)
    content = cv2.imencode(suffix, np.uint8(255 * pixels) if suffix == ".pam" else pixels)[1]
    path = tmp_path / f"image{suffix}"
    path.write_bytes(content.tobytes())
    assert image_size(path) == (40, 60) == read_image(path).shape[:2]
    monkeypatch.setenv("AUTOEVAL_MAX_MEGAPIXELS", "0.001")
    with pytest.raises(UnreadableImageError, match="more than the limit"):
        read_image(path)
