"""Whether sample sets and the sources' own images lie on one line of accuracy against a score."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from autoeval.model.pair_table import SAMPLE, SEED
from autoeval.stability.methods.score_rows import groups_of, mean_over_repeats
from autoeval.words import Notice

FEWEST_GROUPS = 5
LEVEL = 0.01
"""Share of false warnings where one line is right."""


@dataclass(frozen=True)
class TwoLines:
    """A test of two lines against one; see `two_lines`.

    Parameters
    ----------
    feature, target : str
        The score and the accuracy.
    gap : float
        Mean accuracy of own images less that of sample sets at the same score, in [-1, 1].
    p_value : float
        Probability of such gaps, or larger ones, where one line is right.
    n_sources : int
        Sources with both kinds of rows.
    """

    feature: str
    target: str
    gap: float
    p_value: float
    n_sources: int

    def warnings(self) -> tuple[Notice, ...]:
        """Warn where one line is not right."""
        if not self.p_value < LEVEL:
            return ()
        where = "over" if self.gap > 0 else "under"
        return (
            Notice(
                "not-on-one-line",
                f"at the same {self.feature}, {self.target} of the sources' own images is "
                f"{100 * abs(self.gap):.0f} points {where} that of their sample sets (two lines "
                f"fit better than one, p = {self.p_value:.1g}, {self.n_sources} sources): a line "
                "through the sample sets gives wrong estimates. Use transforms that the detector "
                "is meant for (--metaset FILE), or the methods that read the own images, bayes "
                "and fused",
            ),
        )


def two_lines(table: pd.DataFrame, feature: str, target: str = "mAP") -> TwoLines | None:
    r"""Test whether own images and sample sets need lines of their own.

    The model of row j of source s, with o = 1 for own images and 0 for a sample set, is

    .. math:: y_{sj} = u_s + b x_{sj} + g o_{sj} + t o_{sj} (x_{sj} - \bar x_{own}) + e_{sj}

    where u takes up whatever makes a source as a whole easier or harder. One line means g = t = 0:
    Hotelling's test with 2 and n - 2 degrees of freedom. The covariance of g and t is the
    jackknife's over the n groups of sources, so that a group counts once however many sources and
    sample sets it has. A Chow test with groups as clusters.

    Parameters
    ----------
    table : DataFrame
        A score table; accuracies and scores are averaged over repeats.
    feature, target : str
        Columns of the score x and the accuracy y.

    Returns
    -------
    TwoLines, optional
        None where sources of fewer than `FEWEST_GROUPS` groups have both kinds of rows, or the
        score does not vary.
    """
    rows = mean_over_repeats(table, [feature, target])
    rows = rows[np.isfinite(rows[feature]) & np.isfinite(rows[target])]
    kinds = rows.groupby("source")["kind"].agg(set)
    rows = rows[rows["source"].map(kinds) == {SEED, SAMPLE}]
    source, names = pd.factorize(rows["source"])
    x, y = rows[feature].to_numpy(float), rows[target].to_numpy(float)
    own_images = rows["kind"].to_numpy() == SEED
    group, groups = pd.factorize(rows["source"].astype(str).map(groups_of(table)))
    n = len(groups)
    if n < FEWEST_GROUPS or np.ptp(x[own_images]) == 0 or np.ptp(x[~own_images]) == 0:
        return None
    whole = _gap_and_tilt(source, x, y, own_images)
    without = np.zeros((n, len(whole)))
    for k in range(n):
        kept = group != k
        without[k] = _gap_and_tilt(source[kept], x[kept], y[kept], own_images[kept])
    deviations = without - without.mean(0)
    covariance = (n - 1) / n * deviations.T @ deviations
    from scipy.stats import f  # a quarter of a second that most commands save

    # Hotelling's T² of two coefficients, whose covariance comes from n groups.
    ratio = float(whole @ np.linalg.pinv(covariance) @ whole) * (n - 2) / (2 * (n - 1))
    return TwoLines(feature, target, float(whole[0]), float(f.sf(ratio, 2, n - 2)), len(names))


def _gap_and_tilt(
    source: np.ndarray, x: np.ndarray, y: np.ndarray, own_images: np.ndarray
) -> np.ndarray:
    """Fit g and t of `two_lines` by least squares, (2,)."""
    centred = own_images * (x - x[own_images].mean())
    columns = np.column_stack([own_images.astype(float), centred, x, y])
    _, number = np.unique(source, return_inverse=True)
    sums = np.zeros((number.max() + 1, columns.shape[1]))
    np.add.at(sums, number, columns)
    within = columns - (sums / np.bincount(number)[:, None])[number]
    return np.linalg.lstsq(within[:, :3], within[:, 3], rcond=None)[0][:2]
