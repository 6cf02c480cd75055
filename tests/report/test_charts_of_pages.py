"""A page lays each chart out once, for itself and for its files."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread
from matplotlib.layout_engine import ConstrainedLayoutEngine

from autoeval.report.page import Chart, Page

pytestmark = pytest.mark.usefixtures("drawn")

FIGSIZE = (3, 2)
DPI = 150


def test_each_chart_is_laid_out_once(tmp_path, monkeypatch):
    executed, plain = [], ConstrainedLayoutEngine.execute

    def counted(engine, figure):
        executed.append(figure)
        return plain(engine, figure)

    monkeypatch.setattr(ConstrainedLayoutEngine, "execute", counted)
    figure = Figure(figsize=FIGSIZE, layout="constrained")
    figure.subplots().set(ylabel="share of true positives")
    page = Page("chart", [Chart(figure, name="chart")])
    assert page.write(tmp_path / "report.html") == [tmp_path / "report.html", tmp_path / "report"]
    assert len(executed) == 1
    assert "data:image/svg+xml" in (tmp_path / "report.html").read_text()
    pixels = imread(tmp_path / "report/chart.png")
    assert pixels.shape[:2] == (FIGSIZE[1] * DPI, FIGSIZE[0] * DPI)
    # the label at the left is inside: without any layout its first column would touch the border
    assert np.all(pixels[:, 0, :3] == 1) and pixels[:, :60, :3].min() < 0.5


def test_a_page_without_named_tables_has_no_folder(tmp_path):
    assert Page("t").write(tmp_path / "t.html") == [tmp_path / "t.html"]
    assert not (tmp_path / "t").exists()
