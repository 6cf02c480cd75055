"""Bars are for terminals: what is written to a file has no carriage returns."""

import io
import sys

import pytest

from autoeval.runtime import progress


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
