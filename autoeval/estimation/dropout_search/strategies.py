"""Ways to find the best dropout: all of them, greedily, or by dropping the hopeless early."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.stats import norm

from autoeval.detectors.forward.dropout_spec import DropoutSpec
from autoeval.estimation.dropout_search.grid import TIE, best_of
from autoeval.estimation.dropout_search.trial import Measures, Standings


@dataclass(frozen=True)
class ChosenDropout:
    """What a strategy has chosen.

    Parameters
    ----------
    best : DropoutSpec
    r2 : float
        On all images.
    fate : dict of DropoutSpec to str
        Why other dropouts were not followed to the end.
    """

    best: DropoutSpec
    r2: float
    fate: dict[DropoutSpec, str] = field(default_factory=dict)


def full(trial: Measures, *, tie: float = TIE) -> ChosenDropout:
    """Measure every dropout on every image."""
    return _choose(trial.measure(trial.specs), tie)


def coordinate(trial: Measures, *, start_rate: float = 0.15, tie: float = TIE) -> ChosenDropout:
    """Take the best stages at one rate, then the best rate at these stages, until nothing changes.

    Source: Yang et al. 2024, appendix A ("in a greedy manner"); the rate to start at is ours.

    Parameters
    ----------
    trial : Measures
    start_rate : float
        The first of the rates nearest to it is taken.
    tie : float
        See `autoeval.estimation.dropout_search.grid.best_of`.
    """
    rates = sorted({spec.rate for spec in trial.specs}, key=lambda r: (abs(r - start_rate), r))
    rate, seen = rates[0], set[DropoutSpec]()
    while True:
        for_stages = trial.measure([spec for spec in trial.specs if spec.rate == rate])
        stages = _choose(for_stages, tie).best.stages
        choice = _choose(trial.measure([s for s in trial.specs if s.stages == stages]), tie)
        if choice.best in seen:
            return choice
        seen.add(choice.best)
        rate = choice.best.rate


def halving(
    trial: Measures,
    *,
    shares: tuple[float, ...] = (0.125, 0.25, 0.5),
    confidence: float = 0.95,
    tolerance: float = 0.01,
    keep: float = 0.5,
    tie: float = TIE,
) -> ChosenDropout:
    """Judge all dropouts on a small share of the images, and only the hopeful ones on more.

    After each share a dropout is dropped if, at the given confidence, its R² is not ahead of the
    leader's by more than that step's part of the tolerance: ``gap + z * error <= tolerance / n``
    after n steps in all, where the gap is its R² less the leader's and the error is that of the
    gap; see `judge`. The confidence holds for all dropouts and steps together (Bonferroni), so that
    the luckiest of 285 does not drive out the best. Of those that pass, no more than ``keep`` of
    all that entered the step stay, those with the largest R².

    Source: successive halving, Karnin et al. 2013, with a test in place of the fixed schedule.

    Parameters
    ----------
    trial : Measures
    shares : tuple of float
        Of the images of each sample set; all images follow. Sample sets of few images have fewer
        steps, since each step takes two images of them at least.
    confidence : float
        In (0, 1); 1 drops none.
    tolerance : float
        R² that may be lost in all steps together.
    keep : float
        1 sets no limit.
    tie : float
        See `autoeval.estimation.dropout_search.grid.best_of`.
    """
    left, fate = trial.specs, dict[DropoutSpec, str]()
    steps = sorted({max(share, trial.least_share) for share in shares} - {1.0})
    for share in steps:
        standings = trial.measure(left, share)
        level = 1 - (1 - confidence) / (len(left) * len(steps))
        hopeful = _hopeful(standings, level, tolerance / len(steps))
        order = np.argsort(-standings.r2, kind="stable")
        most = max(1, int(keep * len(left)))
        stay = [i for i in order if hopeful[i]][:most]
        for i, spec in enumerate(left):
            if i not in stay:
                reason = "over the limit" if hopeful[i] else "hopeless"
                fate[spec] = f"{reason} at {share:g} of the images"
        left = tuple(left[i] for i in sorted(stay))
    choice = _choose(trial.measure(left), tie)
    return ChosenDropout(choice.best, choice.r2, fate)


def _hopeful(standings: Standings, level: float, allowance: float) -> np.ndarray:
    """Return a mask of the dropouts that may yet beat the leader by more than the allowance."""
    leader = int(np.argmax(standings.r2))
    reach = norm.ppf(level) * np.maximum(standings.errors, np.finfo(float).tiny)
    hopeful = standings.r2 - standings.r2[leader] + reach > allowance
    hopeful[leader] = True
    return hopeful


def _choose(standings: Standings, tie: float) -> ChosenDropout:
    best = best_of(standings.specs, standings.r2, tie=tie)
    return ChosenDropout(best, float(standings.r2[standings.specs.index(best)]))


STRATEGIES: dict[str, Callable[[Measures], ChosenDropout]] = {
    "full": full,
    "coordinate": coordinate,
    "halving": halving,
}
