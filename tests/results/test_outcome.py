"""The report of a saved estimator, which has no held-out table of its own."""

import pytest
from rectangles import RectangleDetector
from test_plotted_scores import score_table

from autoeval.estimation.estimator import MapEstimator
from autoeval.estimation.presets import preset
from autoeval.results.outcome import Outcome


@pytest.mark.parametrize(
    ("sources", "said"),
    [
        ("ab", "fitted on fewer than three sources: its error on a new source is not known."),
        # mAP is exactly linear in bos
        ("abc", "missed the mAP of its 3 sources by 0.0 (points of 100) on average"),
    ],
)
def test_a_saved_estimator_says_what_is_known_of_its_error(sources, said, tmp_path):
    estimator = MapEstimator("bos").fit(score_table(*sources))
    outcome = Outcome("d", RectangleDetector(), "t", preset("paper"), estimator)
    page, folder, result = outcome.write(tmp_path, tmp_path / "elsewhere" / "page.html")
    assert said in page.read_text()
    assert page == tmp_path / "elsewhere" / "page.html" and folder == page.with_suffix("")
    assert (folder / "scatter.png").is_file() and result == tmp_path / "result.json"
