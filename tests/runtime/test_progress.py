"""Bars are for terminals: what is written to a file has no carriage returns."""

from __future__ import annotations

import io
import sys

import pytest

from autoeval.runtime import progress
from autoeval.runtime.jobs import Job, run_jobs
from autoeval.runtime.progress import Forecast
from autoeval.runtime.store import RowStore


class Stream(io.StringIO):
    """Standard error that is a terminal, or is not."""

    def __init__(self, terminal):
        super().__init__()
        self.terminal = terminal

    def isatty(self):
        return self.terminal


@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize(
    ("make", "lines"), [("progress_bar", ""), ("announced_bar", "Counting: 3 images\n")]
)
def test_bars_are_drawn_in_terminals_alone(terminal, make, lines, monkeypatch):
    stream = Stream(terminal)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setitem(progress.LOOKS, "delay", 0)
    with getattr(progress, make)(3, "Counting") as bar:
        for _ in range(3):
            bar.update()
    written = stream.getvalue()
    if terminal:
        assert "\rCounting:   0%" in written and lines in written
    else:
        assert written == lines


def test_a_bar_that_is_off_draws_nothing(monkeypatch):
    stream = Stream(True)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setitem(progress.LOOKS, "delay", 0)
    with progress.progress_bar(3, "Counting", disable=True) as bar:
        bar.update(3)
    assert stream.getvalue() == ""


@pytest.mark.parametrize(
    ("updates", "kept", "expected"),  # items done, and when
    [
        ([(100, 5.0)], 0, [""]),  # all at once: no rate
        ([(1, 0.0), (7, 60.0)], 0, [""]),  # too few
        ([(1, 0.0), (90, 4.9)], 0, [""]),  # too soon, and over before it matters
        # the first four took a minute to start; the next 20 half a second each; 176 are left
        ([(4, 60.0), (20, 70.0)], 0, ["", "about 88 seconds to go"]),
        ([(1, 0.0), (9, 6.0), (10, 7.0)], 0, ["", "about 2 minutes to go"]),  # said once
        # what is kept counts as done but not for the rate: 100 are left
        ([(4, 60.0), (20, 70.0)], 76, [", 76 of them kept", "about 50 seconds to go"]),
    ],
)
def test_the_rate_is_that_after_the_first_items(updates, kept, expected):
    lines, times = [], iter([at for _, at in updates])
    forecast = Forecast(200, "work", "images", lines.append, kept, times.__next__)
    for n, _ in updates:
        forecast.update(n)
    assert lines == [f"work: 200 images{expected[0]}", *(f"work: {e}" for e in expected[1:])]


def test_a_run_says_how_much_it_has_to_do_and_a_finished_one_nothing(tmp_path, capsys):
    jobs = [Job("a", 30), Job("b", 12)]
    for expected in ("testing: 42 images", ""):
        run_jobs(jobs, lambda job, advance: [{}], RowStore(tmp_path), activity="testing")
        assert capsys.readouterr().err.strip() == expected
