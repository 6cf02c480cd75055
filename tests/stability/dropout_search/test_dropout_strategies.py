"""The strategies where the right answer is known, and what halving promises on drawn worlds."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from autoeval.stability.dropout_search.search import (
    RATES,
    full,
    greedy,
    grid,
    halving,
)
from autoeval.stability.dropout_search.trial import Standings, Trial, naive_executions
from autoeval.stability.network.forward.dropout_spec import DropoutSpec
from autoeval.stability.passes.presets import ScoredSettings

STAGES = list(dict.fromkeys(spec.stages for spec in grid()))


class MadeUp:
    """Standings by a formula; errors shrink with the share of the images."""

    def __init__(self, r2, error=0.0):
        self.specs = tuple(r2)
        self.r2, self.error = r2, error
        self.asked = []
        self.least_share = 0.0

    def measure(self, specs, share=1.0):
        self.asked.append((len(specs), share))
        errors = np.full(len(specs), self.error * (1 - share))
        return Standings(tuple(specs), np.array([self.r2[spec] for spec in specs]), errors)


def separable(best_stages, best_rate):
    worth = {stages: -0.02 * i for i, stages in enumerate(STAGES)}
    worth[best_stages] = 0.1
    return {s: 0.6 + worth[s.stages] - 0.3 * abs(s.rate - best_rate) for s in grid()}


@pytest.mark.parametrize(("stages", "rate"), product([(0,), (1, 3), (0, 1, 2, 3)], [0.05, 0.8]))
def test_greedy_finds_the_optimum_of_a_separable_objective(stages, rate):
    trial = MadeUp(separable(stages, rate))
    choice = greedy(trial, tie=0)
    assert choice.best == DropoutSpec("after", stages, rate) == full(trial, tie=0).best
    assert sum(n for n, _ in trial.asked[:-1]) <= 3 * (len(STAGES) + len(RATES))


def test_greedy_stops_at_a_local_optimum():
    """Two ridges that cross neither in stages nor in rate: it ends on the one it starts at."""
    r2 = dict.fromkeys(grid(), 0.1)
    r2[DropoutSpec("after", (1, 2), 0.15)] = 0.6
    r2[DropoutSpec("after", (3,), 0.9)] = 0.8
    assert greedy(MadeUp(r2)).best == DropoutSpec("after", (1, 2), 0.15)
    assert full(MadeUp(r2)).best == DropoutSpec("after", (3,), 0.9)


def test_halving_drops_the_hopeless_at_the_first_share():
    r2 = {spec: 0.2 for spec in grid()}
    good = grid()[100:110]
    r2.update({spec: 0.8 + 0.001 * i for i, spec in enumerate(good)})
    trial = MadeUp(r2, error=0.02)
    choice = halving(trial, tie=0)
    assert choice.best == good[-1] and choice.r2 == pytest.approx(0.809)
    assert trial.asked[0] == (285, 0.125) and trial.asked[1][0] == 10
    assert sum("hopeless at 0.125" in fate for fate in choice.fate.values()) == 275


def test_halving_keeps_what_may_yet_win():
    """By hand: .05 / (3 dropouts * 3 steps) leaves z = 2.54, so an error of .04 reaches .1015.

    That brings .09 behind to .0115 ahead, which is over .01 / 3, and .1 behind to .0015.
    """
    a, b, c = grid()[:3]
    trial = MadeUp({a: 0.7, b: 0.61, c: 0.6}, error=0.04 / 0.875)
    choice = halving(trial, keep=1)
    assert trial.asked[:2] == [(3, 0.125), (2, 0.25)]
    assert choice.fate[c] == "hopeless at 0.125 of the images" and choice.best == a


def test_halving_never_keeps_more_than_the_limit():
    trial = MadeUp({spec: 0.5 for spec in grid()}, error=1.0)
    halving(trial)
    assert trial.asked == [(285, 0.125), (142, 0.25), (71, 0.5), (35, 1.0)]


def test_halving_takes_no_step_without_new_images():
    trial = MadeUp({spec: 0.5 for spec in grid()}, error=1.0)
    trial.least_share = 0.4
    halving(trial)
    assert trial.asked == [(285, 0.4), (142, 0.5), (71, 1.0)]


def test_halving_without_elimination_is_full():
    rng = np.random.default_rng(0)
    trial = MadeUp({spec: rng.random() for spec in grid()}, error=0.1)
    choice = halving(trial, confidence=1, keep=1)
    assert not choice.fate and trial.asked[-1] == (285, 1.0)
    assert (choice.best, choice.r2) == (full(trial).best, full(trial).r2)


N_SETS = 30
N_IMAGES = 24


class Drawn:
    """A bench that has measured everything: R² is a smooth hill, images scatter about it."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.specs = grid()
        self.sizes = np.full(N_SETS, N_IMAGES)
        self.ranks = np.tile(np.arange(N_IMAGES), (N_SETS, 1))
        self.accuracy = rng.random(N_SETS)
        self.sums = self._scores(rng)
        self.counts = np.ones_like(self.sums)
        self.observer = SimpleNamespace(
            detector=SimpleNamespace(splits_backbone=True), settings=ScoredSettings(repeats=1)
        )

    def _scores(self, rng):
        """Scores (S, M, C): accuracy, and noise that neighbours on the grid share in part."""
        best_rate, worth = rng.uniform(0.1, 0.9), rng.uniform(0, 1, 4)
        far = np.array([abs(s.rate - best_rate) + worth[list(s.stages)].mean() for s in self.specs])
        parts = np.array([[*(k in s.stages for k in range(4)), s.rate, 1] for s in self.specs])
        noise_of_sets = rng.normal(0, 1, (N_SETS, parts.shape[1])) @ parts.T
        common = rng.normal(0, 1, (N_SETS, N_IMAGES, parts.shape[1])) @ parts.T
        own = rng.normal(0, 1, (N_SETS, N_IMAGES, len(self.specs)))
        means = self.accuracy[:, None] + 0.25 * far * noise_of_sets
        return means[:, None, :] + 0.15 * common + 0.1 * own

    def columns(self, specs):
        places = {spec: i for i, spec in enumerate(self.specs)}
        return [places[spec] for spec in specs]

    def usable(self):
        return np.arange(N_SETS)

    def measure(self, specs, stops):
        pass


@pytest.fixture(scope="module")
def trials():
    results = []
    for seed in range(12):
        bench = Drawn(seed)
        whole, parts = Trial(bench), Trial(bench)
        results.append((full(whole).r2, halving(parts).r2, parts.executions.sum()))
    return np.array(results)


def test_ends_near_the_best(trials):
    """Within .01 in every world."""
    assert (trials[:, 0] - trials[:, 1] <= 0.01).all()


def test_takes_a_tenth_of_naive_work(trials):
    """Whether or not the naive way shares its clean pass."""
    images = N_SETS * N_IMAGES
    naive = naive_executions(285, share_clean=True).sum() * images
    assert (trials[:, 2] <= 0.1 * naive).all()
    assert naive < naive_executions(285).sum() * images
