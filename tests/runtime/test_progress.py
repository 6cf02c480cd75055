"""Bars are for terminals: what is written to a file has no carriage returns."""

from __future__ import annotations

import io
import sys

import pytest

from autoeval.runtime import progress
from autoeval.runtime.job import Job
from autoeval.runtime.jobs import run_jobs
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
    monkeypatch.setattr(progress, "DELAY_S", 0)
    with getattr(progress, make)(3, "Counting") as bar:
        for _ in range(3):
            bar.update()
    written = stream.getvalue()
    if terminal:
        assert "\rCounting:   0%" in written and lines in written
    else:
        assert written == lines


def test_a_bar_that_is_off_stays_off_in_a_terminal(monkeypatch):
    stream = Stream(True)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "DELAY_S", 0)
    for bar in (
        progress.progress_bar(3, "Counting", disable=True),
        progress.announced_bar(3, "Counting", disable=True),
    ):
        bar.update(3)
        bar.close()
    assert stream.getvalue() == ""


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
