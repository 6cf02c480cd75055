import numpy as np
import pytest
from scipy import stats

from autoeval.research.studies.correlation import SquaredCorrelation
from autoeval.research.studies.held_out import mean_interval
from autoeval.scores.score_set import resampled_counts


@pytest.fixture
def points():
    rng = np.random.default_rng(0)
    source = np.repeat(["a", "b", "c", "d", "e"], 20)
    x = rng.normal(size=100) + np.repeat(rng.normal(size=5), 20)
    return x, 2 * x + rng.normal(size=100) + 100, source


def test_pooled_r2_is_that_of_scipy(points):
    x, y, source = points
    expected = stats.linregress(x, y).rvalue ** 2
    assert SquaredCorrelation(x, y, source).pooled() == pytest.approx(expected)


def test_within_r2_is_that_of_the_residuals_of_source_means(points):
    x, y, source = points
    names = np.unique(source)
    residuals = [v - sum((source == n) * v[source == n].mean() for n in names) for v in (x, y)]
    expected = stats.linregress(*residuals).rvalue ** 2
    assert SquaredCorrelation(x, y, source).within() == pytest.approx(expected)


def test_a_resample_of_sources_takes_all_their_points(points):
    x, y, source = points
    squared = SquaredCorrelation(x, y, source)
    counts = resampled_counts(5, resamples=1000)
    assert (counts.sum(axis=1) == 5).all()
    # the same resamples, made by copying points
    copied = []
    for row in counts[:200]:
        taken = np.concatenate(
            [
                np.flatnonzero(source == n)
                for n, k in zip("abcde", row, strict=True)
                for _ in range(k)
            ]
        )
        copied.append(stats.linregress(x[taken], y[taken]).rvalue ** 2)
    direct = squared._r2(np.moveaxis(np.array(_central(x, y, source, counts[:200])), 0, -1))
    assert direct == pytest.approx(np.array(copied))
    lower, upper = squared.interval()
    assert lower < squared.pooled() < upper


def _central(x, y, source, counts):
    """Weighted sums of squares about the weighted mean, by numpy's own covariance."""
    weights = sum(np.outer(counts[:, k], source == n) for k, n in enumerate("abcde"))
    covariances = [np.cov(x, y, fweights=w.astype(int), ddof=0) for w in weights]
    return [[c[i, j] for c in covariances] for i, j in ((0, 0), (1, 1), (0, 1))]


@pytest.mark.parametrize("constant", [0.1, 1e6 + 0.1])
def test_a_constant_has_no_correlation(points, constant):
    _, y, source = points
    squared = SquaredCorrelation(np.full(100, constant), y, source)
    assert np.isnan(squared.pooled()) and np.isnan(squared.within())
    assert np.isnan(squared.interval()).all()


def test_a_score_that_only_tells_places_apart_has_no_within_r2(points):
    _, y, source = points
    place = np.searchsorted(np.unique(source), source) / 3
    squared = SquaredCorrelation(place, y, source)
    assert squared.pooled() > 0 and np.isnan(squared.within())


def test_points_without_a_value_are_left_out(points):
    x, y, source = points
    holes = np.where(np.arange(100) % 4 == 0, np.nan, x)
    squared = SquaredCorrelation(holes, y, source)
    assert squared.n == 75
    known = np.isfinite(holes)
    assert squared.pooled() == pytest.approx(stats.linregress(x[known], y[known]).rvalue ** 2)


def test_fewer_than_three_sources_have_no_interval(points):
    x, y, source = points
    two = np.isin(source, ["a", "b"])
    assert np.isnan(SquaredCorrelation(x[two], y[two], source[two]).interval()).all()


def test_mean_interval_lies_within_the_values_and_leaves_out_what_is_missing():
    lower, upper = mean_interval(np.array([0.1, 0.2, np.nan, 0.6]))
    assert 0.1 <= lower < 0.3 < upper <= 0.6
    assert np.isnan(mean_interval(np.array([0.5, np.nan]))).all()
