r"""What agreement with a reference detector adds to the default regression.

Without a reference the prior expects of a pair of site and category the accuracy :math:`m(x)`,
linear in the scores of its boxes. With a reference, whose soft average precision is r, it expects

.. math:: (1 - v) \, m(x) + v \, r

and the spread of pairs around it is smaller. The weight v follows from the labelled set: from how
much stronger the reference is there, and from how much more it agrees with the detector than the
labels do, as detectors of one family do, whose errors are the same. The rest of the prior is that
without a reference, at every floor; `autoeval.model.train_reference_prior` chooses what is
particular here.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from typing_extensions import Self

from autoeval.io.config_file import shipped_config
from autoeval.model.pair_table import REFERENCE_TRUE, Table, floats
from autoeval.model.pairs import Scaling
from autoeval.model.reference_features import REFERENCE_AP, REFERENCE_FEATURES
from autoeval.model.variances import Prior, Variances, possible_variances

FILE = "reference_prior.json"
READ_BY = dict(zip(("mAP", "mAP50", "mAP75"), REFERENCE_FEATURES, strict=True))
"""Score that a target reads."""
PRECISION_OF = ("person",)
"""Categories whose precision at a threshold is read from the boxes of a reference detector: of
others that has no skill (docs/results/operating_point.md, with a reference detector)."""
SCALE = 0.15  # of that score, about its standard deviation over sites
MIDDLE = 0.3


@dataclass(frozen=True)
class ReferenceStrength:
    """How a reference detector compares with the detector on labelled images.

    detector, reference, agreement: average precision of either by the labels, and of the detector
        by the reference's boxes; means over the categories for which all are known.
    """

    detector: float
    reference: float
    agreement: float

    @classmethod
    def of(cls, rows: Table) -> Self | None:
        """Read a pair table; None where no pair of it has a reference."""
        names = ["mAP", REFERENCE_TRUE, REFERENCE_AP]
        if not set(names) <= set(rows):
            return None
        figures = np.stack([floats(rows, name) for name in names])
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
    """The numbers of `FILE`.

    start, full: differences between the reference's accuracy and its agreement with the detector at
        which the weight begins and is 1.
    certain: by so much the reference is stronger, at least, where it has this weight; it has none
        where it is no stronger.
    narrower: share of the spread of pairs that a weight of 1 takes away.
    """

    start: float
    full: float
    certain: float
    narrower: float

    def weight(self, strength: ReferenceStrength | None) -> float:
        """Return the weight of a reference, in [0, 1]."""
        if strength is None or not strength.stronger:
            return 0.0
        ahead = strength.reference - strength.agreement
        of_agreement = np.clip((ahead - self.start) / (self.full - self.start), 0, 1)
        sure = min((strength.reference - strength.detector) / self.certain, 1)
        return float(of_agreement * sure)

    def added(self, scaling: Scaling, prior: Prior, weight: float) -> WithReference:
        """Add the score of a reference to the units and the prior of the scores of boxes."""
        # (1 - v) m(x) + v r, term by term. The score of the reference is in units of its own, (r -
        # MIDDLE) / SCALE, so that v r is a slope of v SCALE and v MIDDLE in the intercept.
        rest = 1 - weight
        with_reference = replace(
            prior,
            slopes=(*(rest * slope for slope in prior.slopes), weight * SCALE),
            intercept=rest * prior.intercept + weight * MIDDLE,
            categories={name: rest * effect for name, effect in prior.categories.items()},
            spread=(1 - self.narrower * weight) * prior.spread,
        )
        location, scale = np.append(scaling.location, MIDDLE), np.append(scaling.scale, SCALE)
        # A pair without a box of the reference is predicted by m(x) alone, with the whole spread.
        lost = prior.spread**2 - with_reference.spread**2
        units = Scaling(location, scale, scaling.weight)
        return WithReference(units, with_reference, scaling, prior, lost)


@dataclass(frozen=True)
class WithReference:
    """The prior with a reference, and what to read where it has no box.

    lost: variance by which pairs without a box of the reference vary more.
    """

    scaling: Scaling
    prior: Prior
    without: Scaling
    prior_without: Prior
    lost: float

    @property
    def variances(self) -> tuple[Variances, ...]:
        """What the regression averages over, as close as the prior is certain of the spread."""
        steps = np.exp(self.prior.spread_log_std * np.arange(-2, 3))
        return possible_variances(self.prior, (self.prior.spread * steps).tolist())

    def fill(self, x: np.ndarray, categories: np.ndarray) -> np.ndarray:
        """Return the score (N,) at which the prior expects what it does without a reference.

        x (N, P): the other scores; categories (N,).
        """
        effects = np.array([self.prior_without.of_category(name) for name in categories])
        slopes = self.without.apply(x) @ np.array(self.prior_without.slopes)
        return np.asarray(self.prior_without.intercept + slopes + effects)


@cache
def shipped_reference_prior() -> ReferencePrior:
    """Return the one that is shipped."""
    return ReferencePrior(**json.loads(shipped_config(FILE).read_text(encoding="utf-8")))
