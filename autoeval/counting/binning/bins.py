"""Bins of the true count: from a file, as printed, as released, published, Bayesian blocks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from autoeval.errors import InputError, install_command
from autoeval.runtime.files import PathLike, read_json, write_json

PUBLISHED_GAMMA = 0.6
MAX_VALUES = 100_000
# Smallest and largest count of training images, and gamma. The authors list the edges of the first
# four; those of JHU are not published, but these reproduce its figures in the paper's Table II.
PUBLISHED = {
    "nwpu": (0, 15426, 0.6),
    "ucf": (49, 12865, 0.6),
    "sta": (33, 3139, 0.6),
    "stb": (13, 578, 0.6),
    "jhu": (0, 25791, 0.1),
}


@dataclass(frozen=True)
class CountBins:
    """Contiguous bins of counts: (lo, hi], the first closed on both sides.

    Parameters
    ----------
    edges : tuple of B + 1 floats
        Strictly increasing; floats whatever was given.
    origin : mapping, optional
        How they were made (``method``, ``gamma``, ...), written beside the edges; not compared.

    Raises
    ------
    InputError
        If there are fewer than two edges, or they do not increase.

    Examples
    --------
    >>> bins = CountBins((0, 2.5, 10))
    >>> bins.assign([0, 2, 3, 11]).tolist(), bins.labels()
    ([0, 0, 1, 2], ['0–2.5', '2.5–10'])
    """

    edges: tuple[float, ...]
    origin: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        edges = np.asarray(self.edges, np.float64)
        if edges.ndim != 1 or len(edges) < 2 or not (np.diff(edges) > 0).all():
            raise InputError(
                f"Expected at least two bin edges in increasing order but got {self.edges}."
            )
        object.__setattr__(self, "edges", tuple(edges.tolist()))

    def __len__(self) -> int:
        return len(self.edges) - 1

    def assign(self, counts: ArrayLike) -> np.ndarray:
        """Return the bin of each count, -1 below and len(self) above all.

        Parameters
        ----------
        counts : array-like of shape (N,)
            Fractions may be among them.

        Returns
        -------
        ndarray of shape (N,), int64

        Raises
        ------
        InputError
            If a count is NaN.
        """
        counts = np.asarray(counts, np.float64)
        if np.isnan(counts).any():
            raise InputError("A count that is NaN lies in no bin: leave such items out first.")
        index = np.searchsorted(self.edges, counts, side="left") - 1
        return np.where(counts == self.edges[0], 0, index).astype(np.int64)

    def assign_nearest(self, counts: ArrayLike) -> np.ndarray:
        """Return the bin of each count, the end bins taking what lies outside the edges.

        Parameters
        ----------
        counts : array-like of shape (N,)
            Fractions may be among them.

        Returns
        -------
        ndarray of shape (N,), int64
            From 0 to len(self) - 1.

        Raises
        ------
        InputError
            If a count is NaN.
        """
        return self.assign(counts).clip(0, len(self) - 1)

    def labels(self) -> list[str]:
        """Return a name for each bin: its edges with a dash between."""
        return [f"{lo:g}–{hi:g}" for lo, hi in zip(self.edges, self.edges[1:], strict=False)]

    def save(self, path: PathLike) -> None:
        """Write edges and origin as JSON, which `load_bins` reads.

        Parameters
        ----------
        path : path-like
        """
        write_json(path, {**self.origin, "edges": list(self.edges)}, indent=1)


def load_bins(path: PathLike, name: str | None = None) -> CountBins:
    """Read bins from JSON: a list of edges, an object with ``edges``, or such objects by name.

    Parameters
    ----------
    path : path-like
        JSON file; an open end, which is infinite, is null there.
    name : str, optional
        Which of several lists; needed where the file has names, refused where it has none.

    Raises
    ------
    InputError
        If the file cannot be read, `name` does not fit it, or the edges are not increasing numbers.
    """
    content = read_json(path, "file of bins")
    if isinstance(content, dict) and "edges" not in content:
        if name not in content:
            fault = f"'{name}' is none of them" if name else "name one of them (--bins-name NAME)"
            names = ", ".join(content)
            raise InputError(f"{path} holds several lists of bin edges ({names}): {fault}.")
        content = content[name]
    elif name:
        raise InputError(
            f"{path} holds one list of bin edges, which has no name: leave out --bins-name."
        )
    entry = content if isinstance(content, dict) else {"edges": content}
    try:
        edges = tuple(
            float(edge if edge is not None else math.inf if k else -math.inf)
            for k, edge in enumerate(entry["edges"])
        )
    except (KeyError, TypeError, ValueError):
        raise InputError(f"{path}: expected a list of numbers 'edges'.") from None
    return CountBins(edges, {key: value for key, value in entry.items() if key != "edges"})


def whole_counts(counts: ArrayLike) -> np.ndarray:
    """Check that counts are whole, and return them as integers.

    Parameters
    ----------
    counts : array-like of shape (N,)
        Of any shape, which is flattened.

    Returns
    -------
    ndarray of shape (N,), int64

    Raises
    ------
    InputError
        If there are none, or one is not whole and at least 0.
    """
    values = np.asarray(counts, np.float64).ravel()
    if not len(values):
        raise InputError("Expected at least one count to bin but got none.")
    bad = ~np.isfinite(values) | (values < 0) | (values != np.floor(values))
    if bad.any():
        raise InputError(
            f"Binning needs whole counts from 0 up, but {bad.sum()} of {len(values)} are not "
            f"(first: {values[bad][0]:g}). Round them, or leave them out."
        )
    return values.astype(np.int64)


def rounded_counts(counts: ArrayLike) -> np.ndarray:
    """Round fractional counts for binning, the extremes outwards: bins then hold them all.

    Parameters
    ----------
    counts : array-like of shape (N,)
        If all are equal, they are rounded alone.

    Returns
    -------
    ndarray of shape (N,), float64
        Whole numbers.
    """
    values = np.asarray(counts, np.float64).ravel()
    whole = np.rint(values)
    if len(values) and values.min() < values.max():
        whole[values.argmin()] = np.floor(values.min())
        whole[values.argmax()] = np.ceil(values.max())
    return whole


def smoothed_frequencies(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Add one of every integer from the least to the largest count.

    The paper (section III-B4, with beta = 1) adds one of every integer from 0 on; the released code
    begins at the least count, too.

    Parameters
    ----------
    counts : ndarray of shape (N,), int64
        At least one.

    Returns
    -------
    values, frequencies : ndarray of shape (M,), int64
        Each integer of the range, and how often it occurs, plus one.
    """
    low, high = counts.min(), counts.max()
    values = np.arange(low, high + 1)
    return values, 1 + np.bincount(counts - low, minlength=len(values))


def paper_bins(counts: ArrayLike, gamma: float = PUBLISHED_GAMMA) -> CountBins:
    """Bin counts by equations 2 to 6 of the paper.

    The log likelihood of a bin with frequencies x_1..x_m of sum X is ln X! - sum ln x_j! + sum x_j
    ln(x_j / X), and each bin costs -ln(gamma). Above gamma of about 1/e the partition falls apart
    into very many bins; `released_bins` made the published tables.

    Parameters
    ----------
    counts : array-like of shape (N,)
        Whole counts from 0 up, of at least two and at most `MAX_VALUES` integers between the least
        and the largest.
    gamma : float
        In (0, 1).

    Raises
    ------
    InputError
        If `counts` or `gamma` are others.
    """
    from scipy.special import gammaln, xlogy

    def scores(frequencies: np.ndarray, total: np.ndarray) -> Callable[[int], np.ndarray]:
        likelihoods = xlogy(frequencies, frequencies) - gammaln(frequencies + 1)
        value_terms = np.append(0, np.cumsum(likelihoods))
        sizes = np.arange(total[-1] + 1)
        total_terms = gammaln(sizes + 1) - xlogy(sizes, sizes) + np.log(gamma)
        return lambda r: total_terms[total[r] - total[:r]] + (value_terms[r] - value_terms[:r])

    return _bins_of_frequencies(counts, gamma, "paper", scores)


def poisson_bins(counts: ArrayLike, gamma: float = PUBLISHED_GAMMA) -> CountBins:
    """Bin counts by the Poisson likelihood of equation 15 of the paper.

    The log likelihood of a bin of m values with frequencies x_1..x_m of sum X and mean X / m is
    X ln(X / m) - X - sum ln x_j!, the factorials that print leaves out restored, and each bin costs
    -ln(gamma), as in `paper_bins`. With a mean of its own for each value, as the letters of the
    equation have it, all partitions would be equally likely.

    Parameters
    ----------
    counts : array-like of shape (N,)
        Whole counts from 0 up, of at least two and at most `MAX_VALUES` integers between the least
        and the largest.
    gamma : float
        In (0, 1).

    Raises
    ------
    InputError
        If `counts` or `gamma` are others.

    Examples
    --------
    >>> poisson_bins([0, 0, 1, 1, 2, 3, 3, 8, 9, 9]).edges
    (0.0, 3.5, 7.5, 9.0)
    """
    from scipy.special import xlogy

    def scores(frequencies: np.ndarray, total: np.ndarray) -> Callable[[int], np.ndarray]:
        def score_last_block(r: int) -> np.ndarray:
            sums, sizes = total[r] - total[:r], np.arange(r, 0, -1)
            return xlogy(sums, sums / sizes) + np.log(gamma)  # other terms are in every partition

        return score_last_block

    return _bins_of_frequencies(counts, gamma, "poisson", scores)


def _bins_of_frequencies(
    counts: ArrayLike,
    gamma: float,
    method: str,
    scores: Callable[[np.ndarray, np.ndarray], Callable[[int], np.ndarray]],
) -> CountBins:
    """Bin counts by what the frequencies of each value, and their sums before it, make likely."""
    counts = whole_counts(counts)
    low, high = int(counts.min()), int(counts.max())
    _check_range(low, high, gamma, most=MAX_VALUES)
    values, frequencies = smoothed_frequencies(counts)
    total = np.append(0, np.cumsum(frequencies))
    starts = optimal_partition(len(values), scores(frequencies, total))
    edges = _cell_edges(values.astype(np.float64))[starts]
    origin = {"method": method, "gamma": gamma, "min": low, "max": high, "images": len(counts)}
    return CountBins(tuple(edges), origin)


@lru_cache(maxsize=256)
def released_bins(low: int, high: int, gamma: float = PUBLISHED_GAMMA) -> CountBins:
    """Bin the integers of a range as the code that was released with the paper does.

    Over the N integers of the range a block of k values that ends with the r-th scores -k ln k + r
    ln(gamma) + C, with C = ln(1 - gamma) - ln(1 - gamma^max(floor(N/4), 1)). Frequencies do not
    enter.

    Parameters
    ----------
    low, high : int
        Least and largest count, 0 <= low < high.
    gamma : float
        In (0, 1).

    Raises
    ------
    InputError
        If these are others, or the range has more than `MAX_VALUES` integers.
    """
    _check_range(low, high, gamma, most=MAX_VALUES)
    values = np.arange(low, high + 1, dtype=np.float64)
    n = len(values)
    lengths = np.arange(n, 0, -1, dtype=np.float64)
    fitness = -lengths * np.log(lengths)  # of blocks of n, n-1, ..., 1 values
    # Fewer than four values would make the normaliser of the prior infinite.
    constant = np.log(1 - gamma) - np.log(1 - gamma ** max(n // 4, 1))
    log_gamma = np.log(gamma)
    starts = optimal_partition(n, lambda r: fitness[n - r :] + (constant + r * log_gamma))
    origin = {"method": "released", "gamma": gamma, "min": low, "max": high}
    return CountBins(tuple(_cell_edges(values)[starts]), origin)


def _check_range(low: int, high: int, gamma: float, most: float = math.inf) -> None:
    """Raise `InputError` unless 0 <= low < high, of at most `most` values, and 0 < gamma < 1."""
    if not 0 <= low < high:
        raise InputError(
            f"Expected counts of at least two different values to bin, but they go "
            f"from {low} to {high}."
        )
    if not 0 < gamma < 1:
        raise InputError(f"Expected gamma between 0 and 1 (both excluded) but got {gamma}.")
    if high - low >= most:
        raise InputError(
            f"Expected at most {most} distinct counts to bin but got {high - low + 1}. "
            "Bin a coarser unit instead, such as tens."
        )


def optimal_partition(n: int, score_last_block: Callable[[int], np.ndarray]) -> np.ndarray:
    """Split ordered values into the blocks whose scores have the largest sum.

    F(r) = max over j of F(j) + score of the block of values j..r-1 (Scargle et al. 2013, section
    2.6).

    Parameters
    ----------
    n : int
        Number of values.
    score_last_block : callable
        Gives for r, from 1 to n, the scores (r,) of the blocks of values 0..r-1, 1..r-1, ..., r-1.

    Returns
    -------
    ndarray of shape (B + 1,), int64
        The start of each of B blocks, then n; of equally good starts the first.
    """
    best = np.zeros(n + 1)
    start = np.zeros(n + 1, np.int64)
    for r in range(1, n + 1):
        candidates = score_last_block(r) + best[:r]
        start[r] = candidates.argmax()
        best[r] = candidates[start[r]]
    ends = [n]
    while ends[-1] > 0:
        ends.append(int(start[ends[-1]]))
    return np.array(ends[::-1], np.int64)


def _cell_edges(values: np.ndarray) -> np.ndarray:
    """Edges around distinct sorted values (N,): midpoints, and both extremes; shape (N + 1,)."""
    return np.concatenate([values[:1], 0.5 * (values[1:] + values[:-1]), values[-1:]])


def bayesian_blocks_bins(counts: ArrayLike, gamma: float = PUBLISHED_GAMMA) -> CountBins:
    """Bin counts by Bayesian blocks for event data (Scargle et al. 2013), as astropy finds them.

    Parameters
    ----------
    counts : array-like of shape (N,)
        Whole counts from 0 up, of two or more values.
    gamma : float
        In (0, 1).

    Raises
    ------
    InputError
        If `counts` or `gamma` are others, or astropy is missing.
    """
    try:
        from astropy.stats import bayesian_blocks
    except ImportError as error:
        raise InputError(f"Bayesian blocks need astropy: {install_command('counting')}.") from error
    counts = whole_counts(counts)
    low, high = int(counts.min()), int(counts.max())
    _check_range(low, high, gamma)
    edges = bayesian_blocks(counts.astype(float), fitness="events", gamma=gamma)
    origin = {"method": "blocks", "gamma": gamma, "min": low, "max": high, "images": len(counts)}
    return CountBins(tuple(edges), origin)


def published_bins(name: str) -> CountBins:
    """Return the bins of NWPU-Crowd, UCF-QNRF, ShanghaiTech A or B, or JHU-Crowd++.

    Parameters
    ----------
    name : {"nwpu", "ucf", "sta", "stb", "jhu"}

    Raises
    ------
    InputError
        If there is no such name.
    """
    if name not in PUBLISHED:
        raise InputError(f"No published bins '{name}': there are {', '.join(PUBLISHED)}.")
    bins = released_bins(*PUBLISHED[name])
    return CountBins(bins.edges, {**bins.origin, "data_set": name})


def find_bins(name: str, list_name: str | None = None) -> CountBins:
    """Return published bins, or those of a file.

    Parameters
    ----------
    name : str
        Name of published bins, unless a file is called so; else the path of a file.
    list_name : str, optional
        Which of several lists of a file; see `load_bins`.

    Raises
    ------
    InputError
        If published bins are given a `list_name`, and as `load_bins`.
    """
    if name in PUBLISHED and not Path(name).exists():
        if list_name:
            raise InputError(f"name={list_name} is for a file of bins, and {name} are published.")
        return published_bins(name)
    return load_bins(name, list_name)
