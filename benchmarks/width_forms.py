"""Forms of a correction of estimates and of their half-widths, fitted on estimates with truths."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.optimize import minimize

from benchmarks.panel_widths import LEVEL, interval_score

NUDGE = 0.03  # standard deviation of each coefficient of a location, at strength 1
UNIT, CENTRE, HIGH = 0.2, 0.35, 0.5  # of estimates, in the terms of a location
SAME_SITES = 3.0  # detectors at the same sites err alike: their pairs count as a third
FREEDOM = 6.0  # of the t distribution of errors: no single miss rules the fit
FACTORS = np.linspace(0.6, 1.8, 81)
BANDS = (0.1, 0.2, 0.35, 0.5, 0.7)
LARGEST = 2.0  # logarithm of a factor of a width
Z90 = 1.6449


@dataclass(frozen=True, eq=False)
class Corrected:
    """Means of N distributions, which may be outside [0, 1], and half of their 90 % ranges."""

    mean: np.ndarray
    half: np.ndarray

    def intervals(self) -> dict[str, np.ndarray]:
        """Return ``estimate``, ``lower`` and ``upper``; see `cut`."""
        return dict(zip(("estimate", "lower", "upper"), cut(self.mean, self.half), strict=True))


Correction = Callable[[pd.DataFrame], Corrected]
Form = Callable[[pd.DataFrame], Correction]


def cut(mean: np.ndarray, half: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return estimates and intervals as `autoeval.model.predict_intervals` cuts them.

    >>> [float(of.round(3)[0]) for of in cut(np.array([-.1]), np.array([.2]))]
    [0.0, 0.0, 0.3]
    """
    value = np.clip(mean, 0, 1)
    reach = half + np.abs(value - mean)
    return value, np.maximum(value - reach, 0), np.minimum(value + reach, 1)


def unchanged(_: pd.DataFrame) -> Correction:
    """Fit nothing: return each estimate as it is."""

    def correct(new: pd.DataFrame) -> Corrected:
        mean = new["raw"].to_numpy()
        return Corrected(mean, new["reach"].to_numpy() - np.abs(np.clip(mean, 0, 1) - mean))

    return correct


def moved(shape: str, strength: float) -> Form:
    """Return the form that moves estimates by a shrunk function of themselves.

    shape: ``"line"``, or ``"ends"``, which moves those over one half and under `CENTRE` alone.
    strength: divides the variance of the coefficients' prior.
    """

    def fit(train: pd.DataFrame) -> Correction:
        before = unchanged(train)(train)
        terms = location_terms(before.mean, shape)
        weights = (Z90 / before.half) ** 2 / SAME_SITES
        prior = strength / NUDGE**2 * np.eye(terms.shape[1])
        weighted = terms * weights[:, None]
        off = train["true"].to_numpy() - before.mean
        coefficients = np.linalg.solve(weighted.T @ terms + prior, weighted.T @ off)

        def correct(new: pd.DataFrame) -> Corrected:
            own = unchanged(new)(new)
            return Corrected(own.mean + location_terms(own.mean, shape) @ coefficients, own.half)

        return correct

    return fit


def location_terms(mean: np.ndarray, shape: str) -> np.ndarray:
    """Return the terms of a location, (N, 2)."""
    if shape == "line":
        return np.column_stack([np.ones(len(mean)), (mean - CENTRE) / UNIT])
    above, below = np.maximum(mean - HIGH, 0), np.maximum(CENTRE - mean, 0)
    return np.column_stack([above, below]) / UNIT


def scaled(known: Sequence[str], ridge: float, location: Form = unchanged) -> Form:
    """Return the form whose half-widths are times the exponential of a line in columns `known`.

    ridge: of the coefficients of standardised columns. The factor of all half-widths is that with
        the lowest interval score on the pairs of the fit.
    """
    columns = list(known)

    def fit(train: pd.DataFrame) -> Correction:
        moving = location(train)
        before = moving(train)
        middle, unit = train[columns].mean(), train[columns].std().clip(lower=1e-9)

        def terms(rows: pd.DataFrame) -> np.ndarray:
            own = ((rows[columns] - middle) / unit).fillna(0)  # the middle where it is not known
            return np.column_stack([np.ones(len(rows)), own])

        x, std = terms(train), before.half / Z90
        off = train["true"].to_numpy() - before.mean

        def loss(of: np.ndarray) -> tuple[float, np.ndarray]:
            log = np.clip(x @ of, -LARGEST, LARGEST)
            square = (off / (std * np.exp(log))) ** 2 / FREEDOM
            total = (FREEDOM + 1) / 2 * np.log1p(square) + log
            slope = 1 - (FREEDOM + 1) * square / (1 + square)
            shrunk = ridge * np.append(0.0, of[1:])
            return (
                float(total.sum() / SAME_SITES + shrunk @ of / 2),
                x.T @ slope / SAME_SITES + shrunk,
            )

        coefficients = minimize(loss, np.zeros(x.shape[1]), jac=True, method="L-BFGS-B").x

        def of_width(rows: pd.DataFrame) -> np.ndarray:
            return np.asarray(np.exp(np.clip(terms(rows) @ coefficients, -LARGEST, LARGEST)))

        own = before.half * of_width(train)
        factor = best_factor(before.mean, own, train["true"].to_numpy())

        def correct(new: pd.DataFrame) -> Corrected:
            own = moving(new)
            return Corrected(own.mean, factor * own.half * of_width(new))

        return correct

    return fit


def best_factor(mean: np.ndarray, half: np.ndarray, true: np.ndarray) -> float:
    """Return the factor of half-widths (N,) with the lowest interval score."""
    shape = len(FACTORS), len(mean)
    halves = np.outer(FACTORS, half).ravel()
    tried = Corrected(np.broadcast_to(mean, shape).ravel(), halves).intervals()
    rows = pd.DataFrame({**tried, "true": np.broadcast_to(true, shape).ravel()})
    scores = interval_score(rows).to_numpy().reshape(shape).mean(axis=1)
    return float(FACTORS[np.argmin(scores)])


def by_bands(counted_as: float) -> Form:
    """Return the form with a factor of half-widths for each band of estimates.

    A factor is the quantile of absolute errors in units of half-widths, as conformal prediction
    takes it in each of several categories (Vovk et al. 2005, section 4.5), shrunk to that of all.

    counted_as: number of pairs that all bands together count as in each.
    """

    def fit(train: pd.DataFrame) -> Correction:
        before = unchanged(train)(train)
        units = np.abs(train["true"].to_numpy() - before.mean) / before.half
        band, every = np.digitize(before.mean, BANDS), np.log(conformal(units))
        factors = np.empty(len(BANDS) + 1)
        for k in range(len(factors)):
            own = units[band == k]
            n = len(own) / SAME_SITES
            log = np.log(conformal(own)) if len(own) else every
            factors[k] = np.exp((n * log + counted_as * every) / (n + counted_as))

        def correct(new: pd.DataFrame) -> Corrected:
            own = unchanged(new)(new)
            return Corrected(own.mean, own.half * factors[np.digitize(own.mean, BANDS)])

        return correct

    return fit


def conformal(units: np.ndarray) -> float:
    """Return the quantile that a further value is under with a probability of 90 %.

    >>> conformal(np.arange(1., 20.)), conformal(np.array([1., 3.]))
    (18.0, 3.0)
    """
    return float(np.sort(units)[min(int(np.ceil(LEVEL * (len(units) + 1))), len(units)) - 1])
