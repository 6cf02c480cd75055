"""The accuracy of a category is estimated by the scores of that category."""

import numpy as np
import pandas as pd
import pytest

from autoeval.errors import InputError
from autoeval.stability.reports.errors_by_size import meta_set_size_report, repeats_report
from autoeval.stability.reports.method_comparison import compare_methods
from autoeval.stability.reports.score_correlation import fusion_report


def table_of_two_categories():
    """A table whose scores of a category are twice its mAP, whatever those of both together."""
    rng, rows = np.random.default_rng(0), []
    for source, own in enumerate((0.3, 0.4, 0.5, 0.6)):
        for number in range(4):
            car, van = own - 0.05 * number, rng.uniform(0.1, 0.9)
            of_car, of_van = ({"bos": 2 * value, "mAP": value} for value in (car, van))
            row = {"source": f"s{source}", "sample_set": str(number), "n_images": 60}
            row |= {"kind": "sample" if number else "seed", "bos": 0.1 * number}
            row |= {"mAP": (car + van) / 2} | {f"{name}/car": v for name, v in of_car.items()}
            row |= {f"{name}/van": value for name, value in of_van.items()}
            rows += [{**row, "repeat": repeat} for repeat in range(2)]
    return pd.DataFrame(rows)


@pytest.mark.parametrize("target", ["mAP/car", "mAP/van"])
def test_scores_are_those_of_the_category(target):
    table = table_of_two_categories()
    compared = compare_methods({"t": table}, ["bos", "constant"], target=target)
    errors = compared.tables["t"].set_index("method")["mean abs. error"]
    assert errors["bos"] == pytest.approx(0, abs=1e-9) and errors["constant"] > 1
    fused = fusion_report(table, methods=["bos"], target=target)
    sized = meta_set_size_report(table, methods=["bos"], target=target, draws=1)
    repeated = repeats_report(table, methods=["bos"], target=target)
    for report in (fused, sized, repeated):
        assert report.parts[0].table["error"].to_numpy() == pytest.approx(0, abs=1e-9)


def test_sources_without_the_category_are_not_counted():
    table = table_of_two_categories()
    table["mAP/van"] = table["mAP/van"].mask(table["source"] == "s0")
    compared = compare_methods({"t": table}, ["bos"], target="mAP/van")
    assert "3 sources, 9 sample sets, 2 dropout repeats" in compared.text
    assert {"s1", "s2", "s3"} <= set(compared.tables["t"]) and "s0" not in compared.tables["t"]


def test_a_category_that_is_not_there_is_named():
    with pytest.raises(InputError, match="mAP/ghost"):
        compare_methods({"t": table_of_two_categories()}, ["bos"], target="mAP/ghost")
