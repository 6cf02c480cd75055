"""The result of an estimation: a number, its interval, and every reason to doubt it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import pandas as pd


@dataclass(frozen=True)
class Estimate:
    """Estimated accuracy of a detector on images without labels.

    Parameters
    ----------
    value : float
        Mean over the dropout repeats, in [0, 1].
    std : float
        Standard deviation over the repeats; 0 for one repeat.
    lower, upper : float
        Prediction interval, NaN where none can be formed.
    level : float
        Nominal coverage of the interval.
    interval_method : str
        How the interval was formed, or why there is none.
    target : str
        What is estimated: ``"mAP"``, ``"mAP50"`` or ``"mAP75"``.
    method : str
        Name of the regressor.
    n_images : int
        Images that were read.
    features : dict
        Mean of each feature over the repeats.
    guards : tuple of str
        Reasons, in words, not to trust the value.
    """

    value: float
    std: float
    lower: float
    upper: float
    level: float
    interval_method: str
    target: str
    method: str
    n_images: int
    features: dict[str, float] = field(default_factory=dict)
    guards: tuple[str, ...] = ()

    def __str__(self) -> str:
        head = f"estimated {self.target}: {100 * self.value:.1f} ± {100 * self.std:.1f} (repeats)"
        if self.lower == self.lower:
            interval = f"{100 * self.lower:.1f} to {100 * self.upper:.1f} ({self.interval_method})"
        else:
            interval = self.interval_method
        lines = [
            f"{head}, from {self.n_images} images by '{self.method}'",
            f"{self.level:.0%} interval: {interval}",
            *(f"caution: {guard}" for guard in self.guards),
        ]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON; NaN becomes None."""
        values = asdict(self) | {"guards": list(self.guards)}
        values["features"] = {k: _plain(v) for k, v in self.features.items()}
        return {key: _plain(value) for key, value in values.items()}

    def to_pandas(self) -> pd.DataFrame:
        """Return one row, features as columns, guards joined by ``"; "``."""
        row = asdict(self) | {"guards": "; ".join(self.guards)}
        features = row.pop("features")
        return pd.DataFrame([row | features])


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and value != value else value
