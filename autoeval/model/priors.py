r"""The priors of the default regression, fitted on a panel of detectors and shipped as files.

`autoeval/model/train_prior.py` writes them; what they rest on is in
docs/explanation/calibration.md and docs/how-to/operating-point.md.

Without a reference detector the prior expects of a pair of site and category the accuracy
:math:`m(x)`, linear in the scores of its boxes. With a reference, whose soft average precision is
r, it expects

.. math:: (1 - v) \, m(x) + v \, r

and the variance of pairs around it is smaller. The weight v follows from the labelled set: from how
much stronger the reference is there, and from how much more it agrees with the detector than the
labels do, as detectors of one architecture do, whose errors are the same. The rest of the prior is
that without a reference, at every floor; `autoeval.model.train_reference_prior` chooses v and the
smaller variance.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from typing_extensions import Self

from autoeval.errors import InputError
from autoeval.model.calibration import CalibrationPrior, Usual
from autoeval.model.domain_shift import DomainShift
from autoeval.model.mixed_model import Prior
from autoeval.model.pair_table import REFERENCE_AP, REFERENCE_FEATURES, REFERENCE_TRUE, Table
from autoeval.runtime.files import shipped_config

FILES = ("panel_prior.json", "operating_point_prior.json")
SYNONYMS = {
    "person": (
        "people",
        "persons",
        "human",
        "humans",
        "human being",
        "man",
        "men",
        "woman",
        "women",
        "pedestrian",
        "pedestrians",
        "walker",
        "worker",
        "workers",
    )
}
"""Other words of labels and detectors for a category that the prior knows by name."""
TRAINED = "trained_here_prior.json"
PAIRS = "panel_pairs.json"
"""The pairs of site and category of all detectors of the panel, which the prior was fitted on: by
score floor, and by name of a score or of an average precision the values of all pairs."""
FULL = 0.0  # floor of files as they come, from .05 on or lower
REFERENCE_PRIOR = "reference_prior.json"
READ_BY = dict(zip(("mAP", "mAP50", "mAP75"), REFERENCE_FEATURES, strict=True))
"""Score that a target reads."""
PRECISION_OF = ("person",)
"""Categories whose precision at a threshold is read from the boxes of a reference detector: of
others that has no skill (docs/results/operating_point.md, with a reference detector)."""
REFERENCE_SCALE = 0.15  # of that score, about its standard deviation over sites
REFERENCE_MIDDLE = 0.3  # of that score, its location in the prior


def calibration_prior(floor: float = FULL) -> CalibrationPrior:
    """Return the usual calibration of detectors whose files hold boxes from a score on.

    The coefficients of boxes are the same at every floor, those of missed objects are of the
    nearest.

    Parameters
    ----------
    floor : float
        The score; see `shipped`.
    """
    missed = shipped(FILES[0], floor)["missed"]
    return read_calibration_prior({"boxes": shipped(FILES[0])["boxes"], "missed": missed})


def read_calibration_prior(coefficients: Mapping[str, Any]) -> CalibrationPrior:
    """Read the calibration of a file of this kind.

    Parameters
    ----------
    coefficients : mapping
        ``boxes``, a list with one entry a threshold, and ``missed``; each with ``mean``,
        ``detectors`` and ``sites``, as `autoeval.model.train_prior.usual` writes them.
    """
    boxes = tuple(
        Usual(**{name: np.array(values) for name, values in of_level.items()})
        for of_level in coefficients["boxes"]
    )
    missed = {name: np.array(values) for name, values in coefficients["missed"].items()}
    return CalibrationPrior(boxes, Usual(**missed))


def regression_prior(target: str, floor: float = FULL) -> Prior:
    """Return the prior of the regression of a target, with the names and units of its scores.

    Parameters
    ----------
    target : str
        ``mAP``, ``mAP50``, ``mAP75``; at a threshold such as ``recall@0.3`` the prior is that
        of ``recall`` at any.
    floor : float
        Score from which on boxes are in the files; that of the panel's tables which is nearest
        by ratio counts.

    Raises
    ------
    InputError
        If the panel has no prior of this target.

    Examples
    --------
    Other words for a category (`SYNONYMS`) have the effect that the prior knows by its name:

    >>> prior = regression_prior("mAP")
    >>> prior.of_category("Pedestrian") == prior.of_category("person") != 0
    True
    """
    fitted_by_target = {
        fitted["target"]: fitted for name in FILES for fitted in shipped(name, floor)["regressions"]
    }
    fitted = fitted_by_target.get(target.partition("@")[0])
    if fitted is None:
        raise InputError(
            f"Expected a target that the panel has a prior of, {', '.join(fitted_by_target)}, but "
            f"got {target}."
        )
    location, scale, slopes = zip(*fitted["scores"].values(), strict=True)
    effects = dict(fitted["prior"]["categories"])
    for name, words in SYNONYMS.items():
        effects |= dict.fromkeys(words, effects[name]) if name in effects else {}
    numbers: dict[str, Any] = {
        **fitted["prior"],
        "categories": effects,
        "features": tuple(fitted["scores"]),
    }
    return Prior(slopes, location=location, scale=scale, **numbers)


def reads_precision(categories: Iterable[object]) -> np.ndarray:
    """Return of which categories precision may be read from the boxes of a reference detector.

    Parameters
    ----------
    categories : iterable of object
        Names of N categories, read as text.

    Returns
    -------
    ndarray of shape (N,), bool
        True of `PRECISION_OF`, however they are capitalised, and of other words for them.

    Examples
    --------
    >>> reads_precision(["Person", "pedestrian", "car"])
    array([ True,  True, False])
    """
    words = {word for name in PRECISION_OF for word in (name, *SYNONYMS.get(name, ()))}
    return np.array([str(name).strip().lower() in words for name in categories], bool)


def domain_shift_prior(target: str) -> DomainShift:
    """Return the shipped model of accuracy at sites other than that of the training.

    Parameters
    ----------
    target : str
        As in `regression_prior`.
    """
    return DomainShift(**shipped(TRAINED)[target.partition("@")[0]])


@cache
def shipped(name: str, floor: float | None = None) -> Any:
    """Return the content of a file of priors, by its name in ``configs``; read once.

    Parameters
    ----------
    name : str
        Such as ``panel_prior.json``.
    floor : float, optional
        Of a file of several score floors the part that was fitted nearest to this one, by ratio;
        NaN counts as `FULL`. By default the whole file.
    """
    if floor is None:
        return json.loads(shipped_config(name).read_text(encoding="utf-8"))
    parts = shipped(name)["floors"]
    if not floor > parts[0]["floor"]:
        return parts[0]
    return min(parts, key=lambda part: abs(math.log(part["floor"] / floor)))


@dataclass(frozen=True)
class ReferenceStrength:
    """How a reference detector compares with the detector on labelled images.

    Parameters
    ----------
    detector, reference, agreement : float
        Average precision of either by the labels, and of the detector by the reference's boxes, in
        [0, 1]; means over the pairs for which all are known.
    """

    detector: float
    reference: float
    agreement: float

    @classmethod
    def of(cls, rows: Table) -> Self | None:
        """Read a pair table; None where no pair of it has a reference.

        Parameters
        ----------
        rows : Table
            With ``mAP``, `REFERENCE_TRUE` and `REFERENCE_AP`.
        """
        names = ["mAP", REFERENCE_TRUE, REFERENCE_AP]
        if not set(names) <= set(rows):
            return None
        figures = np.stack([rows[name] for name in names])
        measured = figures[:, np.isfinite(figures).all(axis=0)]
        return cls(*measured.mean(axis=1).tolist()) if measured.size else None

    def __str__(self) -> str:
        return (
            f"AP on the labelled images {100 * self.reference:.1f}, against "
            f"{100 * self.detector:.1f} of the detector"
        )

    @property
    def stronger(self) -> bool:
        """Whether the reference is stronger than the detector."""
        return self.reference > self.detector


@dataclass(frozen=True)
class ReferencePrior:
    """The numbers of `REFERENCE_PRIOR`.

    Parameters
    ----------
    start, full : float
        Differences of the reference's average precision by labels less that by agreement at which
        the weight begins, and is 1.
    certain : float
        Difference of average precision, reference less detector, from which on that weight counts
        in full; below it in proportion.
    narrower : float
        Share of the standard deviation of pairs that a weight of 1 removes.
    """

    start: float
    full: float
    certain: float
    narrower: float

    def weight(self, strength: ReferenceStrength | None) -> float:
        r"""Return the weight of a reference, in [0, 1].

        .. math:: v = \operatorname{clip}\left(\frac{R - A - s}{f - s}, 0, 1\right)
                  \min\left(\frac{R - D}{c}, 1\right)

        with the average precisions R of the reference, D of the detector, A by agreement, and s, f
        and c the fields `start`, `full` and `certain`; 0 where R is not over D.

        Parameters
        ----------
        strength : ReferenceStrength, optional
            On the labelled images; None gives 0.

        Examples
        --------
        >>> prior = ReferencePrior(start=0.0, full=0.2, certain=0.02, narrower=0.3)
        >>> round(prior.weight(ReferenceStrength(detector=0.3, reference=0.5, agreement=0.4)), 6)
        0.5
        """
        if strength is None or not strength.stronger:
            return 0.0
        ahead = strength.reference - strength.agreement
        of_agreement = np.clip((ahead - self.start) / (self.full - self.start), 0, 1)
        sure = min((strength.reference - strength.detector) / self.certain, 1)
        return float(of_agreement * sure)

    def added(self, prior: Prior, weight: float, feature: str) -> Prior:
        """Add the score of a reference, as the last, to a prior of scores of boxes.

        Parameters
        ----------
        prior : Prior
            Without a reference.
        weight : float
            Of the reference, v in the module.
        feature : str
            Name of the score.
        """
        # (1 - v) m(x) + v r, term by term. The score of the reference is in units of its own, (r -
        # MIDDLE) / SCALE, so that v r is a slope of v SCALE and v MIDDLE in the intercept.
        rest, spread = 1 - weight, (1 - self.narrower * weight) * prior.spread
        # as close to each other as the prior is certain of the spread
        steps = np.exp(prior.spread_log_std * np.arange(-2, 3))
        return replace(
            prior,
            location=(*prior.location, REFERENCE_MIDDLE),
            scale=(*prior.scale, REFERENCE_SCALE),
            slopes=(*(rest * slope for slope in prior.slopes), weight * REFERENCE_SCALE),
            intercept=rest * prior.intercept + weight * REFERENCE_MIDDLE,
            categories={name: rest * effect for name, effect in prior.categories.items()},
            spread=spread,
            spreads=tuple((spread * steps).tolist()),
            features=(*prior.features, feature),
        )
