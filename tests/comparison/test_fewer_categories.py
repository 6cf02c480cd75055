"""Fits on different categories are compared on those of both, and others are named."""

import json
import shutil
from pathlib import Path

import pytest
from comparison.two_detectors import site_labels, site_predictions, write_detectors

from autoeval import compare, fit, monitor, plan_labels
from autoeval.api import load_estimator
from autoeval.errors import InputError
from autoeval.estimation.given import Predictions
from autoeval.monitoring.candidate import compare_at_sites, sites_of_predictions
from autoeval.monitoring.monitored import SiteCategories

WORDS = {1: "thing 0", 2: "thing 1"}
ONE = {"thing 0": ["thing 0"]}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = write_detectors(tmp_path_factory.mktemp("fewer"))
    of_set = folder / "set_weak_predictions.json"
    fit(folder / "set.json", of_set, categories=ONE, work_dir=folder / "one")
    return folder


def compared(world, *names, **more):
    files = site_predictions(world, "strong", "weak")
    fits = {name: world / name for name in names}
    return compare(fits, files, images=site_labels(world), **more)


def codes(result):
    return [warning.code for warning in result.warnings]


@pytest.mark.parametrize("labelled", [False, True])
def test_a_fit_on_fewer_categories_is_compared_on_these_alone(world, labelled):
    labels = site_labels(world) if labelled else None
    result = compared(world, "strong", "one", labels=labels)
    assert set(result.pairs["category"]) == {"thing 0"}
    (left_out,) = [w for w in result.warnings if w.code == "category-not-common"]
    assert "one" in left_out and "thing 1" in left_out
    if labelled:  # of all images: the fits do not matter
        both = compared(world, "strong", "weak", labels=labels)
        of_both = both.per_category["thing 0"]["value"]
        assert result.value == pytest.approx(of_both, abs=1e-12)
        with pytest.raises(InputError, match="same categories"):
            result.gate(0.02, "strong")  # what became of "thing 1"?


def test_the_order_of_two_fits_does_not_decide_what_is_compared(world):
    files = site_predictions(world, "weak", "strong")
    fits = {name: world / name for name in ("one", "strong")}
    labels = site_labels(world)
    result = compare(fits, files, images=labels, labels=labels)
    assert set(result.pairs["category"]) == {"thing 0"}
    assert "category-not-common" in codes(result) and "category-not-known" not in codes(result)


def test_fits_on_the_same_categories_leave_none_out(world):
    assert "category-not-common" not in codes(compared(world, "strong", "weak"))
    chosen = compared(world, "strong", "one", categories=ONE, labels=site_labels(world))
    assert "category-not-common" not in codes(chosen)
    assert chosen.gate(0.02, "strong").outcome == "passed"  # it was said which categories count


def test_nothing_in_common_is_refused(world, tmp_path):
    other = {"thing 1": ["thing 1"]}
    fit(
        world / "set.json",
        world / "set_strong_predictions.json",
        categories=other,
        work_dir=tmp_path,
    )
    with pytest.raises(InputError, match="no category in common"):
        compare([tmp_path, world / "one"], site_predictions(world), images=site_labels(world))


def test_a_plan_for_two_fits_and_a_monitor_name_them_too(world, tmp_path):
    strong, weak = site_predictions(world)
    plan = plan_labels(
        world / "strong",
        strong,
        images=site_labels(world),
        compare=world / "one",
        compare_predictions=weak,
    )
    assert "category-not-common" in codes(plan)
    for name, path in (("a", strong), ("b", weak)):
        (tmp_path / name).mkdir()
        shutil.copy(path, tmp_path / name / "gate.json")
    fits = [load_estimator(world / name) for name in ("strong", "one")]
    given = Predictions(tmp_path / "a")
    sites, _ = sites_of_predictions(*fits, given, tmp_path / "b", SiteCategories(()))
    _, warnings = compare_at_sites(*fits, sites)
    named = [(w.code, w.partition(":")[0]) for w in warnings]
    assert named == [("category-not-common", "gate"), ("image-sizes-unknown", "gate")]


@pytest.fixture
def numbered(world, tmp_path):
    """The boxes of both detectors with numbers that count otherwise than in the fits."""
    names = ["thing 1", "thing 0"]
    for folder, path in zip("ab", site_predictions(world), strict=True):
        rows = json.loads(Path(path).read_text())
        for row in rows:
            row["category_id"] = names.index(row.pop("category", None) or WORDS[row["category_id"]])
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "gate.json").write_text(json.dumps(rows))
    (tmp_path / "names.txt").write_text("\n".join(names))
    return tmp_path


def test_a_plan_reads_the_numbers_of_both_detectors_by_the_names_that_are_given(world, numbered):
    first, second = site_predictions(world)
    more = {"images": site_labels(world), "compare": world / "weak", "n": 20, "seed": 3}
    right = plan_labels(world / "strong", first, compare_predictions=second, **more)
    first, second = (numbered / folder / "gate.json" for folder in "ab")
    more["names"] = numbered / "names.txt"
    plan = plan_labels(world / "strong", first, compare_predictions=second, **more)
    assert list(plan.drawn) == list(right.drawn)
    assert plan.difference.prior.value == pytest.approx(right.difference.prior.value, abs=1e-9)


def test_a_monitor_reads_the_numbers_of_both_detectors_by_the_names_that_are_given(world, numbered):
    images = numbered / "images"
    images.mkdir()
    shutil.copy(site_labels(world), images / "gate.json")
    monitored = monitor(
        world / "strong",
        numbered / "a",
        images=images,
        names=numbered / "names.txt",
        against=world / "weak",
        against_predictions=numbered / "b",
        work_dir=numbered / "work",
    )
    (row,) = monitored.candidate[0].to_dict("records")
    right = compared(world, "strong", "weak")
    assert row["difference"] == pytest.approx(-right.value, abs=1e-9)
    assert row["upper"] == pytest.approx(-right.lower, abs=1e-9)


def test_a_detector_without_a_box_of_a_category_is_as_accurate_as_is_estimated(world):
    """Of a category that the other one finds: it counts for both, and is 0 for one of them."""
    strong, weak = (
        json.loads(Path(path).read_text()) for path in site_predictions(world, "strong", "weak")
    )
    weak = [row for row in weak if WORDS[row["category_id"]] != "thing 1"]
    fits = {name: world / name for name in ("strong", "weak")}
    result = compare(fits, [strong, weak], images=site_labels(world))
    estimates = [
        load_estimator(world / name).predict(boxes, images=site_labels(world), present=["thing 1"])
        for name, boxes in (("strong", strong), ("weak", weak))
    ]
    assert estimates[1].per_category["thing 1"]["value"] == 0
    values = [estimate.value for estimate in estimates]
    assert result.ranking["value"].mean() == pytest.approx(sum(values) / 2)
    # 0 is known of one, so that the difference is the other's estimate, with its interval
    difference, alone = result.per_category["thing 1"], estimates[0].per_category["thing 1"]
    for end in ("value", "lower", "upper"):
        assert difference[end] == pytest.approx(alone[end], abs=1e-9)
