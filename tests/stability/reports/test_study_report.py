"""Reports of studies, and the parts of reports as files."""

import numpy as np
import pandas as pd
import pytest

from autoeval.accuracy.measures import find_target
from autoeval.report.charts import figure_of, plot_curves
from autoeval.report.page import Table
from autoeval.stability.reports.box_quality import plot_boxes
from autoeval.stability.reports.score_correlation import plot_scatter_grid
from autoeval.stability.reports.study_report import StudyReport, interval_cells, side_by_side

ERRORS = pd.DataFrame(
    {
        "images": [5, 5, 50, 50],
        "method": ["bos", "ac", "bos", "ac"],
        "error": [0.2, 0.3, 0.1, np.nan],
        "lower": [0.1, np.nan, 0.05, np.nan],
        "upper": [0.35, np.nan, 0.2, np.nan],
    }
)


def test_intervals_stand_behind_their_values():
    cells = interval_cells(ERRORS, "error", scale=100, digits=1)
    assert cells == ["20.0 (10.0 to 35.0)", "30.0", "10.0 (5.0 to 20.0)", None]
    wide = side_by_side(ERRORS, "images", "method", cells)
    assert wide["images"].tolist() == [5, 50] and list(wide) == ["images", "bos", "ac"]
    assert wide["ac"].iloc[0] == "30.0" and pd.isna(wide["ac"].iloc[1])


def test_a_report_writes_what_it_shows(tmp_path):
    figure = figure_of(plot_curves(ERRORS, x="images", y="error", lines="method"))
    part = Table("sizes", ERRORS, ERRORS[["images", "error"]], {"error": "{:.2f}"})
    report = StudyReport("sizes", "Sizes", "What it is.", figure, [part], ["one image"])
    assert {path.name for path in report.write(tmp_path)} == {"sizes.png", "sizes.md", "sizes.csv"}
    page = (tmp_path / "sizes.md").read_text()
    assert page.startswith("# Sizes\n\nWhat it is.\n") and "| 5 | 0.20 |" in page
    assert "| 50 | – |" in page and page.endswith("Left out: one image\n")
    again = pd.read_csv(tmp_path / "sizes.csv")
    pd.testing.assert_frame_equal(again, ERRORS)


@pytest.fixture
def points():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "source": ["$a_", "_b", "<c>"] * 4,
            "kind": ["seed"] * 3 + ["sample"] * 9,
            "mAP": rng.uniform(0, 0.7, 12),
            "bos": rng.uniform(0, 1, 12),
            "flat": 0.3,
            "iou": rng.uniform(0, 1, 12),
        }
    )


def test_hostile_names_are_written_as_they_are(points):
    grid = plot_scatter_grid(points, {"bos": "R² 0.5", "flat": "–"}, target=find_target("mAP"))
    boxes = plot_boxes(points, {"bos": "left", "flat": "right"})
    for figure in (grid, boxes):
        figure.draw_without_rendering()
        (legend,) = figure.legends
        assert [text.get_text() for text in legend.get_texts()] == ["$a_", "_b", "<c>"]


def test_a_constant_has_no_line(points):
    grid = plot_scatter_grid(points, {"bos": "", "flat": ""}, target=find_target("mAP"))
    assert [len(ax.lines) for ax in grid.axes[:2]] == [1, 0]
    assert grid.axes[0].get_ylim()[1] >= 100 * points["mAP"].max()
