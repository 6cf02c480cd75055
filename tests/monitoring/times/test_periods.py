import pandas as pd
import pytest

from autoeval.errors import InputError
from autoeval.monitoring.times.periods import check_by, in_time, periods, time_warnings


def index(*times, names=None, source="exif"):
    names = names or [f"{k}.jpg" for k in range(len(times))]
    source = [source] * len(times) if isinstance(source, str) else source
    return pd.DataFrame(
        {"file_name": names, "taken": pd.to_datetime(list(times)), "taken_from": source}
    )


def test_images_come_in_time_and_those_of_one_moment_in_natural_order():
    times = ["2026-03-02 10:00", "2026-03-02 10:00", None, "2026-03-02 09:00"]
    images = index(*times, names=["10.jpg", "9.jpg", "1.jpg", "99.jpg"])
    assert in_time(images)["file_name"].tolist() == ["99.jpg", "9.jpg", "10.jpg", "1.jpg"]


def test_days_hours_and_numbers():
    images = index("2026-03-02 23:59", "2026-03-03 00:01", "2026-03-03 07:00")
    assert periods(images, "day").tolist() == ["2026-03-02", "2026-03-03", "2026-03-03"]
    assert periods(images, "hour").tolist()[2] == "2026-03-03 07:00"
    assert periods(images, "every:2").tolist() == ["0001", "0001", "0002"]
    assert periods(images, "folder").tolist() == ["", "", ""]


@pytest.mark.parametrize("by", ["week", "every:0", "every:", "every:-3", "every:2s"])
def test_what_is_no_grouping_is_refused(by):
    with pytest.raises(InputError, match="--by"):
        check_by(by)


def test_a_clock_that_jumps_back_is_named():
    hours = [f"2026-03-02 {h:02d}:00" for h in (8, 9, 10, 7, 8, 9, 10, 11)]
    (warning,) = time_warnings(index(*hours), "day")
    assert "jumps back 1 time, first at 3.jpg, by 0 days 03:00:00" in warning


@pytest.mark.parametrize("hours", [(8, 3, 10, 1, 9, 2, 7, 5), (8,)], ids=["no order", "one image"])
def test_names_without_order_are_no_jumps(hours):
    assert list(time_warnings(index(*(f"2026-03-02 {h:02d}:00" for h in hours)), "day")) == []


def test_lacking_untrue_and_mixed_times_are_named():
    times = ["2026-03-02 08:00", "2026-03-02 09:00", None, None]
    images = index(*times, source=["exif", "file", "none", "untrue"])
    shown = " ".join(time_warnings(images, "day"))
    assert "1 image without a time, in no day" in shown
    assert "1 image with a time before 1990 or in the future" in shown
    assert "different clocks (exif 1, file 1)" in shown
