"""What the study of passes fits on, counts and refuses."""

import pytest

from autoeval.errors import InputError
from autoeval.results.studies.errors_by_size import passes_report
from autoeval.studies.passes_spent import errors_by_passes
from autoeval.studies.transfer import families_left_out, figures
from tests.estimation.test_estimates_of_pairs import score_table


def with_half_size():
    table = score_table(n=12)
    return table.assign(**{"scale_ap@0.30": table["atc@0.30"]}, mAP=score_table(n=12)["atc@0.30"])


def test_passes_are_counted_and_without_sample_sets_it_is_the_families_left_out():
    table = with_half_size()
    table.loc[table["kind"] == "sample", "n_images"] = 50
    found = errors_by_passes(table, (0, 1, 9)).set_index(["evidence", "n_sets"])
    # 100 own images and 50 transformed ones of each source; half the size costs a quarter
    assert found["passes"].to_dict() == {
        ("boxes", 0): 1.0,
        ("and half size", 0): 1.25,
        ("boxes", 1): 1.5,
        ("and half size", 1): 1.875,
    }
    own = table[table["kind"] == "seed"].assign(category="all")
    plain = figures(families_left_out(own))
    assert found.loc[("and half size", 0), "error"] == pytest.approx(plain["error"])


def test_a_place_of_a_category_is_evaluated_as_one_of_it():
    """Places of one category share its effect; those of an unknown one would not."""
    table = with_half_size().assign(category="car")
    own = table[table["kind"] == "seed"]
    found = errors_by_passes(table, (0, 1)).query("n_sets == 0").set_index("evidence")
    plain = figures(families_left_out(own))
    assert found.loc["and half size", "half_width"] == pytest.approx(plain["half_width"])


def test_sample_sets_of_a_family_never_evaluates_it():
    """Of two families the one whose sample sets are absurd misleads the other alone."""
    table = with_half_size()
    table = table[table["family"].isin(["family0", "family1"])]
    odd = (table["kind"] == "sample") & (table["family"] == "family0")
    ten = table.assign(mAP=table["mAP"].where(~odd, 1.0))
    both = ten.assign(mAP=ten["mAP"].where(ten["kind"] == "seed", 1.0))
    plain, one, two = (errors_by_passes(t, (0, 1)).query("n_sets == 1") for t in (table, ten, both))
    assert (one["error"] > plain["error"]).all() and (two["error"] > one["error"]).all()


def test_the_report_and_a_table_that_tells_nothing():
    report = passes_report(with_half_size(), sizes=(0, 1))
    assert list(report.parts[0].table["n_sets"]) == [0, 0, 1, 1]
    alone = score_table(n=8).query("kind == 'seed'")
    with pytest.raises(InputError, match="--n-sets 5"):
        errors_by_passes(alone)
