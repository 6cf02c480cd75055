"""Estimates with a few labels and a reference detector: as control variate, and in the draw.

    python -m benchmarks.reference_labels DATA NAME=PREDICTIONS ... [--pairs STUDENT:REFERENCE ...]
        [--draws N] [--out FILE]

DATA and PREDICTIONS are laid out as `benchmarks/panel.py` reads them. All that is used is fitted on
the `val` images of coco_mini, without and with the boxes of the reference; sites and categories are
those of `benchmarks/labels_from_files.py`. Of each, k images are drawn again and again, in four
simply; by a plan without the reference; by a plan that predicts influence with it; and by the
plan of the product, which also draws images on which both disagree more often.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from autoeval.labels.assistance import LabelAssistance
from autoeval.labels.control_variates import ProbableLabels, control_variates
from autoeval.labels.estimators import (
    LabelEstimates,
    LabelledSample,
    estimate_category,
    measure_sample,
)
from autoeval.labels.fit_assistance import MOST_IMAGES, fit_assistance
from autoeval.labels.label_sampling import balanced_order, inverse_probabilities, unequal_order
from autoeval.labels.plan import drawing_sizes
from autoeval.report.tables import format_cells, to_markdown
from autoeval.sites.labelled_set import LabelledSet
from autoeval.stability.reports.few_labels import priors_from
from autoeval.stability.studies.label_backtest import EvaluatedPair, evaluated_pairs
from benchmarks.labels_from_files import CATEGORIES
from benchmarks.panel import LABELLED, add_detectors
from benchmarks.reference_panel import CalibratedDetector

SIZES = (10, 20)
FEWEST_IMAGES, MOST_LABELLED = 60, 0.8
SIMPLE, PLANNED, VARIATE, DISAGREEING = "simple", "plan", "plan, reference", "disagreeing"
BOTH = "simple, reference"
WITH = (VARIATE, DISAGREEING)
LEVEL = 0.9
BY = ["student", "reference", "category", "k"]
DEFAULT_PAIRS = (
    "fastestdet:yolo26",
    "fastestdet:nanodet",
    "nanodet:yolo26",
    "yolox_416:yolo26",
    "yolox_208:yolov8",
    "yolov8:yolo26",
)


@dataclass(frozen=True, eq=False)
class Fitted:
    """Pairs of site and category, and what their draws go by."""

    pairs: list[EvaluatedPair]
    sites: dict[str, LabelledSet]
    assistance: LabelAssistance

    @classmethod
    def of(cls, labelled: LabelledSet, sites: list[LabelledSet]) -> Fitted:
        """Fit on one labelled set."""
        assistance = fit_assistance([labelled])
        known = {of.name: of.at_most(MOST_IMAGES) for of in sites}
        priors = priors_from(labelled, sites)
        pairs = evaluated_pairs(assistance, list(known.values()), priors, fewest=FEWEST_IMAGES)
        return cls(list(pairs), known, assistance)

    def sizes(self, one: EvaluatedPair) -> np.ndarray:
        """Return how often each image of a pair is drawn, by disagreement, (N,)."""
        site = self.sites[one.name]
        others = ProbableLabels.of_reference(site.boxes)
        assert others is not None
        right = self.assistance.box_model.probabilities(site.pool)[0]
        return drawing_sizes(others.disagreement(site.pool.found, right))


def with_reference(student: CalibratedDetector, reference: CalibratedDetector) -> list[LabelledSet]:
    """Return the labelled sets of a student, with the boxes of a reference."""
    return [
        of.changed(
            boxes=replace(
                of.boxes,
                reference=reference.sets[name].boxes.clean,
                reference_calibration=reference.calibration,
                reference_probabilities=reference.probabilities[name][0],
            )
        )
        for name, of in student.sets.items()
        if name in reference.sets
    ]


def measured(
    sets: list[LabelledSet], plain: dict[str, LabelledSet], draws: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return one row for each pair, number of labels, design and draw; errors in points.

    And one for each pair with the correlations of predicted and true influence; see `correlations`.
    """
    used = [
        of
        for of in sets
        if of.name != LABELLED
        and set(of.truth.categories) <= set(CATEGORIES)
        and len(of.boxes) >= FEWEST_IMAGES
    ]
    (own,) = (of for of in sets if of.name == LABELLED)
    helped = Fitted.of(own, used)
    without = Fitted.of(plain[LABELLED], [plain[of.name] for of in used])
    alone = {(of.name, of.category): of for of in without.pairs}
    rows, known = [], []
    for one in helped.pairs:
        other = alone.get((one.name, one.category))
        if other is None:
            continue
        known.append(correlations(helped, one, other))
        sizes = helped.sizes(one)
        for k in (k for k in SIZES if k <= MOST_LABELLED * len(one.ranking)):
            for seed in range(draws):
                rows += list(of_draw(one, other, sizes, k, seed))
    return pd.DataFrame(rows), pd.DataFrame(known)


def correlations(helped: Fitted, one: EvaluatedPair, without: EvaluatedPair) -> dict[str, Any]:
    """Correlate the predicted influence of images with the true one.

    ``oracle``: of the sum of both predictions with weights that are fitted on all labels of the
    site. ``error left``: standard error with that sum, relative to labels alone.
    """
    site = helped.sites[one.name]
    others = ProbableLabels.of_reference(site.boxes)
    assert others is not None
    k = site.truth.categories.index(one.category)
    expected = helped.assistance.box_model.rankings(site.pool)[k]
    both = control_variates(expected, others.rankings(site.pool.found)[k])
    true = one.measure(np.arange(len(one.ranking))).influence
    x = np.stack([np.ones(len(true)), *(of.mean(axis=0) for of in both.values())], axis=1)
    best = x @ np.linalg.lstsq(x, true, rcond=None)[0]
    predicted = {"without": without.predicted, "with": one.predicted, "oracle": best}
    found = {name: float(np.corrcoef(true, of)[0, 1]) for name, of in predicted.items()}
    left = float(np.sqrt(max(1 - found["oracle"] ** 2, 0)))
    return {"site": one.name, "category": one.category, **found, "error left": left}


def of_draw(
    one: EvaluatedPair, without: EvaluatedPair, sizes: np.ndarray, k: int, seed: int
) -> Iterator[dict]:
    """Draw k images in each way and estimate; see `measured`."""
    n = len(one.ranking)
    across = np.argsort(one.predicted, kind="stable")
    simple = np.random.default_rng([seed, k]).choice(n, k, replace=False)
    own = np.argsort(without.predicted, kind="stable")
    unequal = unequal_order(across, sizes, seed=seed)[:k]
    found = {
        SIMPLE: estimate(without, simple),
        PLANNED: estimate(without, balanced_order(own, seed=seed)[:k]),
        BOTH: estimate(one, simple),
        VARIATE: estimate(one, balanced_order(across, seed=seed)[:k]),
        DISAGREEING: estimate(one, unequal, inverse_probabilities(sizes, unequal)),
    }
    for design, of in found.items():
        best, half = of.combined.estimate, of.combined.estimate.half_width(LEVEL)
        yield {
            "site": one.name,
            "category": one.category,
            "k": k,
            "drawn": design,
            "sample": 100 * (of.sample.value - one.truth),
            "difference": 100 * (of.difference.value - one.truth),
            "combined": 100 * (best.value - one.truth),
            "half-width": 100 * half,
            "covered": 100.0 * (abs(best.value - one.truth) <= half),
        }


def estimate(
    one: EvaluatedPair, images: np.ndarray, weights: np.ndarray | None = None
) -> LabelEstimates:
    """Estimate a pair from labelled images, with inverse probabilities as weights."""
    return estimate_category(
        measure_sample(one.ranking.take(images), one.target, weights),
        LabelledSample(images, len(one.ranking), weights),
        one.predicted,
        one.mixing,
        small_sample_bias=one.small_sample_bias,
        prior=one.prior,
    )


def summary(rows: pd.DataFrame, by: list[str] = BY) -> pd.DataFrame:
    """Tabulate MAE, coverage and half-width, means over pairs of site and category."""
    table = pd.DataFrame({"sample": _mae(rows, SIMPLE, "sample", by)})
    for design in (PLANNED, *WITH):
        table[design] = _mae(rows, design, "combined", by)
    for design in (PLANNED, DISAGREEING):
        own = rows[rows["drawn"] == design].groupby(by)
        table[f"coverage, {design}"] = own["covered"].mean()
        table[f"half-width, {design}"] = own["half-width"].mean()
    return table.reset_index()


def against_simple(rows: pd.DataFrame) -> pd.DataFrame:
    """Tabulate root mean squared errors of the difference estimate over those of simple draws.

    Both with the same prediction of influence: that without a reference, or that with it.
    """
    squares = rows.assign(square=rows["difference"] ** 2)
    table = squares.groupby([*BY[:2], "k", "drawn"])["square"].mean().unstack("drawn") ** 0.5
    ratios = table[list(WITH)].div(table[BOTH], axis=0)
    ratios.insert(0, PLANNED, table[PLANNED] / table[SIMPLE])
    return ratios.reset_index()


def _mae(rows: pd.DataFrame, design: str, name: str, by: list[str]) -> pd.Series:
    own = rows[rows["drawn"] == design]
    return own.assign(error=own[name].abs()).groupby(by)["error"].mean()


def parse_args() -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add_detectors(parser)
    parser.add_argument("--pairs", nargs="*", default=DEFAULT_PAIRS, metavar="STUDENT:REFERENCE")
    parser.add_argument("--draws", type=int, default=10, help="0: correlations alone")
    parser.add_argument("--out", type=Path, help="CSV of every estimate")
    return parser.parse_args()


def main() -> None:
    """Print the tables."""
    args = parse_args()
    folders, known = dict(args.detectors), dict[str, CalibratedDetector]()
    parts, every = [], []
    for pair in args.pairs:
        student, reference = pair.split(":")
        for name in (student, reference):
            known[name] = known.get(name) or CalibratedDetector.read(args.data, folders[name])
        sets = with_reference(known[student], known[reference])
        names = {"student": student, "reference": reference}
        found, correlated = (
            of.assign(**names) for of in measured(sets, known[student].sets, args.draws)
        )
        parts.append(found)
        every.append(correlated)
        if args.out:
            pd.concat(parts).to_csv(args.out, index=False, float_format="%.3f")
    means = pd.concat(every).groupby(BY[:3])[["without", "with", "oracle", "error left"]].mean()
    print(to_markdown(means.round(2).reset_index()), end="\n\n")
    if not args.draws:
        return
    rows = pd.concat(parts, ignore_index=True)
    one, two, percent = "{:.1f}", "{:.2f}", "{:.0f}"
    formats = {name: one for name in ("sample", PLANNED, *WITH)}
    for design in (PLANNED, DISAGREEING):
        formats |= {f"half-width, {design}": one, f"coverage, {design}": percent}
    for by in (BY, ["category", "k"]):
        print(to_markdown(format_cells(summary(rows, by), formats)), end="\n\n")
    ratios = {name: two for name in (PLANNED, *WITH)}
    print(to_markdown(format_cells(against_simple(rows), ratios)), end="\n\n")


if __name__ == "__main__":
    main()
