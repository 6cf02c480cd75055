"""Which images of a site are looked at together, and which of these are its baseline."""

import time
from datetime import datetime, timezone
from types import SimpleNamespace

import pandas as pd
import pytest

from autoeval.errors import InputError
from autoeval.monitoring.monitor import SiteWindows
from autoeval.monitoring.monitored import MonitorSettings
from autoeval.monitoring.windows import (
    baseline_of,
    in_time,
    silent_sites,
    windows_of,
    would_be_full,
)

NOW = datetime(2026, 3, 4, 9, 30)


def images(*times, names=None):
    names = names or [f"gate/{k}.jpg" for k in range(len(times))]
    taken = pd.to_datetime(list(times))
    return pd.DataFrame({"name": names, "taken": taken, "number": 0, "unreadable": ""})


def hours(n, start="2026-03-02 08:00", minutes=60):
    return images(*pd.date_range(start, periods=n, freq=f"{minutes}min"))


def test_images_come_in_time_and_those_of_one_moment_in_natural_order():
    times = ["2026-03-02 10:00", "2026-03-02 10:00", None, "2026-03-02 09:00"]
    found = in_time(images(*times, names=["10.jpg", "9.jpg", "1.jpg", "99.jpg"]))
    assert found["name"].tolist() == ["99.jpg", "9.jpg", "10.jpg", "1.jpg"]


def shown(found):
    return [(window.name, len(window.places), window.complete) for window in found]


@pytest.mark.parametrize(
    ("zone", "source", "complete"),
    [
        ("Asia/Tokyo", "file", [True, False]),  # where it is 18:30: the hour seemed to be over
        ("Asia/Tokyo", "exif", [True, True]),  # the camera's clock has that of the machine
        ("America/New_York", "exif", [True, False]),
        ("America/New_York", "file", [True, False]),
    ],
)
def test_times_of_files_are_compared_with_the_time_in_utc(zone, source, complete, monkeypatch):
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    began = NOW.replace(tzinfo=timezone.utc).timestamp()
    shared = SimpleNamespace(settings=MonitorSettings(by="hour"), began=began)
    listed = images("2026-03-04 08:10", "2026-03-04 09:20")
    listed = listed.assign(taken_from=source, kept=True, unreadable="", sized=True)
    try:
        windows = SiteWindows("gate", listed, shared).windows
    finally:
        monkeypatch.undo()
        time.tzset()
    assert [window.complete for window in windows] == complete


def test_a_day_is_complete_when_it_is_over_or_another_has_begun():
    found = windows_of(images("2026-03-02 23:59", "2026-03-04 00:01"), "day", NOW)
    assert shown(found) == [("2026-03-02", 1, True), ("2026-03-04", 1, False)]
    later = windows_of(images("2026-03-04 00:01"), "day", datetime(2026, 3, 5))
    assert shown(later) == [("2026-03-04", 1, True)]


def test_so_many_images_are_complete_when_they_are_together():
    found = windows_of(hours(5), "every:2", NOW)
    assert shown(found) == [("0001", 2, True), ("0002", 2, True), ("0003", 1, False)]


def test_folders_are_windows_of_their_site():
    names = ["gate/a/1.jpg", "gate/b/1.jpg", "gate/a/2.jpg"]
    found = windows_of(images(None, None, None, names=names), "folder", NOW)
    assert shown(found) == [("gate/a", 2, True), ("gate/b", 1, True)]


def test_by_default_days_or_images_where_none_has_a_time():
    assert shown(windows_of(hours(3), "auto", NOW)) == [("2026-03-02", 3, True)]
    untimed = images(*[None] * 60)
    assert shown(windows_of(untimed, "auto", NOW)) == [("0001", 50, True), ("0002", 10, False)]


@pytest.mark.parametrize("by", ["week", "every:0", "every:", "every:-3", "every:2s"])
def test_what_is_no_window_is_refused(by):
    with pytest.raises(InputError, match="--by"):
        MonitorSettings(by=by)


@pytest.mark.parametrize(
    ("text", "n", "full"),
    [
        ("2d", 2, True),  # of five days with an image every twelve hours
        ("5d", 5, False),
        ("4", 2, True),  # images, in windows of two
        ("11", 5, False),
        ("2026-03-04", 2, True),
        ("30h", 1, True),  # windows that begin within it count whole
    ],
)
def test_the_baseline_is_the_windows_that_begin_in_it(text, n, full):
    taken = hours(10, start="2026-03-02 00:00", minutes=720)
    windows = windows_of(taken, "day", datetime(2026, 4, 1))
    length, learning = baseline_of(text, taken, windows, NOW)
    assert length == (n if text != "30h" else 2)
    # of windows that hold under eight images a baseline is not full either
    assert (not learning) == (full and sum(len(window.places) for window in windows[:length]) >= 8)
    many = hours(80, start="2026-03-02 00:00", minutes=90)  # sixteen a day
    if full and text != "4":
        assert baseline_of(text, many, windows_of(many, "day", NOW), NOW)[1] == ""


def progress(text, taken):
    """How far the baseline is that images of days fill, without what would be full."""
    _, learning = baseline_of(text, taken, windows_of(taken, "day", NOW), NOW)
    return learning.partition(";")[0] if "needed" not in learning else learning


def test_how_far_a_baseline_is_and_what_would_be_full():
    taken = hours(30, start="2026-03-02 00:00")
    assert progress("7d", taken) == "the baseline (7d) has 2 of 7 days"
    text = progress("2026-03-01", taken)
    assert text.startswith(
        "the baseline (2026-03-01) has 0 images before that day; 8 are needed; with --by every:8 "
    )
    later = progress("2026-04-01", taken)
    assert "has 30 images before that day, and none is later; 8 are needed" in later
    few = hours(9, start="2026-03-02 00:00", minutes=720)  # two a day
    for baseline, n_images in (("2d", 4), ("1", 2), ("30h", 4)):  # it said "has 5 of 2 days"
        said = progress(baseline, few)
        assert said.startswith(f"the baseline ({baseline}) has {n_images} images; 8 are needed")
    untimed = progress("7d", taken.assign(taken=pd.NaT))
    assert untimed == "the baseline (7d) needs times, and no image has one"
    assert would_be_full(hours(48, start="2026-03-02 00:00"), NOW) == "--by day --baseline 1d"
    assert would_be_full(taken, NOW) == "--by every:8 --baseline 16"  # the second day has six
    assert would_be_full(hours(60, minutes=5), NOW) == "--by hour --baseline 4h"
    assert would_be_full(hours(60, minutes=10), NOW) == "--by every:25 --baseline 25"
    assert would_be_full(hours(9, minutes=10), NOW) == ""
    few = images(*[None] * 20)
    _, learning = baseline_of(None, few, windows_of(few, "auto", NOW), NOW)
    assert learning.startswith("the baseline (100) has 20 of 100 images")


def test_a_baseline_is_of_images_that_can_be_read():
    """One without any was full: its means were of nothing, which ended the run for all sites."""
    taken = hours(30, start="2026-03-02 00:00")  # 24 on the first day
    windows = windows_of(taken, "day", NOW)
    for n_readable, full in ((0, False), (7, False), (8, True)):
        taken["unreadable"] = ["" if 24 - n_readable <= k else "not a PNG" for k in range(30)]
        assert (baseline_of("1d", taken, windows, NOW)[1] == "") == full
        if not full:
            assert f"has {n_readable} readable images; 8" in progress("1d", taken)
    for n_bad, better in ((8, "--by every:8 --baseline 16"), (9, "")):
        taken["unreadable"] = ["not a PNG"] * n_bad + [""] * (30 - n_bad)
        assert would_be_full(taken, NOW) == better


@pytest.mark.parametrize(
    ("of", "named"),
    [
        (hours(20, minutes=60), True),  # until the second of March, the other one until the ninth
        (hours(20, minutes=480), False),  # until the eighth: one day of silence is under a day
        # it was silent for twelve days before
        (pd.concat([hours(20, "2026-02-01", 1440), hours(8, "2026-03-04")]), False),
        (hours(5), False),  # too few to say how long it is silent otherwise
        (images(*[None] * 20), False),
    ],
)
def test_a_site_that_sends_no_images_while_another_does_is_named(of, named):
    sites = {"gate": of, "yard": hours(24 * 7)}
    found = list(silent_sites(sites, "auto"))
    assert [notice.code for notice in found] == (["site-silent"] if named else [])
    if named:
        assert found[0].startswith("gate: no new image, while another site has one of 2026-03-09")


@pytest.mark.parametrize(
    "text",
    [
        *("soon", "0d", "-3", "3w"),
        "20260303",  # as many images, or a date
        "99999d",  # longer than times of pandas reach
        "2026-03-03T00:00+01:00",  # times of cameras have no zone
    ],
)
def test_what_is_no_baseline_is_refused(text):
    with pytest.raises(InputError, match="--baseline"):
        MonitorSettings(baseline=text)


def test_a_baseline_that_is_a_date_may_have_a_time_or_be_of_a_week():
    taken = hours(60, start="2026-03-02 00:00")
    windows = windows_of(taken, "every:12", NOW)
    lengths = {"2026-03-03": 2, "2026-03-03T12:00": 3, "2026-W10-2": 2}  # the second day of a week
    for text, length in lengths.items():
        MonitorSettings(baseline=text)
        assert baseline_of(text, taken, windows, NOW) == (length, "")
