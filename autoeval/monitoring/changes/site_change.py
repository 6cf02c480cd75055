"""How much the mAP of a site changed between two periods, and which scores changed."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.stats import norm

from autoeval.monitoring.changes.change_model import ChangeModel
from autoeval.scores.score_set import resampled_counts

RESAMPLES = 200
FEWEST = 2


@dataclass(frozen=True, eq=False)
class SiteChange:
    """The change of a site's mAP from one period to another.

    value: in units of mAP, such as -0.09; negative where it fell.
    moved: what each score and signal adds to the value, the largest first; names of `CONDITION`.
    most_influential: positions of the images of the later period, in the order of their part in the
        change.
    sampling_std: the part of the uncertainty that more images would lessen.
    """

    value: float
    lower: float
    upper: float
    level: float
    moved: dict[str, float] = field(repr=False)
    most_influential: tuple[int, ...] = field(repr=False)
    n_before: int
    n_after: int
    sampling_std: float

    def __str__(self) -> str:
        half = 100 * (self.upper - self.lower) / 2
        return f"{'fell' if self.value < 0 else 'rose'} by {100 * abs(self.value):.0f} ± {half:.0f}"


def change_of_numbers(
    model: ChangeModel,
    before: np.ndarray,
    after: np.ndarray,
    *,
    map_before: float,
    blocks: tuple[np.ndarray | None, np.ndarray | None] = (None, None),
    level: float = 0.9,
    seed: int = 0,
) -> SiteChange:
    """Estimate a change from `image_numbers` of both periods; parameters as in `watch`.

    Images of a period with equal numbers in `blocks` are drawn together, by default each alone.
    """
    drawn = [
        _drawn(numbers, own, (seed, k))
        for k, (numbers, own) in enumerate(zip((before, after), blocks, strict=True))
    ]
    return change_between(model, before, after, *drawn, map_before=map_before, level=level)


def change_between(
    model: ChangeModel,
    before: np.ndarray,
    after: np.ndarray,
    drawn_before: np.ndarray,
    drawn_after: np.ndarray,
    *,
    map_before: float,
    level: float = 0.9,
) -> SiteChange:
    """Estimate a change from `image_numbers` of both periods and the means of periods drawn again.

    before, after (n_images, len(NUMBERS))
    drawn_before, drawn_after (B, len(NUMBERS))
    map_before, level, model: as in `watch`.
    """
    means = before.mean(axis=0), after.mean(axis=0)
    x = model.moves(*means, map_before)
    raw, slope_std = (float(part[0]) for part in model.slopes.predict(x[None]))
    again, _ = model.slopes.predict(model.moves(drawn_before, drawn_after, map_before))
    sampling = float(again.std())
    half = float(norm.ppf((1 + level) / 2)) * float(np.hypot(slope_std, sampling))
    value = min(max(raw, -map_before), 1 - map_before)
    low, high = np.clip([raw - half, raw + half], -1, 1)  # the level before is not exact
    parts = dict(zip(model.names, (x * model.slopes.mean).tolist(), strict=True))
    moved = dict(sorted(parts.items(), key=lambda part: -abs(part[1])))
    parts_of_images = model.image_series(before, after)[0, len(before) :]
    most_influential = np.argsort(parts_of_images if raw < 0 else -parts_of_images, kind="stable")
    return SiteChange(
        float(value),
        float(low),
        float(high),
        level,
        moved,
        tuple(most_influential.tolist()),
        len(before),
        len(after),
        sampling,
    )


def _drawn(numbers: np.ndarray, blocks: np.ndarray | None, seed: tuple[int, int]) -> np.ndarray:
    """Return the means of periods drawn again, (RESAMPLES, len(NUMBERS))."""
    if blocks is not None:
        blocks = np.unique(blocks, return_inverse=True)[1]
    number = int(np.random.default_rng(seed).integers(2**31))
    counts = resampled_counts(len(numbers), resamples=RESAMPLES, seed=number, blocks=blocks)
    return counts @ numbers / counts.sum(axis=1, keepdims=True)
