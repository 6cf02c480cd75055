"""What labelled places teach about estimating from a few labels elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from typing_extensions import Self

from autoeval.data.predictions import Predictions
from autoeval.errors import InputError
from autoeval.estimation.labels.pool import Pool
from autoeval.estimation.labels.proxies import MODEL, PSEUDO, SoftLabels, proxies_of
from autoeval.estimation.labels.spread import Spread


@dataclass(frozen=True)
class Mix:
    """How predictions of influence are added up, and what they leave.

    Parameters
    ----------
    slopes : dict of str to float
        Factor of each prediction, `MODEL` or `PSEUDO`.
    rest : Spread
        Variance of what the mix leaves of the true influence, relative to that of the mix.
    whole : Spread
        Variance of the true influence, relative to that of the mix.
    correlation : float
        Mean over places of the correlation with the true influence, each place by the others.
    """

    slopes: dict[str, float]
    rest: Spread
    whole: Spread
    correlation: float

    def of(self, proxy: Mapping[str, np.ndarray]) -> np.ndarray:
        """Add predictions up."""
        return np.sum([slope * proxy[name] for name, slope in self.slopes.items()], axis=0)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Read what `dataclasses.asdict` gave."""
        spreads = {name: Spread(**values[name]) for name in ("rest", "whole")}
        return cls(dict(values["slopes"]), correlation=values["correlation"], **spreads)


@dataclass(frozen=True, eq=False)
class LabelAid:
    """What a few labels are helped by; fitted by `autoeval.estimation.labels.fit_aid.fit_aid`.

    Parameters
    ----------
    soft : SoftLabels
    mixes : dict of str to Mix
        By what is there: `MODEL` alone, and `PSEUDO` for both.
    optimism : float
        See `autoeval.estimation.labels.optimism`.
    places : tuple of str
        Names of those that it was fitted on.
    """

    soft: SoftLabels
    mixes: dict[str, Mix]
    optimism: float
    places: tuple[str, ...]

    def mix(self, pseudo_labels: bool) -> Mix:
        """Return the mix for what is there."""
        return self.mixes[PSEUDO if pseudo_labels and PSEUDO in self.mixes else MODEL]

    def predict(self, pool: Pool, pseudo_labels: Predictions | None = None) -> list[np.ndarray]:
        """Predict the influence of each image on each category, (10, M) by IoU threshold."""
        if PSEUDO not in self.mixes:
            pseudo_labels = None
        mix = self.mix(pseudo_labels is not None)
        return [mix.of(proxy) for proxy in proxies_of(pool, self.soft, pseudo_labels)]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON."""
        return {
            "soft": self.soft.to_dict(),
            "mixes": {name: asdict(mix) for name, mix in self.mixes.items()},
            "optimism": self.optimism,
            "places": list(self.places),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Read what `to_dict` wrote.

        Raises
        ------
        InputError
            If it is something else.
        """
        try:
            return cls(
                SoftLabels.from_dict(values["soft"]),
                {name: Mix.from_dict(mix) for name, mix in values["mixes"].items()},
                float(values["optimism"]),
                tuple(values["places"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(
                f"What labels are helped by cannot be read ({type(error).__name__}: {error})."
            ) from error
