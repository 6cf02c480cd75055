"""Times in lists of images and in file names: the year first, however the parts are separated."""

import json
from datetime import datetime
from pathlib import Path

import pytest

from autoeval.errors import InputError
from autoeval.io.image_lists import coco_images, split_at_time, times_in_names, written_time
from autoeval.monitoring.read_sites import ResultsFile
from autoeval.monitoring.windows import Clock
from autoeval.words import codes_of

MORNING = datetime(2026, 3, 2, 8, 15)
SECONDS = datetime(2026, 3, 2, 8, 15, 7)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026/03/02 08:15", MORNING),
        ("2026.03.02 08:15", MORNING),
        ("2026-03-02T08:15", MORNING),
        ("2026/3/2 8:15", MORNING),
        ("2026/03/02T08:15:07", SECONDS),
        ("2026:03:02 08:15:07", SECONDS),  # of EXIF
        ("2026-03-02T08:15:07.250000Z", SECONDS.replace(microsecond=250000)),
        ("2026-03-02T08:15:07+01:00", SECONDS),  # by the clock of the camera
        ("20260302 0815", MORNING),
        ("20260302081507", SECONDS),
        ("2026_03_02_08_15_07", SECONDS),
        ("2026/03/02", datetime(2026, 3, 2)),
        ("2026-03-02 08:15:07 AM", SECONDS),
        ("2026-03-02 8:15 p.m.", MORNING.replace(hour=20)),
        ("2026/03/02 12:15 AM", MORNING.replace(hour=0)),
        ("2026/03/02 12:15pm", MORNING.replace(hour=12)),
        ("02.03.2026 08:15", None),  # day or month first
        ("03/02/2026 08:15", None),
        ("2026/13/02 08:15", None),  # no month
        ("0000-00-00 00:00:00", None),
        ("1583135700", None),  # seconds of a clock, and no date
    ],
)
def test_times_with_the_year_first_are_read(text, expected):
    assert written_time(text) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gate/20260302_081507.jpg", SECONDS),
        ("gate/2026-03-02/08.15.07.jpg", SECONDS),
        ("IMG_20260302_0815_2.jpg", MORNING),
        ("gate 2026-03-02T08-15-07Z.png", SECONDS),
        ("gate/202603020815.jpg", MORNING),
        ("Screenshot 2026-03-02 at 8.15.07 PM.png", None),  # a word between
        ("gate 2026-03-02 08-15-07 pm.jpg", SECONDS.replace(hour=20)),
        ("gate_20260302_0815_amber.jpg", MORNING),
        ("10.0.0.5_01_20260302081507250_MOTION_DETECTION.jpg", SECONDS),  # of Hikvision
        ("PXL_20260302_081507250.jpg", SECONDS),
        ("20260302_081507_250123.jpg", SECONDS),
        ("202603020815072501.jpg", None),  # no fraction of so many digits
        ("20260302_08150725.jpg", None),
        ("20260302_11150725.jpg", None),
        ("gate/2026-03-02/2026-03-02/08-15.jpg", MORNING),  # a day in the folder and in the name
        ("gate/2026-03-02/2026-03-02T08-15-07.jpg", SECONDS),
        ("gate/2026-03-02/20260302_081507.jpg", SECONDS),
        ("gate/20260302/20260302_081507.jpg", SECONDS),
        ("gate/20260302/202603020815.jpg", MORNING),
        ("gate/2026/03/02/202603020815.jpg", MORNING),
        ("20260303_202603020815.jpg", datetime(2026, 3, 3, 20, 26, 3)),  # and millionths
        ("gate/2026-03-03/2026-03-02_08-15.jpg", MORNING),  # in a file of the day after
        ("gate/2026/03/2026-03-02_08-15.jpg", MORNING),
        ("gate/2026/03/20260302_081507.jpg", SECONDS),
        ("gate/2023/03/20230302_081507.jpg", SECONDS.replace(year=2023)),
        ("gate/2026-03-02/2026-03-02.jpg", None),
        ("gate/2026-03-02/2026.jpg", MORNING.replace(hour=20, minute=26)),
        ("gate/2026-03-02/17.jpg", None),  # a date and a number
        ("gate/2026-03-02/001/jpg/08/15/07[M][0@0][0].jpg", None),  # of Dahua: a channel
        ("gate/2026-03-02/015.jpg", None),
        ("gate/20260302_00015.jpg", None),
        ("gate/2026-03-02/8-15.jpg", MORNING),
        ("02.03.2026_08.15.jpg", None),
        ("000000581781.jpg", None),
        ("5320260302081507.jpg", None),  # a longer number
    ],
)
def test_names_hold_a_date_and_a_time(name, expected):
    assert split_at_time(name)[0] == expected
    assert Clock().read(None, name) == (expected, "none" if expected is None else "name")
    assert Clock().read(None, name, MORNING) == (MORNING, "listed")
    assert Clock("exif").read(None, name) == (None, "none")


@pytest.mark.parametrize(
    ("other", "n_times"),
    [
        ("gate/2026-03-02/0081.jpg", 0),  # a frame of a number
        ("gate/2026-03-02/81.jpg", 0),
        ("gate/2026-03-02/0130.jpg", 2),
        ("yard/2026-03-02/0081.jpg", 1),  # of another form
    ],
)
def test_names_of_one_form_hold_times_where_each_holds_one(other, n_times):
    times = times_in_names(["gate/2026-03-02/0815.jpg", other])
    assert sum(time is not None for time in times) == n_times
    assert times[0] == (MORNING if n_times else None)


@pytest.mark.parametrize(("number", "n_times"), [("0081", 0), ("0130", 2)])
def test_hashes_that_programs_add_are_no_part_of_the_form(number, n_times):
    hashes = {"{}_jpg.rf.0a1b2c3d{}.jpg": "ef", "{1}1b2c3d4-{0}.jpg": "ab"}
    for form, of_each in hashes.items():
        parts = zip(("2026-03-02-0815", f"2026-03-02-{number}"), of_each, strict=True)
        times = times_in_names(form.format(*part) for part in parts)
        assert sum(time is not None for time in times) == n_times


def test_a_hash_of_decimal_digits_is_one_among_others():
    """One of 43 is such; alone in its form, number 30 of the day was at 00:30."""
    hashes = {"a1b2c3d4": "0081", "b1b2c3d4": "0082", "12345678": "0030"}
    names = [f"{digits}-2026-03-02-{number}.jpg" for digits, number in hashes.items()]
    assert times_in_names(names) == [None, None, None]
    assert times_in_names(["20260302-0815.jpg", "a1b2c3d4-1.jpg"]) == [MORNING, None]


def listed_at(*times):
    return {
        "images": [
            {"id": k, "file_name": f"{k}.jpg", "date_captured": time}
            for k, time in enumerate(times)
        ]
    }


def test_a_day_first_is_said_and_not_used():
    notices = []
    document = listed_at("02.03.2026 08:15", "2026/03/02 08:15", "")
    images = coco_images(Path("site.json"), document, notices)
    assert [image.taken for image in images] == [None, MORNING, None]
    assert [notice["code"] for notice in codes_of(notices)] == ["times-not-read"]
    assert "1 (02.03.2026 08:15)" in notices[0]


@pytest.mark.parametrize("time", [1772439300, "1772439300.5", "2026/13/02 08:15", "2 03 2026 0815"])
def test_what_may_be_a_time_and_is_not_read_is_said(time):
    notices = []
    (image,) = coco_images(Path("site.json"), listed_at(time), notices)
    assert image.taken is None
    assert [notice["code"] for notice in codes_of(notices)] == ["times-not-read"]


@pytest.mark.parametrize("time", [0, "", None, "unknown", "0000-00-00 00:00:00", 2026])
def test_what_tools_write_for_no_time_is_not(time):
    notices = []
    (image,) = coco_images(Path("site.json"), listed_at(time), notices)
    assert image.taken is None and not notices


def test_the_monitor_refuses_a_day_first(tmp_path):
    file = tmp_path / "gate.json"
    file.write_text(json.dumps(listed_at("02.03.2026 08:15")))
    with pytest.raises(InputError, match="year first"):
        ResultsFile(tmp_path / "boxes.json", "", None, file).images()
