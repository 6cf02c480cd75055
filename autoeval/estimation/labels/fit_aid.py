"""Fitting what a few labels elsewhere are helped by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import nnls

from autoeval.errors import InputError
from autoeval.estimation.labels.aid import LabelAid, Mix
from autoeval.estimation.labels.box_model import (
    LinearPredictors,
    fit_missed,
    fit_right,
    image_features,
)
from autoeval.estimation.labels.box_model import probability_right as probability
from autoeval.estimation.labels.optimism import fit_optimism
from autoeval.estimation.labels.places import (
    LabelledPlace,
    excess_of_small_sets,
    true_influence,
)
from autoeval.estimation.labels.proxies import MODEL, PSEUDO, SoftLabels, proxies_of
from autoeval.estimation.labels.spread import Spread, fit_spread
from autoeval.metrics.by_category import match_categories

MOST_BOXES = 1000  # of a place, drawn by a seed
RIDGE = 0.02  # relative to the variance that predictions explain
FOLDS = 4
FEWEST_PLACES = 2


@dataclass(frozen=True, eq=False)
class Piece:
    """One category of one place: its true influence, beside predictions that have not seen it.

    Parameters
    ----------
    name, family : str
    true : ndarray of shape (N,)
    predicted : dict of str to ndarray of shape (N,)
    excess : tuple of float
        See `excess_of_small_sets`.
    """

    name: str
    family: str
    true: np.ndarray
    predicted: dict[str, np.ndarray]
    excess: tuple[float, float]


class Lesson:
    """A labelled place with what a fit takes from it, worked out once.

    Parameters
    ----------
    place : LabelledPlace
    """

    def __init__(self, place: LabelledPlace) -> None:
        self.place = place

    @cached_property
    def boxes(self) -> tuple[np.ndarray, np.ndarray]:
        """Features (n, F) of at most `MOST_BOXES` boxes, and which are right (10, n)."""
        pool, truth = self.place.pool, self.place.truth
        right, ignored = match_categories(pool.found, truth)
        usable = np.flatnonzero(~ignored[0])
        if len(usable) > MOST_BOXES:
            usable = np.random.default_rng(0).choice(usable, MOST_BOXES, replace=False)
        return pool.features[usable], right[:, usable]

    @cached_property
    def excess(self) -> list[tuple[float, float]]:
        """Of each known category; see `excess_of_small_sets`."""
        rankings = self.place.rankings
        return [excess_of_small_sets(rankings[k]) for k in self.place.known_categories()]

    def pieces(self, soft: SoftLabels) -> list[Piece]:
        """Predict its influence by soft labels that were fitted without it."""
        place = self.place
        proxies = proxies_of(place.pool, soft, place.pseudo_labels)
        return [
            Piece(
                f"{place.name}/{place.truth.categories[k]}",
                place.family,
                true_influence(place.rankings[k]),
                {name: value.mean(axis=0) for name, value in proxies[k].items()},
                excess,
            )
            for k, excess in zip(place.known_categories(), self.excess, strict=True)
        ]


def fit_aid(places: Sequence[LabelledPlace] | Sequence[Lesson]) -> LabelAid:
    """Fit the model of boxes on all places, and its use on places that it has not seen.

    For the second, families are divided into `FOLDS` parts and each is predicted by a model of the
    others.

    Parameters
    ----------
    places : sequence of LabelledPlace
        Of two families or more.

    Raises
    ------
    InputError
        If fewer than two families have labels enough.
    """
    lessons = [p if isinstance(p, Lesson) else Lesson(p) for p in places]
    lessons = [lesson for lesson in lessons if lesson.excess]
    families = sorted({lesson.place.family for lesson in lessons})
    if len(families) < FEWEST_PLACES:
        raise InputError(
            f"Expected labelled places of at least {FEWEST_PLACES} families, with 20 images and 10 "
            f"boxes each, to learn how boxes go wrong, but got {len(families)}."
        )
    pieces = []
    for fold in range(min(FOLDS, len(families))):
        own = set(families[fold::FOLDS])
        soft = fit_soft([lesson for lesson in lessons if lesson.place.family not in own])
        pieces += [
            p for lesson in lessons if lesson.place.family in own for p in lesson.pieces(soft)
        ]
    return LabelAid(
        fit_soft(lessons),
        mixes_of(pieces),
        fit_optimism([p.excess for p in pieces], [p.family for p in pieces]),
        tuple(lesson.place.name for lesson in lessons),
    )


def fit_soft(lessons: Sequence[Lesson]) -> SoftLabels:
    """Fit the model of boxes and that of missed objects."""
    names = lessons[0].place.pool.names
    features = np.concatenate([lesson.boxes[0] for lesson in lessons])
    right = np.concatenate([lesson.boxes[1] for lesson in lessons], axis=1)
    sizes = np.array([len(lesson.boxes[0]) for lesson in lessons])
    weights = np.repeat(1 / np.sqrt(np.maximum(sizes, 1)), sizes)
    model = fit_right(features, right, weights / weights.mean())
    rows = [row for lesson in lessons for row in _images(lesson.place, model)]
    described, missed, share = (np.concatenate(part) for part in zip(*rows, strict=True))
    return SoftLabels(names, model, fit_missed(described, missed, share / share.mean()))


def mixes_of(pieces: Sequence[Piece]) -> dict[str, Mix]:
    """Fit how predictions are added up, with that of pseudo-labels where all places have some."""
    mixes = {MODEL: mix_of(pieces, (MODEL,))}
    if all(PSEUDO in piece.predicted for piece in pieces):
        mixes[PSEUDO] = mix_of(pieces, (MODEL, PSEUDO))
    return mixes


def mix_of(pieces: Sequence[Piece], names: tuple[str, ...]) -> Mix:
    """Fit slopes by a ridge regression without negative slopes, each place with the same weight."""
    pieces = [p for p in pieces if p.true.var() > 0 and p.predicted[names[0]].var() > 0]
    x = np.concatenate([_scaled(np.stack([p.predicted[n] for n in names], 1), p) for p in pieces])
    y = np.concatenate([_scaled(p.true, p) for p in pieces])
    penalty = np.sqrt(RIDGE * np.mean(np.sum(x**2, axis=0))) * np.eye(len(names))
    found, _ = nnls(np.vstack([x, penalty]), np.append(y, np.zeros(len(names))))
    slopes = dict(zip(names, map(float, found), strict=True))
    mixed = [found @ np.stack([p.predicted[name] for name in names]) for p in pieces]
    rests = [p.true - own for p, own in zip(pieces, mixed, strict=True)]
    trues = [p.true for p in pieces]
    return Mix(
        slopes,
        _relative(rests, mixed),
        _relative(trues, mixed),
        float(np.mean([np.corrcoef(t, m)[0, 1] for t, m in zip(trues, mixed, strict=True)])),
    )


def _scaled(values: np.ndarray, piece: Piece) -> np.ndarray:
    """Give each place the same weight, whether its influence or what was predicted is large."""
    size = piece.true.var() + piece.predicted[MODEL].var()
    return values / np.sqrt(size * len(piece.true))


def _relative(values: Sequence[np.ndarray], mixed: Sequence[np.ndarray]) -> Spread:
    ratios = [v.var(ddof=1) / m.var(ddof=1) for v, m in zip(values, mixed, strict=True)]
    return fit_spread(ratios, float(np.mean([_noise(v) for v in values])))


def _noise(values: np.ndarray) -> float:
    """Variance of the logarithm of a sample variance, by the fourth moment."""
    centred = values - values.mean()
    return float((np.mean(centred**4) / np.mean(centred**2) ** 2 - 1) / len(values))


def _images(
    place: LabelledPlace, model: LinearPredictors
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Features, missed objects and weights of the images of each known category."""
    found, rows = place.pool.found, []
    right = probability(model, place.pool.features)
    for k in place.known_categories():
        mine, ranking = found.label == k, place.rankings[k]
        hits = np.bincount(ranking.image, ranking.hits[0], minlength=len(ranking))
        missed = np.maximum(ranking.n_true - hits, 0)
        columns = (right[0, mine], found.scores[mine], found.image[mine], len(ranking))
        share = np.full(len(ranking), 1 / (1 + missed.mean()))
        rows.append((image_features(*columns), missed, share))
    return rows
