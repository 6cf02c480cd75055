"""Methods by name: one for each score, and a few that are composed of several."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain
from typing import Protocol

import numpy as np
from typing_extensions import Self

from autoeval.errors import InputError
from autoeval.stability.methods.linear import Bayes, BestThreshold, Constant, Fused, Linear
from autoeval.stability.methods.score_rows import Rows
from autoeval.stability.scores.base import Score, feature_names, score_of, scores

OURS = "this project"


class Method(Protocol):
    """A regressor of mAP on columns of the score table of the training sources.

    Attributes
    ----------
    features : tuple of str
        Columns that it reads.
    optional : tuple of str
        Those of them that it can do without.
    selected_ : tuple of str
        Those that it reads to predict.
    """

    features: tuple[str, ...]
    optional: tuple[str, ...]
    selected_: tuple[str, ...]

    def fit(self, rows: Rows, target: str) -> Self:
        """Fit on the rows of the training sources.

        Parameters
        ----------
        rows : Rows
            With the columns of `features`.
        target : str
            Column of the accuracy.
        """

    def predict(self, rows: Rows) -> np.ndarray:
        """Estimate `target` for each row; NaN where a feature is not finite.

        Parameters
        ----------
        rows : Rows
            N rows with the columns of `selected_`.

        Returns
        -------
        ndarray of shape (N,)
            Not clipped.
        """


def readable(method: Method, columns: Container[str]) -> tuple[str, ...]:
    """Return the columns that a method reads: those it needs, and of the others what there is.

    Parameters
    ----------
    method : Method
        Fitted or not.
    columns : collection of str
        Those that there are.
    """
    return tuple(n for n in method.features if n in columns or n not in method.optional)


@dataclass(frozen=True)
class NamedMethod:
    """A method with a name.

    Parameters
    ----------
    make : callable
        Makes it, unfitted.
    meaning : str
        What it regresses on, in a few words.
    published : bool
        Whether it is to be beaten: a published method, or a constant.
    compared : bool
        Whether a comparison of all methods shows it.
    """

    make: Callable[[], Method]
    meaning: str
    published: bool = True
    compared: bool = True


COMPOSED = {
    "constant": NamedMethod(Constant, "mean of the training sources, whatever the scores"),
    "median": NamedMethod(
        partial(Constant, np.median), "median of the training sources", compared=False
    ),
    "pcr": NamedMethod(
        partial(Linear, "pcr_consistency", "pcr_reliability"),
        "what suppressed candidates say, consistency and reliability together",
    ),
    "bos_ps": NamedMethod(
        partial(BestThreshold, feature_names("ps"), "bos"), "box stability with prediction score"
    ),
    "bayes": NamedMethod(
        Bayes,
        "Bayesian regression on confidence and agreement, every site and category counts",
        published=False,
    ),
    "fused": NamedMethod(
        Fused, "ridge regression on confidence and agreement, no slope negative", published=False
    ),
    # Boxes count from .3 on, as in `autoeval.counting.label_free`.
    **{
        name: NamedMethod(
            partial(Linear, f"{name}@0.30"), "stability of counts", published=False, compared=False
        )
        for name in ("count_stability", "count_stability_pooled")
    },
}


def methods() -> dict[str, NamedMethod]:
    """Return all methods by name: those of single scores, then the composed ones.

    A score gives a method for each name before the ``@`` of its features: least squares on the
    feature, at the best threshold where there are several.
    """
    by_score = chain.from_iterable(_methods_of(score) for score in scores().values())
    return {**dict(by_score), **COMPOSED}


def compared_methods() -> tuple[str, ...]:
    """Return the methods of a comparison: the composed ones, and one for each score.

    Left out are scores of which nobody says how they go with accuracy.
    """
    return tuple(name for name, method in methods().items() if method.compared)


def make_method(name: str) -> Method:
    """Make an unfitted method.

    Parameters
    ----------
    name : str
        Out of `methods`, a single feature of a score, such as ``ps@0.95``, or several scores and
        features joined by ``+``, such as ``bos+es``: least squares on them together.

    Raises
    ------
    InputError
        If there is no such method.

    Examples
    --------
    >>> make_method("ps@0.95").features, len(make_method("bos+es").features)
    (('ps@0.95',), 21)
    """
    registered = methods()
    if name in registered:
        return registered[name].make()
    if score_of(name) is not None:
        return Linear(name)
    families = [_columns(part) for part in name.split("+")]
    if len(families) > 1 and all(families):
        return BestThreshold(*families)
    raise InputError(
        f"Expected a method out of {', '.join(registered)}, a feature of a score, or scores joined "
        f"by '+', but got '{name}'."
    )


def _columns(part: str) -> tuple[str, ...]:
    """Return the columns of a score by the name before their ``@``, or a feature itself."""
    features = chain.from_iterable(score.features for score in scores().values())
    columns = tuple(name for name in features if part in (name, name.partition("@")[0]))
    return columns or ((part,) if score_of(part) else ())


@cache
def _methods_of(score: type[Score]) -> tuple[tuple[str, NamedMethod], ...]:
    found = []
    for stem in dict.fromkeys(name.partition("@")[0] for name in score.features):
        family = tuple(name for name in score.features if name.partition("@")[0] == stem)
        make = partial(Linear, stem) if family == (stem,) else partial(BestThreshold, family)
        compared = stem == score.name and bool(score.features[family[0]])
        published = not score.source.startswith(OURS)
        found.append((stem, NamedMethod(make, score.meaning, published, compared)))
    return tuple(found)
