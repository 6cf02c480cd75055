"""Few labels on places where all are known: error, coverage and width, with families left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from autoeval.estimation.labels.aid import LabelAid
from autoeval.estimation.labels.assess import Drawn, FromLabels, assess, look
from autoeval.estimation.labels.draw import balanced_order
from autoeval.estimation.labels.fit_aid import Lesson, fit_aid
from autoeval.estimation.labels.places import LabelledPlace, true_influence
from autoeval.estimation.labels.sequential import BATCH, stretched
from autoeval.estimation.labels.value_with_error import ValueWithError
from autoeval.metrics.ranked_detections import RankedDetections

SIZES = (5, 10, 20, 30, 50)
FEWEST_IMAGES = 60
MOST_LABELLED = 0.8  # of a place; with more, little is left to be estimated
WANTED = (0.04, 0.06)  # half-widths to stop at


@dataclass(frozen=True, eq=False)
class Held:
    """One category of one place, and what all other families say of it.

    Parameters
    ----------
    name, category : str
    ranking : RankedDetections
        With its labels.
    predicted : ndarray of shape (N,)
        Influence of each image, predicted.
    aid : LabelAid
    pseudo_labels : bool
        Whether a second detector's boxes had a part in the prediction.
    prior : ValueWithError
        The label-free estimate with its error.
    """

    name: str
    category: str
    ranking: RankedDetections
    predicted: np.ndarray
    aid: LabelAid
    pseudo_labels: bool
    prior: ValueWithError

    @property
    def truth(self) -> float:
        """The mAP of all images."""
        return float(self.ranking.average_precision().mean())


def held_out_places(
    places: Sequence[LabelledPlace],
    priors: Mapping[tuple[str, str], ValueWithError],
    *,
    fewest: int = FEWEST_IMAGES,
) -> Iterator[Held]:
    """Prepare each place that has images enough, its family left out of all that is fitted.

    Parameters
    ----------
    places : sequence of LabelledPlace
    priors : mapping of (place, category) to ValueWithError
        Label-free estimates by regressions that have not seen the family.
    fewest : int
        Images that a place needs to be judged.
    """
    lessons = [Lesson(place) for place in places]
    for family in sorted({place.family for place in places}):
        own = [p for p in places if p.family == family and len(p.pool) >= fewest]
        if not own:
            continue
        aid = fit_aid([lesson for lesson in lessons if lesson.place.family != family])
        for place in own:
            predicted = aid.predict(place.pool, place.pseudo_labels)
            for k in place.known_categories():
                category = place.truth.categories[k]
                prior = priors.get((place.name, category))
                if prior is not None:
                    influence = predicted[k].mean(axis=0)
                    ranking = place.rankings[k]
                    helped = place.pseudo_labels is not None
                    yield Held(place.name, category, ranking, influence, aid, helped, prior)


def backtest(
    held: Sequence[Held], *, sizes: Sequence[int] = SIZES, draws: int = 200, seed: int = 0
) -> pd.DataFrame:
    """Draw labelled images again and again, by a plan and simply, and judge every estimator.

    Parameters
    ----------
    held : sequence of Held
    sizes : sequence of int
        Numbers of labels.
    draws : int
        Of each size at each place.
    seed : int

    Returns
    -------
    DataFrame
        One row a place, size and estimator (``labels``: a simple random draw and nothing else;
        ``labels, drawn by plan``; ``difference``; ``combined``): ``error`` (mean absolute),
        ``rmse``, ``bias``, ``coverage`` and ``half_width`` of nominal 90 % intervals, ``dropped``
        (share of draws in which the prior was).
    """
    rows: list[dict] = []
    for one in held:
        n_pool = len(one.ranking)
        for k in (k for k in sizes if k <= MOST_LABELLED * n_pool):
            drawn = [_draw(one, k, seed + d) for d in range(draws)]
            rows += _judged(one, k, drawn)
    return pd.DataFrame(rows)


def stopping(held: Sequence[Held], *, draws: int = 200, seed: int = 0) -> pd.DataFrame:
    """Label in batches until the combined interval is narrow enough.

    Returns
    -------
    DataFrame
        One row a place and wanted half-width: ``labels`` (mean number), ``coverage`` of the
        interval as it is at the stop, and ``corrected`` (the stop by and the coverage of the
        interval made wider; see `autoeval.estimation.labels.sequential`) with ``labels_corrected``.
    """
    rows = []
    for one in held:
        for wanted in WANTED:
            plain = [_stop(one, wanted, seed + d, correct=False) for d in range(draws)]
            wide = [_stop(one, wanted, seed + d, correct=True) for d in range(draws)]
            (labels, coverage), (more, corrected) = np.mean(plain, axis=0), np.mean(wide, axis=0)
            rows.append(
                {
                    "place": one.name,
                    "category": one.category,
                    "wanted": wanted,
                    "labels": labels,
                    "coverage": coverage,
                    "labels_corrected": more,
                    "corrected": corrected,
                }
            )
    return pd.DataFrame(rows)


def correlations(held: Sequence[Held]) -> pd.DataFrame:
    """Set the predicted influence of each place beside the true one.

    Returns
    -------
    DataFrame
        ``place``, ``category``, ``n_images``, ``mAP``, ``label_free``, ``correlation``.
    """
    return pd.DataFrame(
        [
            {
                "place": one.name,
                "category": one.category,
                "n_images": len(one.ranking),
                "mAP": one.truth,
                "label_free": one.prior.value,
                "correlation": np.corrcoef(true_influence(one.ranking), one.predicted)[0, 1],
            }
            for one in held
        ]
    )


def labels_worth(judged: pd.DataFrame) -> pd.DataFrame:
    """Say how many simply drawn labels alone would have the same error.

    The squared error of labels alone falls as (1 / k - 1 / N); each estimator's is set against it.

    Parameters
    ----------
    judged : DataFrame
        From `backtest`.

    Returns
    -------
    DataFrame
        `judged` with the column ``worth``.
    """
    keys = ["place", "category", "k"]
    alone = judged[judged["estimator"] == "labels"].set_index(keys)["rmse"]
    reference = judged.set_index(keys).index.map(alone)
    ratio = (judged["rmse"] / np.asarray(reference, float)) ** 2
    k, n = judged["k"], judged["n_images"]
    return judged.assign(worth=1 / (1 / n + ratio * (1 / k - 1 / n)))


def _draw(one: Held, k: int, seed: int) -> dict[str, ValueWithError]:
    rng, n_pool = np.random.default_rng([seed, k]), len(one.ranking)
    simple = _assessed(one, np.sort(rng.choice(n_pool, k, replace=False)))
    planned = _assessed(one, _planned(one, seed)[:k])
    return {
        "labels": simple.labels,
        "labels, drawn by plan": planned.labels,
        "difference": planned.difference,
        "combined": planned.combined.measured,
        "dropped": ValueWithError(float(planned.combined.conflict), 0.0),
    }


def _planned(one: Held, seed: int) -> np.ndarray:
    return balanced_order(np.argsort(one.predicted, kind="stable"), seed=seed)


def _assessed(one: Held, images: np.ndarray) -> FromLabels:
    drawn = Drawn(images, len(one.ranking))
    return assess(
        look(one.ranking.take(images)),
        drawn,
        one.predicted,
        one.aid.mix(one.pseudo_labels),
        optimism=one.aid.optimism,
        prior=one.prior,
    )


def _judged(one: Held, k: int, drawn: Sequence[Mapping[str, ValueWithError]]) -> Iterator[dict]:
    dropped = float(np.mean([found["dropped"].value for found in drawn]))
    truth = one.truth
    for name in (name for name in drawn[0] if name != "dropped"):
        known = [found[name] for found in drawn if found[name].known]
        errors = np.array([found.value for found in known]) - truth
        halves = np.array([found.half_width(0.9) for found in known])
        yield {
            "place": one.name,
            "category": one.category,
            "n_images": len(one.ranking),
            "k": k,
            "estimator": name,
            "error": np.abs(errors).mean(),
            "rmse": np.sqrt(np.mean(errors**2)),
            "bias": errors.mean(),
            "coverage": np.mean(np.abs(errors) <= halves),
            "half_width": halves.mean(),
            "dropped": dropped if name == "combined" else np.nan,
        }


def _stop(one: Held, wanted: float, seed: int, *, correct: bool) -> tuple[int, bool]:
    order, n_pool = _planned(one, seed), len(one.ranking)
    for k in [*range(BATCH, n_pool, BATCH), n_pool]:
        measured = _assessed(one, order[:k]).combined.measured
        measured = stretched(measured) if correct else measured
        half = measured.half_width(0.9)
        if half <= wanted:
            break
    return k, bool(abs(measured.value - one.truth) <= half + 1e-9)
