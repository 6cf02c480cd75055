"""Joint draws against the covariance of the model, written out."""

import numpy as np
import pytest

from autoeval.model import MixedModel, Pairs, Prior, Variances

PRIOR = Prior((0.1, 0.05), calibration_std=0.12, categories={"person": -0.07})
N_KNOWN = 12
VARIANCES = Variances(0.004, 0.001, 0.002, 0.001, 0.003, 0.0005)


def pairs(n, seed, prefix, *, categories=("car",)):
    rng = np.random.default_rng(seed)
    names = np.array([f"{prefix}{k // 2}" for k in range(n)])
    category = np.array([categories[k % len(categories)] for k in range(n)])
    return Pairs(rng.normal(0, 1, (n, 2)), rng.uniform(0, 0.002, n), names, names, category)


def fitted(seen, y):
    return MixedModel(PRIOR, variances=[VARIANCES]).fit(seen, y)


def dense(a, b):
    """The covariance of two sets of pairs as the model states it, element by element."""
    v, result = VARIANCES, np.zeros((len(a.x), len(b.x)))
    of_calibration = PRIOR.calibration_std**2 / N_KNOWN
    for i in range(len(a.x)):
        for j in range(len(b.x)):
            same = float(a.group[i] == b.group[j])
            line = a.x[i] @ b.x[j]
            result[i, j] = PRIOR.intercept_std**2 + of_calibration + v.slope * line
            result[i, j] += same * (v.group + v.group_slope * line)
            result[i, j] += same * v.site + v.category * (a.category[i] == b.category[j])
    return result


@pytest.mark.parametrize("categories", [("car",), ("car", "person")])
def test_draws_have_the_mean_and_the_covariance_of_the_model(categories):
    seen, new = pairs(N_KNOWN, 0, "s"), pairs(6, 1, "n", categories=categories)
    y = np.random.default_rng(2).uniform(0.1, 0.7, N_KNOWN)
    model = fitted(seen, y)
    drawn = model.draw(new, draws=200_000, seed=5)
    k = dense(seen, seen) + np.diag(VARIANCES.pair + seen.sampling)
    reach = dense(seen, new)
    expected = dense(new, new) + np.diag(VARIANCES.pair + new.sampling)
    expected -= reach.T @ np.linalg.solve(k, reach)
    assert np.cov(drawn.T) == pytest.approx(expected, abs=2e-4)
    assert drawn.mean(axis=0) == pytest.approx(model.predict(new).mean, abs=1e-3)
    assert np.abs(expected[0, 2:]).max() > 5e-4  # what is shared shows


def test_mixed_variances_give_the_mixture():
    rng = np.random.default_rng(0)
    seen, new = pairs(14, 0, "s"), pairs(5, 1, "n")
    model = MixedModel(PRIOR)
    model.fit(seen, rng.uniform(0.1, 0.7, 14))
    drawn, told = model.draw(new, draws=100_000, seed=1), model.predict(new)
    assert drawn.mean(axis=0) == pytest.approx(told.mean, abs=2e-3)
    assert drawn.std(axis=0) == pytest.approx(told.std, rel=0.03)
    for p in (0.05, 0.95):
        assert np.quantile(drawn, p, axis=0) == pytest.approx(told.quantile(p), abs=0.01)
