"""What halving promises, on many drawn worlds: near the best dropout for a tenth of the work."""

from types import SimpleNamespace

import numpy as np
import pytest

from autoeval.research.dropout_search.search import full, grid, halving
from autoeval.research.dropout_search.trial import Trial, naive_executions

N_SETS, N_IMAGES = 30, 24


class Drawn:
    """A bench that has measured everything: R² is a smooth hill, images scatter about it."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.specs = grid()
        self.sizes = np.full(N_SETS, N_IMAGES)
        self.accuracy = rng.random(N_SETS)
        self.sums = self._scores(rng)
        self.counts = np.ones_like(self.sums)
        self.observer = SimpleNamespace(
            detector=SimpleNamespace(splits_backbone=True), settings=SimpleNamespace(repeats=1)
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
