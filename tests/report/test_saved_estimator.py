"""The report of a saved estimator, which has no held-out table of its own."""

import pytest
from test_plotted_scores import score_table

from autoeval.stability.methods.published_estimator import PublishedEstimator
from autoeval.stability.reports.method_page import method_page, method_text, method_values


@pytest.mark.parametrize(
    ("sources", "said"),
    [
        ("ab", "2 sites: too few to leave one out, so the error on a new site is not known."),
        # mAP is exactly linear in bos
        ("abc", "Mean absolute error on the 3 sites when each was left out: 0.0 (points of 100)"),
    ],
)
def test_a_saved_estimator_says_what_is_known_of_its_error(sources, said, tmp_path):
    estimator = PublishedEstimator("bos").fit(score_table(*sources))
    page, folder = method_page("t", estimator).write(tmp_path / "elsewhere" / "page.html")
    assert said in page.read_text() and said in method_text(estimator)
    assert page == tmp_path / "elsewhere" / "page.html" and folder == page.with_suffix("")
    assert (folder / "scatter.png").is_file()
    assert method_values(estimator)["estimate"] is None


def test_an_estimator_tells_what_it_remembers_of_its_making():
    made_with = {
        "detector": {"weights": "w"},
        "pass": {"dropout": {"position": "after", "stages": [1, 2], "rate": 0.15}, "seed": 7},
        "task": {"name": "vehicle"},
    }
    estimator = PublishedEstimator("bos").fit(score_table(*"abc"), context=made_with)
    facts = method_values(estimator, detector="nano")["facts"]
    assert facts["detector"] == "nano" and facts["task"] == "vehicle" and facts["seed"] == "7"
    table = estimator.table_
    n_sets = table.loc[table["kind"] == "sample", "sample_set"].nunique()
    assert facts["sample sets"].startswith(f"{n_sets}, ")  # without the own images of sources
    assert facts["dropout"] == "after stages [1, 2], rate 0.15" and facts["repeats"] == "2"
    bare = method_values(PublishedEstimator("bos").fit(score_table(*"abc")))["facts"]
    assert "dropout" not in bare and bare["sources"] == "a, b, c"
