"""Intervals of all counting measures from shared sums, beside a loop over copied rows.

python -m benchmarks.count_bootstrap
"""

from __future__ import annotations

import argparse

import numpy as np

from autoeval.counting.binning import find_bins
from autoeval.counting.binning.bins import CountBins
from autoeval.counting.evaluation.model_measures import measure_intervals
from autoeval.counting.measures.bootstrap import MeasureInterval, bootstrap_intervals
from autoeval.counting.measures.count_errors import smape_terms
from autoeval.counting.measures.tper import tper_areas
from autoeval.counting.predictions import CountPredictions
from benchmarks.timing import in_turns, median, spread


def main() -> None:
    """Make sure that both give the same intervals, and print how their times compare."""
    args = parse_args()
    model, bins = made_counts(args.images), find_bins("jhu")
    draws = {"n_resamples": args.resamples, "seed": 0}
    found = measure_intervals(model, model, bins, "paper", **draws)
    expected = intervals_by_rows(model, bins, args.resamples)
    assert found.keys() == expected.keys()
    for name, interval in expected.items():
        np.testing.assert_allclose(ends(found[name]), ends(interval), rtol=1e-10, err_msg=name)
    measured = in_turns(
        {
            "rows": lambda: intervals_by_rows(model, bins, args.resamples),
            "sums": lambda: measure_intervals(model, model, bins, "paper", **draws),
        },
        args.rounds,
    )
    ratio = median(measured, _ratio, "cpu")
    low, high = spread(measured, _ratio, "cpu")
    own = median(measured, lambda spent: spent["sums"], "cpu")
    print(f"copied rows / shared sums: {ratio:.1f} ({low:.1f} to {high:.1f}); sums: {own:.1f} s")


def parse_args() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=int, default=200_000)
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    return parser.parse_args()


def made_counts(n: int) -> CountPredictions:
    """Draw heavy-tailed counts and predictions that are about a fifth off."""
    rng = np.random.default_rng(0)
    target = rng.lognormal(3, 1.2, n).astype(int).astype(float)
    pred = (target * rng.normal(1, 0.2, n) + rng.normal(0, 2, n)).clip(0)
    return CountPredictions("made", tuple(f"image{k:07}" for k in range(n)), target, pred)


def intervals_by_rows(
    model: CountPredictions, bins: CountBins, n_resamples: int
) -> dict[str, MeasureInterval]:
    """Copy the drawn rows of each resample and measure them; sMAPE is drawn by itself."""
    error, index = np.abs(model.pred - model.target), bins.assign(model.target) + 1
    signed, area = model.pred - model.target, tper_areas(model.target, model.pred)
    with np.errstate(divide="ignore", invalid="ignore"):
        percentage = np.where(model.target > 0, 100 * error / model.target, np.nan)
    terms = smape_terms(model.target, model.pred)

    def measures(rows: np.ndarray) -> dict[str, float]:
        off, bin_of, shares = error[rows], index[rows], percentage[rows]
        mean = np.bincount(bin_of, off) / np.maximum(np.bincount(bin_of), 1)
        return {
            "pooled MAE": off.mean(),
            "pooled std": np.sqrt(((off - mean[bin_of]) ** 2).mean()),
            "MAE": off.mean(),
            "std": off.std(),
            "RMSE": np.sqrt((off**2).mean()),
            "bias": signed[rows].mean(),
            "MAPE": shares[~np.isnan(shares)].mean(),
            "TPER AUC relative": area[rows].mean(),
        }

    found = bootstrap_intervals(measures, model.ids, n_resamples=n_resamples)
    smape = bootstrap_intervals(
        lambda rows: {"sMAPE": terms[rows].mean()}, model.ids, n_resamples=n_resamples
    )
    return found | smape


def ends(interval: MeasureInterval) -> tuple[float, float, float]:
    """Return the value and both ends."""
    return interval.value, interval.low, interval.high


def _ratio(spent: dict[str, float]) -> float:
    return spent["rows"] / spent["sums"]


if __name__ == "__main__":
    main()
