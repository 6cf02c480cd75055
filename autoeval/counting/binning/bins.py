"""Bins of the true count: their edges, how they are fitted, smoothed counts and files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from autoeval.data.json_file import read_json
from autoeval.errors import InputError
from autoeval.runtime.files import write_json


@dataclass(frozen=True)
class CountBins:
    """Contiguous bins of counts: (lo, hi], the first closed on both sides."""

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

    def assign(self, counts: Any) -> np.ndarray:
        """Return the bin of each count, -1 below and len(self) above all; none may be NaN."""
        counts = np.asarray(counts, np.float64)
        if np.isnan(counts).any():
            raise InputError("A count that is NaN lies in no bin: leave such items out first.")
        index = np.searchsorted(self.edges, counts, side="left") - 1
        return np.where(counts == self.edges[0], 0, index).astype(np.int64)

    def assign_nearest(self, counts: Any) -> np.ndarray:
        """Return the bin of each count, the end bins taking what lies outside the edges."""
        return self.assign(counts).clip(0, len(self) - 1)

    def labels(self) -> list[str]:
        """Return a name for each bin: its edges with a dash between."""
        return [f"{lo:g}–{hi:g}" for lo, hi in zip(self.edges, self.edges[1:], strict=False)]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write edges and origin as JSON."""
        write_json(path, {**self.origin, "edges": list(self.edges)}, indent=1)


def load_bins(path: str | os.PathLike[str], name: str | None = None) -> CountBins:
    """Read bins from JSON: a list of edges, an object with ``edges``, or such objects by name."""
    content = read_json(path, "file of bins")
    if isinstance(content, dict) and "edges" not in content:
        if name not in content:
            fault = f"'{name}' is none of them" if name else "name one of them (--bins-name)"
            names = ", ".join(content)
            raise InputError(f"{path} holds several lists of bin edges ({names}): {fault}.")
        content = content[name]
    entry = content if isinstance(content, dict) else {"edges": content}
    try:
        edges = tuple(float(edge) for edge in entry["edges"])
    except (KeyError, TypeError, ValueError):
        raise InputError(f"{path}: expected a list of numbers 'edges'.") from None
    return CountBins(edges, {key: value for key, value in entry.items() if key != "edges"})


def whole_counts(counts: Any) -> np.ndarray:
    """Return counts (N,) as int64, or raise `InputError` if none, or one is no natural number."""
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


def rounded_counts(counts: Any) -> np.ndarray:
    """Round fractional counts (N,) for binning, the extremes outwards: bins then hold them all."""
    values = np.asarray(counts, np.float64).ravel()
    whole = np.rint(values)
    if len(values) and values.min() < values.max():
        whole[values.argmin()] = np.floor(values.min())
        whole[values.argmax()] = np.ceil(values.max())
    return whole


def smoothed_frequencies(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Add one of every integer in [min, max] (paper, section III-B4, with beta = 1)."""
    low, high = counts.min(), counts.max()
    values = np.arange(low, high + 1)
    return values, 1 + np.bincount(counts - low, minlength=len(values))
