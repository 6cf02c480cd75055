"""What the prior knows of a category does not depend on which of its words is used."""

import pytest

from autoeval.estimation.estimate import estimate_rows
from autoeval.model.regression import Regression
from tests.estimation.test_bayesian_regression import pair_table


def estimate_of(word):
    table = pair_table()
    table["category"] = table["category"].replace(dict.fromkeys(set(table["category"]), "car"))
    fitted = Regression().fit(table)
    return estimate_rows(fitted, table.iloc[:1].assign(category=word, kind="seed"))


@pytest.mark.parametrize("word", ["people", "Pedestrian", "human", "PERSON"])
def test_synonyms_of_person_have_its_estimate(word):
    estimate, person = estimate_of(word), estimate_of("person")
    assert estimate.value == person.value < estimate_of("crane").value - 0.005
    assert list(estimate.category_effects) == [word] and estimate.category_effects[word] < 0


def test_a_category_that_the_prior_does_not_know_has_no_effect():
    assert estimate_of("crane").category_effects == {}
