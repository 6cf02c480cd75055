"""The change of a site between two periods, and the watch: an alarm with a bounded rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import ndtri

from autoeval.accuracy.resampling import resampled_counts
from autoeval.errors import InputError
from autoeval.model.calibration import ScoreCalibration
from autoeval.monitoring.changes.change_model import ChangeModel
from autoeval.monitoring.changes.image_numbers import image_numbers
from autoeval.monitoring.site_records import CameraImage

RESAMPLES = 200
FEWEST = 2
POWERS = (0.1, 0.2, 0.35, 0.55, 0.75)


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
    moved: dict[str, float] = field(repr=False)
    most_influential: tuple[int, ...] = field(repr=False)
    sampling_std: float


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
        _drawn(numbers, together, (seed, k))
        for k, (numbers, together) in enumerate(zip((before, after), blocks, strict=True))
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
    # Slopes and draws of images are independent: their variances add up.
    half = float(ndtri((1 + level) / 2)) * float(np.hypot(slope_std, sampling))
    value = min(max(raw, -map_before), 1 - map_before)
    low, high = np.clip([raw - half, raw + half], -1, 1)  # the level before is not exact
    parts = dict(zip(model.names, (x * model.slopes.mean).tolist(), strict=True))
    moved = dict(sorted(parts.items(), key=lambda part: -abs(part[1])))
    parts_of_images = model.image_series(before, after)[0, len(before) :]
    most_influential = np.argsort(parts_of_images if raw < 0 else -parts_of_images, kind="stable")
    influential = tuple(most_influential.tolist())
    return SiteChange(float(value), float(low), float(high), moved, influential, sampling)


def _drawn(numbers: np.ndarray, blocks: np.ndarray | None, seed: tuple[int, int]) -> np.ndarray:
    """Return the means of periods drawn again, (RESAMPLES, len(NUMBERS))."""
    if blocks is not None:
        blocks = np.unique(blocks, return_inverse=True)[1]
    number = int(np.random.default_rng(seed).integers(2**31))
    counts = resampled_counts(len(numbers), resamples=RESAMPLES, seed=number, blocks=blocks)
    return counts @ numbers / counts.sum(axis=1, keepdims=True)


@dataclass(frozen=True, eq=False)
class Alarm:
    """The result of watching a series of blocks.

    capital (n_blocks,): evidence for a fall after each block of the later period; see `capital`.
    at: the block at which it reached 1 / alpha, from 0; None if it never did.
    since: the block from which on values are lower; None without an alarm.
    """

    capital: np.ndarray
    at: int | None
    since: int | None


@dataclass(frozen=True, eq=False)
class Watch:
    """The result of watching a site.

    alarm_at, onset: positions in the later period: the image at which the alarm is raised, and the
        first one of the block from which on the site is worse. None without an alarm.
    capital (n_blocks,): evidence for a fall after each block of the later period; an alarm needs 1
        / alpha.
    change: since the onset; without an alarm over the whole later period. None where there are too
        few images for it.
    """

    alarm: bool
    alarm_at: int | None
    onset: int | None
    capital: np.ndarray = field(repr=False)
    change: SiteChange | None


def watch(
    model: ChangeModel,
    before: Sequence[CameraImage],
    after: Sequence[CameraImage],
    *,
    map_before: float,
    calibration: ScoreCalibration | None = None,
    blocks_before: np.ndarray | None = None,
    blocks_after: np.ndarray | None = None,
    alpha: float = 0.05,
    level: float = 0.9,
    seed: int = 0,
) -> Watch:
    """Watch a site block by block, and estimate its change without labels.

    Errors that the site makes in both periods cancel in the change. Its interval holds the error of
    the slopes at a new site under a new kind of change, and the sampling error of both periods:
    their blocks of time are drawn again (Künsch 1989).

    before, after: of one site, in order of time, two or more of them before.
    map_before: mAP of the first period, in [0, 1]: estimated, or better measured on a few labels.
    calibration: of the detector, for a model that reads true-positive probabilities.
    blocks_before, blocks_after: images with equal numbers, one block after the other, are drawn and
        watched together; by default each on its own.
    alpha: probability, at most, that there is ever an alarm while the blocks stay exchangeable with
        those of the baseline, however long it is watched.
    """
    if len(before) < FEWEST:
        raise InputError(
            f"Expected {FEWEST} images or more in the period before but got {len(before)}: a "
            "change cannot be estimated from one image."
        )
    if model.calibrated and calibration is None:
        raise ValueError(
            "Expected the `calibration` of the detector: these slopes read true-positive "
            "probabilities."
        )
    scale = calibration if model.calibrated else None
    numbers = image_numbers([*before, *after], calibration=scale)
    model.check(numbers)
    earlier, later = numbers[: len(before)], numbers[len(before) :]
    earlier_blocks, later_blocks = (
        _numbered(blocks_before, len(before)),
        _numbered(blocks_after, len(after)),
    )
    n_baseline = int(earlier_blocks.max()) + 1
    blocks = np.concatenate([earlier_blocks, n_baseline + later_blocks])
    series = model.image_series(earlier, later, earlier_blocks)
    means = np.array([np.bincount(blocks, values) / np.bincount(blocks) for values in series])
    alarm = raise_alarm(means, n_baseline, alpha=alpha, seed=seed)
    first = 0 if alarm.since is None else int(np.argmax(later_blocks == alarm.since))
    change = None
    if len(after) - first >= FEWEST:
        change = change_of_numbers(
            model,
            earlier,
            later[first:],
            map_before=map_before,
            blocks=(earlier_blocks, later_blocks[first:]),
            level=level,
            seed=seed,
        )
    if alarm.at is None:
        return Watch(False, None, None, alarm.capital, change)
    at = int(np.flatnonzero(later_blocks == alarm.at)[-1])
    return Watch(True, at, first, alarm.capital, change)


def raise_alarm(
    values: np.ndarray, n_baseline: int, *, alpha: float = 0.05, seed: int = 0
) -> Alarm:
    """Watch series of numbers that fall when something breaks.

    The capital is spread evenly over the series: the mean of fair games is a fair game.

    values (W, N): one a block, in order of time, in each of W series.
    n_baseline: how many of them are the baseline.
    """
    rng = np.random.default_rng(seed)
    paths = np.array([capital(shares_below(series, n_baseline, rng)) for series in values])
    path = paths.mean(axis=0)
    reached = np.flatnonzero(path >= 1 / alpha)
    if not len(reached):
        return Alarm(path, None, None)
    at = int(reached[0])
    most_influential = values[int(np.argmax(paths[:, at]))]
    return Alarm(path, at, onset(most_influential[: n_baseline + at + 1], n_baseline) - n_baseline)


def _numbered(blocks: np.ndarray | None, n_images: int) -> np.ndarray:
    """Return the number of each image's block, in order of appearance from 0."""
    if blocks is None:
        return np.arange(n_images)
    _, first, inverse = np.unique(blocks, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


def shares_below(values: np.ndarray, n_baseline: int, rng: np.random.Generator) -> np.ndarray:
    """Return the smoothed share of values up to each new one that are below it.

    values (N,): in order of time.
    n_baseline: how many of them are the baseline.
    Returned: (N - n_baseline,): in (0, 1).
    """
    ties = rng.uniform(1e-12, 1, len(values) - n_baseline)
    # While the values are exchangeable, these smoothed ranks are independent and uniform (Vovk,
    # Nouretdinov & Gammerman 2003). Ties are broken over 0, where a bet would be infinite.
    shares = np.empty(len(ties))
    for k, tie in enumerate(ties):
        seen, value = values[: n_baseline + k + 1], values[n_baseline + k]
        shares[k] = ((seen < value).sum() + tie * (seen == value).sum()) / len(seen)
    return shares


def capital(shares: np.ndarray) -> np.ndarray:
    r"""Return the gambler's capital after each share.

    At every step k a part :math:`k^{-1/2} - (k + 1)^{-1/2}` of the first capital, which until then
    was kept, starts to bet, spread evenly over `POWERS`: whenever a change begins, little was lost
    before.

    shares (N,): in (0, 1).
    Returned: (N,): positive; a martingale that starts at 1, if the shares are independent and
        uniform.

    >>> capital(np.array([.5, .5])).round(3)
    array([0.867, 0.755])
    >>> bool(capital(np.full(9, .02))[-1] > 1e4)
    True
    """
    # A bet multiplies by e p^(e - 1), whose integral over p in [0, 1] is 1 for every power e: no
    # gain on average while shares are uniform, a large one where they are small (the power
    # martingale of Vovk, Nouretdinov & Gammerman 2003). By Ville's inequality the capital ever
    # reaches 1 / alpha with probability alpha at most: the bound on false alarms.
    powers, betting = np.array(POWERS), np.zeros(len(POWERS))
    path = np.empty(len(shares))
    for k, share in enumerate(shares, start=1):
        kept = (k + 1) ** -0.5
        betting = (betting + (k**-0.5 - kept) / len(powers)) * powers * share ** (powers - 1)
        path[k - 1] = kept + betting.sum()
    return path


def onset(values: np.ndarray, n_baseline: int) -> int:
    r"""Say where values fell most clearly, after the baseline.

    The position k after which the mean differs most from that before, in units of its own error:
    the largest :math:`(\bar v_{<k} - \bar v_{\ge k}) \sqrt{n_{<k} n_{\ge k} / n}`, the likelihood
    ratio of one fall of normal values (Hinkley 1970).

    Returned: from `n_baseline` to the last position.

    >>> onset(np.array([1., 1, 1, 1, 1, 0, 0]), 3)
    5
    """
    splits = np.arange(n_baseline, len(values))
    total, before = values.sum(), np.cumsum(values)[splits - 1]
    n_before, n_after = splits, len(values) - splits
    fall = before / n_before - (total - before) / n_after
    return int(splits[np.argmax(fall * np.sqrt(n_before * n_after))])
