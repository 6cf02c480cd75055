"""Time and memory of binning the largest published range: 25,791 distinct counts (JHU).

Run it with ``python benchmarks/count_binning.py``.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable

import numpy as np

from autoeval.counting.binning import CountBins, paper_bins, released_bins

HIGHEST = 25_790


def measure(name: str, bin_counts: Callable[[], CountBins]) -> None:
    """Print how long a binning takes and the most memory that the process has used so far."""
    started = time.perf_counter()
    bins = bin_counts()
    seconds = time.perf_counter() - started
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{name:22} {len(bins):6} bins {seconds:6.2f} s {megabytes:6.0f} MB")


def main() -> None:
    """Bin as released and as printed."""
    counts = np.random.default_rng(0).lognormal(5, 1.5, 2700).astype(int).clip(0, HIGHEST)
    counts = np.append(counts, [0, HIGHEST])
    measure("released, gamma = 0.6", lambda: released_bins(0, HIGHEST))
    measure("paper, gamma = 0.3", lambda: paper_bins(counts, 0.3))
    measure("paper, gamma = 0.6", lambda: paper_bins(counts, 0.6))


if __name__ == "__main__":
    main()
