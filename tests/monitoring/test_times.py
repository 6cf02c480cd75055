"""When images were taken, and which times cannot be true."""

import os
from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from autoeval.errors import InputError
from autoeval.monitoring.windows import Clock, time_of_form, time_warnings

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
        *(("auto", f"{year}:01:01 00:00:00", "untrue") for year in (1970, 1980, 2000, 2099)),
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
        ("c3/2026-03-03/2026-03-02/091507.jpg", "%Y-%m-%d/%H%M%S", WHEN),  # twice a date
        ("c3/2026-03-02/2026-03-02/0915.jpg", "%Y-%m-%d/%H%M", WHEN.replace(second=0)),
        ("c3/20260302/20260302/0915.jpg", "%Y%m%d/%H%M", WHEN.replace(second=0)),
        ("c3/26-03-02-09-15-07.jpg", "%y-%m-%d-%H-%M", WHEN.replace(second=0)),
        ("c3/no time.jpg", "%Y%m%d", None),
    ],
)
def test_times_in_names(name, form, expected):
    assert time_of_form(name, form) == expected


@pytest.mark.parametrize(
    "form",
    [
        "%d%b%Y",  # 02Mar2026 would be in no window
        "%Y%m%d_%I%M%S",  # of a clock of 12 hours the afternoon would be read as the morning
        "%Y%m%d_%I%M%S%p",
        "%Y%m%d %H%M%z",
        "%Y%m%d_%d",  # twice the same
        "%m%d_%H%M%S",  # all images would be of 1900
        "%Y%",
        "%%",
        "yesterday",
    ],
)
def test_a_form_that_no_name_would_be_read_by_is_refused(form):
    with pytest.raises(InputError, match="--time"):
        Clock(form)


def test_a_percent_sign_in_names_is_written_twice():
    assert Clock("%Y-%j%%").read(None, "yard/2026-061%.jpg")[0] == datetime(2026, 3, 2)


def test_images_of_today_are_believed(tmp_path):
    path = photograph(tmp_path / "1.jpg", datetime.now().strftime("%Y:%m:%d %H:%M:%S"))
    taken, _ = Clock().read(path, "1.jpg")
    assert abs(taken - datetime.now()) < timedelta(minutes=1)


def index(*times, names=None, source="exif"):
    names = names or [f"{k}.jpg" for k in range(len(times))]
    source = [source] * len(times) if isinstance(source, str) else source
    return pd.DataFrame({"name": names, "taken": pd.to_datetime(list(times)), "taken_from": source})


def test_a_clock_that_jumps_back_is_named():
    hours = [f"2026-03-02 {h:02d}:00" for h in (8, 9, 10, 7, 8, 9, 10, 11)]
    (warning,) = time_warnings(index(*hours), needed=True)
    assert "jumps back 1 time, first at 3.jpg, by 3:00:00" in warning


@pytest.mark.parametrize("hours", [(8, 3, 10, 1, 9, 2, 7, 5), (8,)], ids=["no order", "one image"])
def test_names_without_order_are_no_jumps(hours):
    assert list(time_warnings(index(*(f"2026-03-02 {h:02d}:00" for h in hours)), needed=True)) == []


def test_lacking_untrue_and_mixed_times_are_named():
    times = ["2026-03-02 08:00", "2026-03-02 09:00", None, None]
    images = index(*times, source=["exif", "file", "none", "untrue"])
    shown = " ".join(time_warnings(images, needed=True))
    assert "1 image without a time, in no window" in shown
    assert "1 image with a time before 2001 or in the future" in shown
    assert "different clocks (exif 1, file 1)" in shown
