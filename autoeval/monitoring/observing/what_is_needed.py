"""What an estimator needs of the images of many sites, and which estimators can be used there."""

from __future__ import annotations

from autoeval.errors import InputError
from autoeval.estimation.bayesian_regression import DEFAULT_METHOD, BayesianRegression
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.site import Categories
from autoeval.scores.registry import needs_of

HALF = "half_size"


def needed_passes(estimator: AccuracyEstimator) -> frozenset[str]:
    """Return the passes beside the plain one that an estimator reads: none, or that at half size.

    Raises
    ------
    InputError
        If the estimator is of another method than ``bayes``, the only one that models how errors
        of sites depend on each other, or reads a pass that is not kept of each image.
    """
    if not isinstance(estimator.regression_, BayesianRegression):
        raise InputError(
            f"Expected an estimator of the method '{DEFAULT_METHOD}', the default, but this one is "
            f"of '{estimator.method}': it does not model how the errors of several sites depend on "
            "each other. Fit again without --method."
        )
    needed = needs_of(estimator.regression_.features_)
    if more := sorted(needed - {HALF, "clean"}):
        raise InputError(
            f"This estimator needs {', '.join(more)} of each image, and of the images of sites "
            "only the boxes at full and at half the input size are kept. Fit without it."
        )
    return frozenset(needed - {"clean"})


def expected_categories(estimator: AccuracyEstimator, categories: Categories | None) -> Categories:
    """Return the categories to expect in all images: those given, else those of the task.

    Parameters
    ----------
    estimator : AccuracyEstimator
    categories : mapping of str to sequence of str, optional
        Each with the detector's words for it. An estimator of a labelled set needs them.

    Raises
    ------
    InputError
        If there are none.
    """
    categories = categories or estimator.expected_categories_
    if categories is None:
        raise InputError(
            "This estimator was fitted on the categories of a labelled set: name with "
            "--category those to expect at these sites, such as --category car=car,truck."
        )
    return categories
