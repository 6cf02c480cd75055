"""Words of two detectors that differ by case or separators alone are one category."""

import json
import shutil
from itertools import permutations

import pytest
from commands.predicted_world import write_world
from comparison.test_labelled_values import evaluated_by_coco, text_of, values_of
from comparison.two_detectors import OF_SITE, site_labels, site_predictions, write_detectors

from autoeval import compare, fit, plan_labels
from autoeval.errors import InputError
from autoeval.estimation.given import Predictions
from autoeval.monitoring.candidate import compare_at_sites, sites_of_predictions
from autoeval.monitoring.monitored import SiteCategories

SAME = ("thing 0", "thing 1")
NAMES = ("strong", "weak", "fair")
SPELLINGS = {"strong": SAME, "weak": ("Thing_0", "thing 1"), "fair": ("THING-0", "thing 1")}
NUMBERS = ["difference", "lower", "upper", "p_better", "label_free", "carried_over"]


def with_words(path, target, words):
    """Labels, with other words for the first two categories."""
    content = json.loads(path.read_text())
    for category, word in zip(content["categories"], words, strict=False):
        category["name"] = word
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(content))
    return target


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = write_detectors(tmp_path_factory.mktemp("spellings"))
    write_world(folder, "set_fair", seed=1, skill=0.65)
    write_world(folder, "site_fair", seed=2, skill=0.65, **OF_SITE)
    return folder


@pytest.fixture(scope="module")
def fitted(world):
    """Return the fit of a detector whose words of the first two categories are these."""
    fits = {}

    def of(name, words, **options):
        key = name, words, str(options)
        if key not in fits:
            labels = with_words(world / "set.json", world / "_".join(words) / "set.json", words)
            fits[key] = fit(labels, world / f"set_{name}_predictions.json", **options)
        return fits[key]

    return of


def compared(world, fits, **options):
    return compare(fits, site_predictions(world, *fits), images=site_labels(world), **options)


def numbers(result):
    return result.pairs[NUMBERS].to_numpy()


def codes(warnings):
    return [warning.code for warning in warnings]


@pytest.mark.parametrize(  # the labels spell as the first detector does, as another, and as none
    ("names", "of_labels"),
    [(NAMES, "thing 0"), (NAMES, "Thing_0"), (NAMES[::-1], "THING 0")],
)
def test_with_all_labels_the_values_are_those_of_coco(world, fitted, tmp_path, names, of_labels):
    fits = {name: fitted(name, SPELLINGS[name]) for name in names}
    labels = with_words(site_labels(world), tmp_path / "labels.json", (of_labels, "thing 1"))
    result = compared(world, fits, labels=labels)
    expected = {name: evaluated_by_coco(labels, text_of(world, name)) for name in names}
    assert values_of(result) == pytest.approx(expected, abs=1e-6)
    assert set(result.pairs["category"]) == {of_labels, "thing 1", "all"}
    said = [w.partition(":")[0] for w in result.warnings if w.code == "words-spelt-otherwise"]
    assert said == [name for name in names if SPELLINGS[name][0] != of_labels]
    assert not {"category-not-known", "category-not-common"} & {*codes(result.warnings)}


@pytest.mark.parametrize("names", [*permutations(NAMES[:2]), NAMES, NAMES[::-1]])
def test_without_labels_the_numbers_are_those_of_equal_words(world, fitted, names):
    same = compared(world, {name: fitted(name, SAME) for name in names})
    result = compared(world, {name: fitted(name, SPELLINGS[name]) for name in names})
    assert numbers(result) == pytest.approx(numbers(same), abs=1e-12)
    assert values_of(result) == pytest.approx(values_of(same), abs=1e-12)
    assert result.pairs["category"].tolist()[0] == SPELLINGS[names[0]][0]
    assert codes(result.warnings) == ["words-spelt-otherwise"] * (len(names) - 1)


@pytest.mark.parametrize("names", permutations(NAMES))
def test_two_spellings_are_two_categories_where_one_detector_has_both(world, fitted, names):
    """Whichever is read first: the third shares none of its categories with both others."""
    both = SPELLINGS | {"fair": ("thing 0", "Thing_0")}
    with pytest.raises(InputError, match="no category in common"):
        compared(world, {name: fitted(name, both[name]) for name in names})
    two = [name for name in names if name != "weak"]
    result = compared(world, {name: fitted(name, both[name]) for name in two})
    assert set(result.pairs["category"]) == {"thing 0"}
    assert codes(result.warnings).count("category-not-common") == 2
    assert "words-spelt-otherwise" not in codes(result.warnings)


def test_words_of_labels_are_one_category_by_the_word_that_they_are_given(world, fitted):
    fits = {name: fitted(name, SPELLINGS[name]) for name in NAMES[:2]}
    words = {"thing 0": "THING 0", "thing 1": "thing 1"}
    result = compared(world, fits, labels=site_labels(world), words=words)
    expected = {name: evaluated_by_coco(site_labels(world), text_of(world, name)) for name in fits}
    assert values_of(result) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("names", permutations(NAMES[:2]))
def test_names_that_fits_were_given_are_one_category(world, fitted, names):
    given = {"strong": {word: [word] for word in SAME}}
    given["weak"] = {"Thing 0": ["thing 0"], "thing 1": ["thing 1"]}
    fits = {name: fitted(name, SAME, categories=given[name]) for name in names}
    labels = site_labels(world)
    result = compared(world, fits, labels=labels)
    expected = {name: evaluated_by_coco(labels, text_of(world, name)) for name in names}
    assert values_of(result) == pytest.approx(expected, abs=1e-6)
    alike = {name: fitted(name, SAME, categories=given["strong"]) for name in names}
    assert numbers(compared(world, fits)) == pytest.approx(numbers(compared(world, alike)))


@pytest.mark.parametrize("name", ["thing 0", "object"])
def test_the_difference_on_the_labels_is_known_where_a_category_is_given_both_words(
    world, fitted, name
):
    fits = {name: fitted(name, SPELLINGS[name]) for name in NAMES[:2]}
    categories = {name: ["thing 0", "Thing_0"], "thing 1": ["thing 1"]}
    result = compared(world, fits, categories=categories)
    same = compared(world, {name: fitted(name, SAME) for name in fits})
    known, of_same = result.pairs["carried_over"], same.pairs["carried_over"]
    assert known.tolist() == pytest.approx(of_same.tolist(), abs=1e-12)


@pytest.mark.parametrize("names", permutations(NAMES[:2]))
def test_a_plan_for_two_detectors_and_a_monitor_take_them_for_one(world, fitted, tmp_path, names):
    first, second = files = site_predictions(world, *names)
    for folder, path in zip("ab", files, strict=True):
        (tmp_path / folder).mkdir()
        shutil.copy(path, tmp_path / folder / "gate.json")
    planned, monitored = [], []
    for words in (dict.fromkeys(names, SAME), SPELLINGS):
        fits = [fitted(name, words[name]) for name in names]
        more = {"images": site_labels(world), "compare": fits[1], "compare_predictions": second}
        planned.append(plan_labels(fits[0], first, n=20, seed=3, **more))
        given = Predictions(tmp_path / "a")
        sites, _ = sites_of_predictions(*fits, given, tmp_path / "b", SiteCategories(()))
        monitored.append(compare_at_sites(*fits, sites))
    same, plan = planned
    assert list(plan.drawn) == list(same.drawn)
    assert plan.difference.prior.value == pytest.approx(same.difference.prior.value, abs=1e-12)
    assert "words-spelt-otherwise" in codes(plan.warnings)
    (of_same, _), (table, warnings) = monitored
    assert codes(warnings) == ["image-sizes-unknown"]  # of the candidate, in both ways
    assert table.iloc[0, 2:6].tolist() == pytest.approx(of_same.iloc[0, 2:6].tolist(), abs=1e-12)
