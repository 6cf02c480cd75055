r"""Train the shipped slopes of change, `configs/changes.json`, on known changes of labelled sites.

    python -m autoeval.monitoring.train_changes [TABLE.csv] [--out FILE.json]

TABLE (`configs/changes_table.csv`) has a row for each site under each kind of change:
``group``, ``kind``, ``before`` (average precision in [0, 1]), ``change`` (of it), and
``before/NAME`` and ``after/NAME``, the means of `NUMBERS` of its boxes;
``benchmarks/changes.py corrupted --table`` writes one. The regression is

.. math:: y_i = x_i^T (b + b_{f(i)} + b_{k(i)} + b_{f(i) k(i)}) + e_i

for row i of group f (sites of one origin) and kind of change k. There is no intercept: where
nothing moved, the prediction is 0. All slopes are normal with mean 0 and one variance each for the
shared ones, those of groups, of kinds, and of a kind in a group (a mixed model: Laird & Ware
1982), for x in units of its root mean square; e is normal. The five variances maximise the marginal
likelihood times a log-normal prior (Rasmussen & Williams 2006, section 5.4.1). What groups and
kinds do not share is by how much a new group, under a kind of change that nobody has seen, varies:
the interval widens with everything that moves.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize
from typing_extensions import Self

from autoeval.errors import InputError
from autoeval.monitoring.box_change import CONDITION, NUMBERS, SHIPPED, ChangeModel, moves
from autoeval.runtime.files import shipped_config, write_json

GUESS = np.log([0.03, 0.015, 0.015, 0.015, 0.03])  # shared, group, kind, both; noise
WIDTH = 1.0  # standard deviation of the logarithms of standard deviations
FURTHEST = 4.0  # from the guess that is looked for
FEWEST = 8
BOUND = 1.0  # largest difference that counts, of each of `CONDITION`
TABLE = shipped_config("changes_table.csv")
LARGE = 0.1  # a fall of average precision that the lower end has to cover by itself
COVERED = 0.95  # share of errors that each end of an interval has to cover
Z_COVERED = 1.645  # the same in standard deviations of a normal law


def main() -> None:
    """Read the table, fit, and write the slopes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("table", type=Path, nargs="?", default=TABLE)
    parser.add_argument("--out", type=Path, default=shipped_config(SHIPPED))
    args = parser.parse_args()
    table = pd.read_csv(args.table)
    model = fit_changes(table)
    origin = (
        f"{len(table)} changes of {table['kind'].nunique()} kinds at sites of "
        f"{table['group'].nunique()} groups"
    )
    write_json(args.out, {**model.to_dict(), "origin": origin})


def fit_changes(table: pd.DataFrame) -> ChangeModel:
    """Fit the slopes to a table of known changes, and widen intervals to cover what is left out.

    Groups are left out in turn, and kinds of change; each end of the interval takes the larger of
    both factors, 1 at least. The lower end covers large falls by themselves, too: slopes of new
    groups and kinds are estimated near 0 where they are uncertain, so that these fall further than
    predicted.

    Parameters
    ----------
    table : DataFrame
        See the module.
    """
    x, y, group, kind = _columns(table)
    large = y < -LARGE
    lower, upper = [1.0], [1.0]  # no less: the table is of one detector, others differ from it
    for names in (group, kind):
        errors = np.empty(len(y))
        for name in np.unique(names):
            out = names == name
            model = fit_slopes(x[~out], y[~out], group[~out], kind[~out])
            variance = np.einsum("np,pq,nq->n", x[out], model.covariance, x[out]) + model.noise**2
            errors[out] = (y[out] - x[out] @ model.mean) / np.sqrt(variance)
        # A normal distribution has these quantiles of errors at one standard deviation.
        upper.append(float(np.quantile(errors, COVERED)) / Z_COVERED)
        for part in (errors, errors[large]):
            lower += [float(np.quantile(-part, COVERED)) / Z_COVERED] if len(part) else []
    return replace(fit_slopes(x, y, group, kind), widening=(max(lower), max(upper)))


def _columns(table: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return regressors (N, P), changes, groups and kinds (N,)."""
    before = table[[f"before/{name}" for name in NUMBERS]].to_numpy(float)
    after = table[[f"after/{name}" for name in NUMBERS]].to_numpy(float)
    x = moves(before, after, np.full(len(CONDITION), BOUND), table["before"].to_numpy(float))
    return x, table["change"].to_numpy(float), table["group"].to_numpy(), table["kind"].to_numpy()


def fit_slopes(x: np.ndarray, y: np.ndarray, group: np.ndarray, kind: np.ndarray) -> ChangeModel:
    """Fit the regression of this module.

    Parameters
    ----------
    x : ndarray of shape (N, P)
        Changes of what boxes look like; see `moves`.
    y : ndarray of shape (N,)
        Change of accuracy, in [-1, 1].
    group, kind : ndarray of shape (N,)
        Group and kind of each row.

    Raises
    ------
    InputError
        If there are fewer than `FEWEST` rows.
    """
    if len(x) < FEWEST:
        raise InputError(
            f"Expected at least {FEWEST} changes whose effect is known, to fit slopes, but got "
            f"{len(x)}: add labelled sites."
        )
    scale = _scale(x)
    blocks = Blocks.of(x / scale, y, group, kind)
    stds = np.exp(_best_deviations(blocks))
    mean, shared = blocks.solved(stds)
    # A new group under a new kind has slopes of its own: their three variances add to the
    # posterior variance of the shared ones.
    apart = (stds[1:4] ** 2).sum() * np.eye(len(mean))
    covariance = (shared + apart) / np.outer(scale, scale)
    bounds = np.full(x.shape[1], BOUND)
    return ChangeModel(bounds, mean / scale, covariance, float(stds[4]))


def _scale(x: np.ndarray) -> np.ndarray:
    # Signals have units of their own: one variance for all slopes needs a common one.
    """Return the root mean square of each column, (P,), infinite where all are 0."""
    scale = np.sqrt((x**2).mean(axis=0))
    scale[scale == 0] = np.inf  # a quantity that never moved has no slope
    return scale


def _best_deviations(blocks: Blocks) -> np.ndarray:
    """Return the logarithms of the five standard deviations of highest posterior density, (5,)."""

    def loss(logs: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = blocks.loss(np.exp(logs))
        deviation = (logs - GUESS) / WIDTH
        return value + 0.5 * (deviation**2).sum(), slope + deviation / WIDTH

    bounds = [(guess - FURTHEST, guess + FURTHEST) for guess in GUESS]
    return minimize(loss, GUESS, jac=True, method="L-BFGS-B", bounds=bounds, tol=1e-4).x


@dataclass(frozen=True, eq=False)
class Blocks:
    """Sums over the rows of each of B blocks, of F groups and K kinds.

    Parameters
    ----------
    group, kind : ndarray of shape (B,), int
        Numbers from 0 on.
    products : ndarray of shape (B, P, P)
        x^T x.
    moments : ndarray of shape (B, P)
        x^T y.
    squares, n_rows : ndarray of shape (B,)
        y^T y, and the number of rows.
    """

    group: np.ndarray
    kind: np.ndarray
    products: np.ndarray
    moments: np.ndarray
    squares: np.ndarray
    n_rows: np.ndarray

    @classmethod
    def of(cls, x: np.ndarray, y: np.ndarray, group: np.ndarray, kind: np.ndarray) -> Self:
        """Sum up rows.

        Parameters
        ----------
        x : ndarray of shape (N, P)
            Regressors.
        y : ndarray of shape (N,)
            Changes.
        group, kind : ndarray of shape (N,)
            Of each row.
        """
        groups = np.unique(group, return_inverse=True)[1]
        kinds = np.unique(kind, return_inverse=True)[1]
        several = int(kinds.max()) + 1
        blocks, at = np.unique(groups * several + kinds, return_inverse=True)
        rows = [np.flatnonzero(at == k) for k in range(len(blocks))]
        return cls(
            blocks // several,
            blocks % several,
            np.array([x[block].T @ x[block] for block in rows]),
            np.array([x[block].T @ y[block] for block in rows]),
            np.array([y[block] @ y[block] for block in rows]),
            np.array([len(block) for block in rows]),
        )

    def solved(self, stds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the posterior of the shared slopes.

        Parameters
        ----------
        stds : ndarray of shape (5,)
            Standard deviations of slopes (shared, of a group, of a kind, of both), and of noise.

        Returns
        -------
        mean : ndarray of shape (P,)
        covariance : ndarray of shape (P, P)
        """
        n_slopes = self.moments.shape[1]
        _, precision, pull = self._per_block(stds)
        _, joined, pulled = self._joined(precision, pull, stds[:3] ** 2)
        factor = cho_factor(joined, lower=True)
        first = np.eye(len(joined), n_slopes)
        return cho_solve(factor, pulled)[:n_slopes], cho_solve(factor, first)[:n_slopes]

    def loss(self, stds: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the negative log-likelihood of all rows, up to a constant, and its slope.

        Parameters
        ----------
        stds : ndarray of shape (5,)
            See `solved`.

        Returns
        -------
        loss : float
        slope : ndarray of shape (5,)
            Derivatives by the logarithms of `stds`.
        """
        interaction, noise = stds[3:] ** 2
        n_slopes = self.moments.shape[1]
        inverse, precision, pull = self._per_block(stds)
        priors, joined, pulled = self._joined(precision, pull, stds[:3] ** 2)
        covariance = np.linalg.inv(joined)
        solution = covariance @ pulled
        squares = (self.squares - interaction * (self.moments * pull).sum(axis=1)).sum() / noise
        volume = (self.n_rows - n_slopes).sum() * np.log(noise)
        volume += np.log(priors).sum() + np.linalg.slogdet(joined)[1]
        volume -= np.linalg.slogdet(inverse)[1].sum()
        value = float(squares - pulled @ solution + volume) / 2
        # `slope` is first by noise and by the variance of slopes of both: d A^-1 = -A^-1 dA A^-1
        # for the inner matrix A of a block, whose derivatives by these are 1 and x^T x.
        at, n = self._places(), len(joined) // n_slopes
        solutions = solution.reshape(n, n_slopes)[np.stack(at)].sum(axis=0)
        around = covariance.reshape(n, n_slopes, n, n_slopes).swapaxes(1, 2)
        within = around[np.stack(at)[:, None], np.stack(at)].sum(axis=(0, 1))
        moved = np.stack([-inverse @ precision, -precision @ precision])
        pushed = -np.stack([inverse @ pull[..., None], precision @ pull[..., None]])[..., 0]
        slope = np.array([np.einsum("bii->", inverse), np.einsum("bii->", precision)])
        slope += np.einsum("bij,vbji->v", within, moved)
        slope += np.einsum("bi,vbij,bj->v", solutions, moved, solutions)
        slope -= 2 * np.einsum("bi,vbi->v", solutions, pushed)
        slope -= interaction * np.einsum("bi,vbi->v", self.moments, pushed) / noise
        slope[0] += (self.n_rows - n_slopes).sum() / noise - squares / noise
        slope[1] -= (self.moments * pull).sum() / noise
        by_slope = (1 - (solution**2 + np.diag(covariance)) / priors) / priors
        ends = np.cumsum([n_slopes, n_slopes * (int(self.group.max()) + 1)])
        of_priors = [part.sum() for part in np.split(by_slope, ends)]
        # By the logarithm of a deviation it is twice the variance times that by the variance.
        return value, stds**2 * np.array([*of_priors, slope[1], slope[0]])

    def _per_block(self, stds: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return what each block says of its slopes.

        A block of rows has the covariance C = noise I + interaction x x^T. By the push-through
        identity x^T C^-1 = (noise I + interaction x^T x)^-1 x^T, and by Sylvester's the
        determinants go with each other, so that no matrix is larger than the number of slopes.

        inverse (B, P, P): of the inner matrix, noise I + interaction x^T x
        precision (B, P, P): x^T C^-1 x
        pull (B, P): x^T C^-1 y
        """
        interaction, noise = stds[3:] ** 2
        inverse = np.linalg.inv(noise * np.eye(self.moments.shape[1]) + interaction * self.products)
        return inverse, inverse @ self.products, (inverse @ self.moments[..., None])[..., 0]

    def _places(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return which of the joined slopes move each block (B,): (b, b_f, b_k)."""
        n_groups = int(self.group.max()) + 1
        return np.zeros_like(self.group), 1 + self.group, 1 + n_groups + self.kind

    def _joined(
        self, precision: np.ndarray, pull: np.ndarray, variances: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return prior variances (U,), precision (U, U) and pull (U,) of (b, b_f, b_k)."""
        n_groups, n_kinds = int(self.group.max()) + 1, int(self.kind.max()) + 1
        n, size = 1 + n_groups + n_kinds, pull.shape[1]
        at = self._places()
        together, pulled = np.zeros((n, n, size, size)), np.zeros((n, size))
        for a in at:
            np.add.at(pulled, a, pull)
            for b in at:
                np.add.at(together, (a, b), precision)
        priors = np.repeat(variances, [size, size * n_groups, size * n_kinds])
        joined = together.swapaxes(1, 2).reshape(n * size, n * size) + np.diag(1 / priors)
        return priors, (joined + joined.T) / 2, pulled.ravel()


if __name__ == "__main__":
    main()
