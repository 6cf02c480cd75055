"""Intervals whose unit of resampling is the source: nine sites are nine observations."""

from __future__ import annotations

import numpy as np

from autoeval.scores.score_set import resampled_counts

RESAMPLES = 1000


def mean_interval(values: np.ndarray, *, level: float = 0.9, seed: int = 0) -> tuple[float, float]:
    """Percentile bootstrap interval for the mean over sources (n_sources,), NaN for one without.

    Examples
    --------
    >>> mean_interval(np.array([.5, .5, .5]))
    (0.5, 0.5)
    """
    known = values[np.isfinite(values)]
    if len(known) < 2:
        return np.nan, np.nan
    means = resampled_counts(len(known), resamples=RESAMPLES, seed=seed) @ known / len(known)
    return percentiles(means, level)


def percentiles(values: np.ndarray, level: float) -> tuple[float, float]:
    """Return the two ends of the central share `level` of the values that are not NaN."""
    known = values[np.isfinite(values)]
    if not len(known):
        return np.nan, np.nan
    lower, upper = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
    return float(lower), float(upper)


class SquaredCorrelation:
    """R² of a straight line through points that come in sources; those with a NaN are left out.

    Sums of each source are kept, so that a resample of sources costs a product of matrices. `n`
    points count.

    Examples
    --------
    >>> points = SquaredCorrelation(np.array([0, 1, 2]), np.array([1, 3, 5]), np.array(["a"] * 3))
    >>> round(points.pooled(), 6)
    1.0
    """

    def __init__(self, x: np.ndarray, y: np.ndarray, source: np.ndarray) -> None:
        x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
        known = np.isfinite(x) & np.isfinite(y)
        x, y = (v[known] - v[known].mean() if known.any() else v[known] for v in (x, y))
        names, codes = np.unique(np.asarray(source)[known], return_inverse=True)
        columns = [np.ones_like(x), x, y, x * x, y * y, x * y]
        self.n = len(x)
        self._sums = np.zeros((len(names), len(columns)))
        np.add.at(self._sums, codes, np.stack(columns, axis=1))

    def pooled(self) -> float:
        """R² over all points; NaN where either side is constant."""
        return float(self._r2(_central(self._sums.sum(axis=0))))

    def within(self) -> float:
        """R² after the mean of its source is taken from every point.

        Whether a score follows the accuracy from one sample set of a site to the next, rather than
        from site to site.
        """
        return float(self._r2(_central(self._sums).sum(axis=0)))

    def interval(self, *, level: float = 0.9, seed: int = 0) -> tuple[float, float]:
        """Percentile bootstrap interval of `pooled` over the sources; NaN with fewer than three."""
        if len(self._sums) < 3:
            return np.nan, np.nan
        counts = resampled_counts(len(self._sums), resamples=RESAMPLES, seed=seed)
        return percentiles(self._r2(_central(counts @ self._sums)), level)

    def _r2(self, central: np.ndarray) -> np.ndarray:
        xx, yy, xy = np.moveaxis(central, -1, 0)
        # What is left of a constant is a rounding error of the sums.
        _, _, _, scale_x, scale_y, _ = self._sums.sum(axis=0)
        spread = (xx > 1e-12 * scale_x) & (yy > 1e-12 * scale_y)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(spread, xy**2 / (xx * yy), np.nan)


def _central(sums: np.ndarray) -> np.ndarray:
    """Turn sums (..., 6) into sums of squares about the mean (..., 3): of x, of y, and mixed."""
    n, x, y, xx, yy, xy = np.moveaxis(sums, -1, 0)
    n = np.maximum(n, 1)
    return np.stack([xx - x * x / n, yy - y * y / n, xy - x * y / n], axis=-1)
