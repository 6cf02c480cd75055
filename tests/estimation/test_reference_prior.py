"""What agreement with a reference detector adds to the regression, and when it is not read."""

import re

import numpy as np
import pytest
from label_worlds import make_site
from test_bayesian_regression import pair_table

from autoeval.estimation.checks import reference_at_site, reference_of_fit
from autoeval.estimation.estimate import estimate_rows
from autoeval.estimation.fitting import fit_sets
from autoeval.model import Prior
from autoeval.model.pair_table import FEATURES, REFERENCE_FEATURES, REFERENCE_TRUE
from autoeval.model.priors import ReferencePrior, ReferenceStrength
from autoeval.model.regression import Regression
from autoeval.words import codes_of

PRIOR = ReferencePrior(start=-0.1, full=0.1, certain=0.02, narrower=0.25)


def with_reference(stronger=0.1, agreement=0.0, **options):
    """Add a reference: its accuracy over the detector's, and what it agrees over the labels."""
    table = pair_table(**options)
    agreed = np.clip(table["mAP"] + agreement, 0, 1)
    known = dict.fromkeys(REFERENCE_FEATURES, agreed)
    return table.assign(**known, **{REFERENCE_TRUE: table["mAP"] + stronger})


def strength(detector, reference, agreement):
    return ReferenceStrength(detector, reference, agreement)


@pytest.mark.parametrize(
    ("detector", "reference", "agreement", "expected"),
    [
        (0.2, 0.35, 0.2, 1.0),  # .15 over the agreement, of .1
        (0.2, 0.25, 0.25, 0.5),  # as much as it agrees: halfway from -.1 to .1
        (0.2, 0.21, 0.21, 0.25),  # the same, but only half as much stronger as would be certain
        (0.2, 0.3, 0.45, 0.0),  # it agrees far more than the labels do: the errors are shared
        (0.3, 0.3, 0.2, 0.0),  # no stronger
        (0.3, 0.2, 0.1, 0.0),  # weaker
    ],
)
def test_the_weight_by_hand(detector, reference, agreement, expected):
    assert PRIOR.weight(strength(detector, reference, agreement)) == pytest.approx(expected)
    assert PRIOR.weight(None) == 0


def test_the_prior_lies_between_what_boxes_and_what_the_reference_say():
    """By hand: boxes .2 + .1 (x - .4) / .2 + .05 for the category, the reference r, halfway."""
    boxes = Prior((0.1,), (0.4,), (0.2,), intercept=0.2, categories={"person": 0.05}, spread=0.1)
    both = PRIOR.added(boxes, 0.5, "reference_ap")
    x, r, person = 0.6, 0.5, np.array(["person"])
    of_boxes = 0.2 + 0.1 * 1 + 0.05
    assert boxes.mean(np.array([[x]]), person)[0] == pytest.approx(of_boxes)
    expected = both.mean(np.array([[x, r]]), person)
    assert expected[0] == pytest.approx(0.5 * of_boxes + 0.5 * r)
    assert both.spread == pytest.approx(0.1 * (1 - 0.25 * 0.5))
    # where the reference has no box: filled so that it moves nothing
    filled = both.mean(np.array([[x, of_boxes]]), person)
    assert filled[0] == pytest.approx(of_boxes)


def test_a_reference_that_is_stronger_is_read_and_narrows_the_interval():
    table = with_reference()
    fitted = Regression(reference_prior=PRIOR).fit(table)
    assert fitted.features_ == (*FEATURES, "reference_ap")
    assert fitted.reference_weight_ == pytest.approx(1)
    told = estimate_rows(fitted, table.iloc[[0]]).interval_method
    assert "reference detector with a weight of 1.00" in told
    asked = table.iloc[[0, 0]].assign(reference_ap=[0.2, 0.5])
    low, high = fitted.predict(asked)
    assert high.value - low.value > 0.2
    without = Regression().fit(pair_table()).predict(asked)[0]
    assert low.reach < without.reach


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"stronger": 0.0}, "no stronger than the detector .AP on the labelled images"),
        ({"stronger": 0.05, "agreement": 0.2}, "agrees with the detector more than with the lab"),
    ],
)
def test_a_reference_that_cannot_help_changes_nothing_and_is_named(options, why):
    table = with_reference(**options)
    fitted, plain = Regression().fit(table), Regression().fit(pair_table())
    assert fitted.features_ == FEATURES
    asked = table.iloc[:4]
    assert fitted.predict(asked) == plain.predict(asked)
    (warning,) = reference_of_fit(table, fitted)
    assert "--reference) is not read" in warning
    assert re.search(why, warning)


def test_a_category_in_which_it_has_no_box_is_estimated_without_it():
    """One labelled pair lacks it: the others keep it, and the estimate there is that of boxes."""
    table = with_reference()
    some = table.copy()
    some.loc[0, list(REFERENCE_FEATURES)] = np.nan
    fitted = Regression(reference_prior=PRIOR).fit(some)
    assert fitted.features_[-1] == "reference_ap"
    (warning,) = reference_of_fit(some, fitted)
    assert "no box of 1 of 24 categories, which are estimated without it: car of place0" in warning
    known, lost = fitted.predict(table.iloc[[1, 1]].assign(reference_ap=[0.4, np.nan]))
    plain = Regression().fit(pair_table()).predict(table.iloc[[1]])[0]
    assert lost.reach > 1.05 * known.reach
    assert lost.value == pytest.approx(plain.value, abs=0.05)
    rows = table.iloc[[0, 1]].assign(reference_ap=[np.nan, 0.3])
    (warning,) = reference_at_site(rows, fitted.features_)
    assert "no box of 1 of 2 categories, which are estimated without it: car" in warning
    assert not reference_at_site(rows, FEATURES)


def test_a_target_at_a_threshold_does_not_read_it():
    table = with_reference().assign(
        **{"recall@0.3": 0.5, "expected_recall@0.3": 0.4},
    )
    fitted = Regression(target="recall@0.3").fit(table)
    assert not any(name.startswith("reference") for name in fitted.features_)
    (warning,) = reference_of_fit(table, fitted)
    assert "evidence of average precision" in warning


def test_a_fit_without_a_reference_warns_of_none():
    result = fit_sets([make_site(1)], context={}).fit_result_
    assert not any("reference" in notice["code"] for notice in codes_of(result.warnings))


def precision_table(**options):
    """Pairs whose precision at .3 is known, with a stronger reference that is read at .5 or .9."""
    table = with_reference(categories=("person", "van"), **options)
    share = table["mAP"]
    return table.assign(
        **{
            "precision@0.3": 0.5 + 0.5 * share,
            "expected_precision@0.3": 0.5 + 0.5 * share,
            "reference_precision@0.3": 0.5 + 0.5 * share,
            "reference_counts": None,
            "expected_counts": None,
            "counts": None,
        }
    )


@pytest.mark.parametrize(("category", "reads"), [("person", True), ("van", False)])
def test_precision_of_persons_alone_reads_the_reference(category, reads):
    table, target = precision_table(), "precision@0.3"
    fitted = Regression(target=target, reference_prior=PRIOR).fit(table)
    assert fitted.features_[-1] == "reference_precision@0.3"
    row = table[table["category"] == category].iloc[[0, 0]]
    low, high = fitted.predict(row.assign(**{"reference_precision@0.3": [0.5, 0.9]}))
    assert (high.value - low.value > 0.1) == reads
    assert reads or low == high


@pytest.mark.parametrize("word", ["Person", "PERSON", "pedestrian", "Worker"])
def test_other_words_for_persons_change_no_precision(word):
    table, target = precision_table(), "precision@0.3"
    named = table.assign(category=table["category"].replace("person", word))
    fits = [Regression(target=target, reference_prior=PRIOR).fit(t) for t in (table, named)]
    expected, found = (fit.predict(t) for fit, t in zip(fits, (table, named), strict=True))
    values = [[t.value, t.lower, t.upper] for t in found]
    assert values == [pytest.approx([t.value, t.lower, t.upper]) for t in expected]
    assert fits[1].reads_reference(named).sum() == fits[0].reads_reference(table).sum() > 0


@pytest.mark.parametrize("target", ["recall@0.3", "f1@0.3"])
def test_recall_and_f1_read_no_reference(target):
    table = precision_table()
    measure = target.partition("@")[0]
    columns = {
        target: table["precision@0.3"],
        f"expected_{target}": table["expected_precision@0.3"],
    }
    columns[f"reference_{target}"] = 0.5
    fitted = Regression(target=target, reference_prior=PRIOR).fit(table.assign(**columns))
    assert not any(name.startswith("reference") for name in fitted.features_), measure
    (warning,) = reference_of_fit(table, fitted)
    assert "the precision of person alone" in warning


def test_without_persons_the_precision_is_as_without_a_reference():
    table = precision_table().assign(category="van")
    fitted = Regression(target="precision@0.3").fit(table)
    plain = Regression(target="precision@0.3").fit(table.drop(columns="reference_counts"))
    assert fitted.predict(table.iloc[:3]) == plain.predict(table.iloc[:3])
