import os
from datetime import datetime, timedelta

import numpy as np
import pytest
from PIL import Image

from autoeval.errors import InputError
from autoeval.monitoring.times.clock import Clock, time_in_name

WHEN = datetime(2026, 3, 2, 9, 15, 7)


def photograph(path, exif_time=None, tag=0x9003):
    exif = Image.Exif()
    if exif_time is not None:
        exif.get_ifd(0x8769)[tag] = exif_time
    Image.fromarray(np.zeros((8, 8, 3), np.uint8)).save(path, exif=exif)
    seconds = datetime(2025, 1, 1, 12).timestamp()
    os.utime(path, (seconds, seconds))
    return path


def test_what_the_camera_wrote_goes_before_the_time_of_the_file(tmp_path):
    path = photograph(tmp_path / "1.jpg", "2026:03:02 09:15:07")
    assert Clock().read(path, "1.jpg") == (WHEN, "exif")
    assert Clock("file").read(path, "1.jpg")[1] == "file"


def test_without_exif_the_file_counts_in_utc(tmp_path):
    path = photograph(tmp_path / "1.jpg")
    os.utime(path, (1_770_000_000, 1_770_000_000))
    assert Clock().read(path, "1.jpg") == (datetime(2026, 2, 2, 2, 40), "file")
    assert Clock("exif").read(path, "1.jpg") == (None, "none")


@pytest.mark.parametrize(
    ("clock", "text", "source"),
    [
        *(("exif", text, "none") for text in ("0000:00:00 00:00:00", "rubbish", "")),
        # a clock that was reset is not believed
        *(("auto", f"{year}:01:01 00:00:00", "untrue") for year in (1970, 2099)),
    ],
)
def test_a_time_that_cannot_be_is_none(clock, text, source, tmp_path):
    assert Clock(clock).read(photograph(tmp_path / "1.jpg", text), "1.jpg") == (None, source)


def test_no_file_has_no_time(tmp_path):
    assert Clock().read(tmp_path / "gone.jpg", "gone.jpg") == (None, "none")


@pytest.mark.parametrize(
    ("name", "form", "expected"),
    [
        ("c3/IMG_20260302_091507_x.jpg", "%Y%m%d_%H%M%S", WHEN),
        ("c3/2026-03-02/09.15.07.jpg", "%Y-%m-%d/%H.%M.%S", WHEN),
        ("9920260302091507.jpg", "%Y%m%d%H%M%S", WHEN),  # digits before it
        ("c3/no time.jpg", "%Y%m%d", None),
    ],
)
def test_times_in_names(name, form, expected):
    assert time_in_name(name, form) == expected


def test_a_form_without_a_mark_is_refused():
    with pytest.raises(InputError, match="--time"):
        Clock("yesterday")


def test_images_of_today_are_believed(tmp_path):
    path = photograph(tmp_path / "1.jpg", datetime.now().strftime("%Y:%m:%d %H:%M:%S"))
    taken, _ = Clock().read(path, "1.jpg")
    assert abs(taken - datetime.now()) < timedelta(minutes=1)
