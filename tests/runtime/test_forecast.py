"""What a run says beforehand, and as soon as it can tell."""

import pytest

from autoeval.runtime.job import Job
from autoeval.runtime.jobs import run_jobs
from autoeval.runtime.progress import Forecast
from autoeval.runtime.store import RowStore


def told(total, updates):
    """Lines said when the items of `updates` (number, time) are done."""
    lines, times = [], iter([at for _, at in updates])
    forecast = Forecast(total, "work", "images", lines.append, clock=times.__next__)
    for n, _ in updates:
        forecast.update(n)
    return lines


def test_the_rate_is_that_after_the_first_items():
    # the first four took a minute to start; the next 20 half a second each; 176 are left
    lines = told(200, [(4, 60.0), (20, 70.0)])
    assert lines == ["work: 200 images", "work: about 88 seconds to go"]


@pytest.mark.parametrize(
    "updates",
    [
        [(100, 5.0)],  # all at once: no rate
        [(1, 0.0), (7, 60.0)],  # too few
        [(1, 0.0), (90, 4.9)],  # too soon, and over before it matters
    ],
)
def test_nothing_is_foretold_before_it_is_known(updates):
    assert told(100, updates) == ["work: 100 images"]


def test_it_is_said_once():
    lines = told(100, [(1, 0.0), (9, 6.0), (10, 7.0)])
    assert len(lines) == 2


def test_what_is_kept_counts_as_done_but_not_for_the_rate():
    lines, times = [], iter([60.0, 70.0])
    forecast = Forecast(200, "work", "images", lines.append, 76, times.__next__)
    for n in (4, 20):  # half a second each; 100 are left
        forecast.update(n)
    assert lines == ["work: 200 images, 76 of them kept", "work: about 50 seconds to go"]


def test_a_run_says_how_much_it_has_to_do_and_a_finished_one_nothing(tmp_path, capsys):
    jobs = [Job("a", 30), Job("b", 12)]
    for expected in ("testing: 42 images", ""):
        run_jobs(jobs, lambda job, advance: [{}], RowStore(tmp_path), what="testing")
        assert capsys.readouterr().err.strip() == expected
