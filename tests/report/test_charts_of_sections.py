"""A report draws each chart once, and lays it out once, for its page and for its files."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread
from matplotlib.layout_engine import ConstrainedLayoutEngine

from autoeval.report.sections import Report, Section

pytestmark = pytest.mark.usefixtures("drawn")

FIGSIZE, DPI = (3, 2), 150


class OneChart(Section):
    """Shows its chart on the page, as the sections of results do."""

    def __init__(self):
        self.n_drawn = 0

    def figures(self):
        self.n_drawn += 1
        figure = Figure(figsize=FIGSIZE, layout="constrained")
        figure.subplots().set(ylabel="share of true positives")
        yield "chart", figure

    def show(self, page):
        for figure in self.charts.values():
            page.add_figure(figure)


def test_each_chart_is_drawn_and_laid_out_once(tmp_path, monkeypatch):
    executed, plain = [], ConstrainedLayoutEngine.execute

    def counted(engine, figure):
        executed.append(figure)
        return plain(engine, figure)

    monkeypatch.setattr(ConstrainedLayoutEngine, "execute", counted)
    section = OneChart()
    Report("chart", [section]).write(tmp_path)
    assert section.n_drawn == len(executed) == 1
    assert "data:image/svg+xml" in (tmp_path / "report.html").read_text()
    pixels = imread(tmp_path / "report/chart.png")
    assert pixels.shape[:2] == (FIGSIZE[1] * DPI, FIGSIZE[0] * DPI)
    # the label at the left is inside: without any layout its first column would touch the border
    assert np.all(pixels[:, 0, :3] == 1) and pixels[:, :60, :3].min() < 0.5
