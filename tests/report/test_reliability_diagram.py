"""The reliability diagram on the page of a fit, and the figures behind it."""

import json

import numpy as np
import pandas as pd
import pytest
from chromium import LAPTOP, Visit, chromium
from scipy.stats import norm

from autoeval.cli import main
from autoeval.estimation.calibrating import calibration_error, reliability_bins
from tests.estimation.test_known_site import write_coco

pytestmark = pytest.mark.usefixtures("drawn")


def test_boxes_are_counted_by_tenths_of_the_predicted_probability():
    predicted = np.array([0.05, 0.07, 0.5, 0.52, 0.58, 1.0])
    bins = reliability_bins(predicted, np.array([False, True, False, True, True, True]))
    np.testing.assert_allclose(bins["predicted"], [0.06, 1.6 / 3, 1.0])
    np.testing.assert_allclose(bins["observed"], [1 / 2, 2 / 3, 1])
    assert bins["n"].tolist() == [2, 3, 1]
    z = norm.ppf(0.95)  # Wilson's interval of one in two is symmetric about a half
    half = z / (2 * (2 + z**2)) * np.sqrt(2 + z**2)
    assert bins["upper"][0] - 0.5 == pytest.approx(half) == 0.5 - bins["lower"][0]
    expected = (2 * abs(0.06 - 0.5) + 3 * abs(1.6 / 3 - 2 / 3) + 0) / 6
    assert calibration_error(bins) == pytest.approx(expected)


@pytest.mark.rare
def test_a_fit_shows_it_on_its_page_and_beside(tmp_path, capsys):
    labels, found = write_coco(tmp_path, 0)
    out = tmp_path / "out"
    shell = ["fit", "--labels", labels, "--predictions", found, "--work-dir", out]
    assert main([*map(str, shell), "--verbose"]) == 0
    said = capsys.readouterr().out
    errors = json.loads((out / "result.json").read_text())["calibration_error"]
    assert f"{errors['calibrated']:.3f} calibrated" in said
    bins = pd.read_csv(out / "report" / "reliability.csv")
    assert set(bins["scale"]) == set(errors) and bins["n"].sum() == 2 * 600
    assert errors["calibrated"] < errors["confidence itself"]  # half of those over .25 are labelled
    assert (out / "report" / "reliability.png").stat().st_size > 5000
    with chromium() as browser:
        visit = Visit(browser, out / "report.html", viewport=LAPTOP)
        assert any("right as often as predicted" in text for text in visit.texts("h2"))
        assert not visit.complaints
        figure = visit.page.locator("figure", has_text="if confidences were taken").first
        box = figure.bounding_box()
        assert box["width"] > 300 and box["height"] > 150
        figure.screenshot(path=str(tmp_path / "seen.png"))
