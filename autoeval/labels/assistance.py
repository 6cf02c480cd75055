"""The label-assistance model: what labelled sites contribute to estimates from a few labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from typing_extensions import Self

from autoeval.accuracy.average_precision import RankedDetections
from autoeval.errors import InputError
from autoeval.labels.box_model import BoxModel
from autoeval.labels.control_variates import MODEL, REFERENCE, ProbableLabels, control_variates
from autoeval.labels.variance_prior import VariancePrior
from autoeval.sites.pool import Pool


@dataclass(frozen=True)
class MixingWeights:
    """How control variates are added up, and what variance their sum leaves."""

    slopes: dict[str, float]  # of each control variate: `MODEL`, and `REFERENCE`
    residual: VariancePrior  # of the true influence less the sum, relative to that of the sum
    correlation: float  # mean cross-validated one of the sum with the true influence

    def add_up(self, variates: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the weighted sum of control variates."""
        return np.sum([slope * variates[name] for name, slope in self.slopes.items()], axis=0)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Read what `dataclasses.asdict` gave."""
        residual = VariancePrior(**values["residual"])
        return cls(dict(values["slopes"]), residual, values["correlation"])


@dataclass(frozen=True, eq=False)
class LabelAssistance:
    """What labelled sites contribute to estimates elsewhere; see `fit_assistance`."""

    box_model: BoxModel
    mixing: dict[str, MixingWeights]  # of `MODEL` alone, and with `REFERENCE`
    small_sample_bias: float
    sites: tuple[str, ...]  # names of those that it was fitted on
    points: dict[str, MixingWeights] = field(default_factory=dict)  # of precision, recall and f1

    def mixing_weights(self, others: ProbableLabels | None) -> MixingWeights:
        """Return those with boxes of another detector, or without where none were fitted so."""
        return self.mixing[REFERENCE if others and REFERENCE in self.mixing else MODEL]

    def predict(
        self,
        pool: Pool,
        others: ProbableLabels | None = None,
        expected: Sequence[RankedDetections] | None = None,
    ) -> Iterator[np.ndarray]:
        """Predict the influence of each image on each category, (10, M) by IoU threshold.

        `expected` are the rankings of `BoxModel.rankings`, where they are at hand. One category at
        a time: all together are a large array.
        """
        expected = self.box_model.rankings(pool) if expected is None else expected
        if others is None or REFERENCE not in self.mixing:
            for ranking in expected:
                yield self.mixing[MODEL].add_up(control_variates(ranking))
            return
        for pair in zip(expected, others.rankings(pool.found), strict=True):
            yield self.mixing[REFERENCE].add_up(control_variates(*pair))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON."""
        return {
            "box_model": self.box_model.to_dict(),
            "mixing": {name: asdict(weights) for name, weights in self.mixing.items()},
            "small_sample_bias": self.small_sample_bias,
            "sites": list(self.sites),
            "points": {name: asdict(weights) for name, weights in self.points.items()},
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Read what `to_dict` wrote; InputError if it is something else."""
        try:
            return cls(
                BoxModel.from_dict(values["box_model"]),
                {
                    name: MixingWeights.from_dict(weights)
                    for name, weights in values["mixing"].items()
                },
                float(values["small_sample_bias"]),
                tuple(values["sites"]),
                {n: MixingWeights.from_dict(weights) for n, weights in values["points"].items()},
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(
                f"The label-assistance model cannot be read ({type(error).__name__}: {error}). "
                "Fit again."
            ) from error
