"""The scores by name, and what is known of the columns that they fill.

A score registers itself when its file is imported; all files of this package are. A score of your
own registers in the same way, from wherever it is imported before the pass.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Mapping
from functools import cache
from types import MappingProxyType
from typing import TypeVar

from autoeval.stability.scores.base import Direction, Score

PACKAGE = "autoeval.stability.scores"
S = TypeVar("S", bound=type[Score])
DECLARED = ("name", "meaning", "features", "source")

_SCORES: dict[str, type[Score]] = {}
_BY_FEATURE: dict[str, type[Score]] = {}


def register(score: S) -> S:
    """Make a score known; a class decorator."""
    missing = [field for field in DECLARED if field not in vars(score)]
    if missing:
        raise TypeError(f"The score {score.__name__} does not declare {', '.join(missing)}.")
    taken = {score.name} & _SCORES.keys() | score.features.keys() & _BY_FEATURE.keys()
    if taken:
        raise ValueError(f"Another score is already called {', '.join(sorted(taken))}.")
    _SCORES[score.name] = score
    _BY_FEATURE.update(dict.fromkeys(score.features, score))
    return score


def scores() -> Mapping[str, type[Score]]:
    """Return every score by its name, in alphabetical order."""
    _import_all()
    return MappingProxyType(dict(sorted(_SCORES.items())))


def score_of(feature: str) -> type[Score] | None:
    """Return the score that fills a column; None for a column that no score is known to fill.

    >>> score_of("ps@0.95").name, score_of("no_box_share/car").name, score_of("mAP")
    ('ps', 'box_count', None)
    """
    name = feature.partition("/")[0]
    _import_all()
    return _BY_FEATURE.get(name)


def direction_of(feature: str) -> Direction:
    """Say which way a column goes when accuracy rises; unknown for one that no score fills."""
    score = score_of(feature)
    return score.features[feature.partition("/")[0]] if score else Direction.UNKNOWN


def needs_of(features: Iterable[str]) -> frozenset[str]:
    """Return the fields of `Evidence` that some columns take, beside the clean boxes.

    >>> sorted(needs_of(["ac", "bos", "hard_reference_ap@0.30"]))
    ['perturbed', 'reference']
    """
    scores = [score for score in map(score_of, features) if score]
    return frozenset().union(*(score.needs for score in scores))


def of_domain(features: Iterable[str]) -> list[str]:
    """Return those columns that compare with the detector's training domain, sorted."""
    return sorted(f for f in features if (score := score_of(f)) and score.needs_domain)


def revisions() -> dict[str, int]:
    """Return the revision of every score; rows made with other ones are made again."""
    return {name: score.revision for name, score in scores().items()}


@cache
def _import_all() -> None:
    for module in pkgutil.iter_modules(importlib.import_module(PACKAGE).__path__):
        importlib.import_module(f"{PACKAGE}.{module.name}")
