import math

import numpy as np
import pandas as pd
import pytest
from label_worlds import make_site

from autoeval.accuracy.measures import find_target
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.fitting import fit_sets
from autoeval.estimation.protocol import FitResult, LeaveOneSourceOut
from autoeval.report.fit import (
    BY_CATEGORY,
    error_figures,
    evaluation_blocks,
    fit_text,
    fit_values,
    held_out_tables,
    method_rows,
)
from autoeval.report.page import format_cells
from autoeval.words import codes_of

RESULTS = pd.DataFrame(
    {
        "source": ["harbour", "ring road"],
        "n_images": [40, 7],
        "true": [0.5, 0.2],
        "estimate": [0.4, 0.25],
        "std": 0.0,
        "error": [0.1, 0.05],
        "lower": [0.15, math.nan],
        "upper": [0.6, math.nan],
        "missing": False,
    }
)
SUMMARY = {
    "method": "bos",
    "mean_absolute_error": 0.075,
    "std": 0.01,
    "pooled_rmse": 0.08,
    "r2": 0.5,
    "spearman": 1.0,
    "coverage": 0.5,
    "width": 0.45,
}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mAP", ["50.0", "40.0", "15.0 to 60.0", "10.0", "7.5"]),  # points of 100
        ("count_mae", ["0.50", "0.40", "0.15 to 0.60", "0.10", "0.08"]),  # objects, as they are
    ],
)
def test_values_are_shown_in_the_unit_of_the_target(name, expected):
    result = LeaveOneSourceOut("bos", name, RESULTS, np.array([0.075]), {})
    _, table = held_out_tables(FitResult(RESULTS, (result,)))
    shown = format_cells(table.shown, table.formats)
    columns = [f"true {name}", "bos", "interval", "error bos"]
    assert [*shown.loc[0, columns], shown["error bos"].iloc[-1]] == expected
    assert shown["interval"].tolist()[1:] == ["–", "–"]  # no interval, and none of the mean


def test_shares_and_correlations_have_no_unit():
    points, objects = (method_rows([SUMMARY], find_target(n)).loc[0] for n in ("mAP", "count_mae"))
    assert points["interval width"] == pytest.approx(45) and objects["interval width"] == 0.45
    assert points["coverage %"] == objects["coverage %"] == 50
    assert points["R²"] == objects["R²"] == 0.5


def test_sources_without_an_estimate_are_counted_where_there_are_any():
    assert "no estimate" not in method_rows([SUMMARY], find_target("mAP"))
    table = method_rows([SUMMARY, {**SUMMARY, "missing": 2}], find_target("mAP"))
    assert table["no estimate"].tolist() == [0, 2]


def test_a_saved_fit_knows_the_errors_that_it_printed(tmp_path):
    """Its page said that too little was left out, where categories of one site were."""
    site = make_site(1, n_objects=4.0, categories=("car", "bus", "van", "bike"))
    fitted = fit_sets([site], context={})
    fitted.save(tmp_path / "estimator.parquet")
    loaded = AccuracyEstimator.load(tmp_path)
    rows = fitted.fit_result_.cross_validation[0].per_source
    error = float((rows["estimate"] - rows["true"]).abs().mean())
    held_out = loaded.held_out_
    assert (held_out.n, held_out.by_category, held_out.target) == (4, True, "mAP")
    assert held_out.mean_absolute_error == pytest.approx(error)
    heading, warning, *shown = evaluation_blocks(loaded)
    assert "categories" in heading.text and warning.warnings == [BY_CATEGORY]
    assert [figure.value for figure in shown[:1]] == [f"{100 * error:.1f}"]
    assert shown == error_figures(fitted.held_out_)
    captions = [table.caption for table in held_out_tables(fitted.fit_result_)]
    assert all("categories" in caption and "sites" not in caption for caption in captions)


def test_the_json_of_a_fit_has_every_warning_that_its_text_prints():
    """That errors are those of categories of one site was printed and not in ``result.json``."""
    fitted = fit_sets([make_site(1, n_objects=4.0, categories=("car", "bus", "van"))], context={})
    values = fit_values(fitted)
    assert BY_CATEGORY in values["warnings"]
    assert codes_of([BY_CATEGORY])[0] in values["warning_codes"]
    printed = fit_text(fitted)
    assert all(warning["text"] in printed for warning in values["warning_codes"])
