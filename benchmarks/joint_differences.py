"""Differences of detectors with labels where there are many categories: as they are, and jointly.

    python -m benchmarks.joint_differences DATA PREDICTIONS [--draws N] [--swapped]
        [--work-dir DIR]

DATA and PREDICTIONS are laid out as `benchmarks/panel.py` reads them. Detectors are fitted on the
164 `val` images of ``all/coco_mini`` and compared on the 190 others, or the other way round with
`--swapped`, by simple random draws of labels.

`compare` averages the differences of the categories that three labelled images hold, and adds the
label-free difference of all others. ``jointly`` treats differences as `autoeval.labels.joint` does
average precisions, with its constants, the standard errors of labels times `SPREAD`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

import autoeval
from autoeval.comparison import paired_labels
from autoeval.comparison.pair_model import PairPrior
from autoeval.comparison.paired_labels import SPREAD, PairedLabels, difference_of
from autoeval.comparison.unlabelled_difference import LabelFree
from autoeval.labels.difference import difference_estimate, difference_terms
from autoeval.labels.estimators import LabelledSample, SampleAccuracy, measure_sample
from autoeval.labels.joint import (
    SMALL_SAMPLE_BIAS_STD,
    JointPrior,
    MeasuredCategories,
    estimate_jointly,
)
from autoeval.labels.joint_outlook import expected_holding
from autoeval.labels.joint_sample import shrunk_correlations, with_shared_bias
from autoeval.labels.object_variance import DOF, PER_OBJECT, object_variance
from autoeval.labels.small_sample_bias import bias_scale, objects_in_pool
from autoeval.labels.value_with_error import ValueWithError
from autoeval.labels.variance_prior import VariancePrior
from autoeval.report.tables import format_cells, to_markdown
from benchmarks.many_categories import DETECTORS, SET, write_boxes, write_part

SIZES = (20, 50)
NOW, JOINTLY = "as it is", "jointly"


@dataclass(frozen=True, eq=False)
class LabelledPair:
    """Two detectors on a pool whose images are labelled, and what is known without labels."""

    paired: PairedLabels
    names: tuple[str, str]
    prior: PairPrior
    free: LabelFree

    @property
    def true(self) -> float:
        """Difference of the means over the categories that have an object."""
        a, b = (self.paired.rankings[name] for name in self.names)
        each = [x.average_precision() - y.average_precision() for x, y in zip(a, b, strict=True)]
        return float(np.nanmean(each))


def labelled_pairs(
    data: Path, predictions: Path, folder: Path, *, swapped: bool
) -> list[LabelledPair]:
    """Fit and compare with all labels but those of one image, so that nothing is exact."""
    folder.mkdir(parents=True, exist_ok=True)
    file = data / "all" / SET / "annotations.json"
    parts = ("train", "val") if swapped else ("val", "train")
    fitted, new = (write_part(file, of, folder / f"{of}.json") for of in parts)
    estimators, boxes = {}, []
    for name in DETECTORS:
        own = predictions / name / "all" / f"{SET}.json"
        found = [write_boxes(own, of, folder / f"{name}_{of.name}") for of in (fitted, new)]
        estimators[name] = autoeval.fit(fitted, found[0])
        boxes.append(found[1])
    content = json.loads(new.read_bytes())
    last = content["images"].pop()["id"]
    content["annotations"] = [of for of in content["annotations"] if of["image_id"] != last]
    (folder / "labels.json").write_text(json.dumps(content))
    found_pairs: list[LabelledPair] = []

    class Recorded(PairedLabels):
        def difference(self, a: str, b: str, prior: PairPrior, free: LabelFree):  # type: ignore[no-untyped-def]
            found_pairs.append(LabelledPair(self, (a, b), prior, free))
            return super().difference(a, b, prior, free)

    original = paired_labels.PairedLabels
    paired_labels.PairedLabels = Recorded  # type: ignore[misc]
    try:
        autoeval.compare(estimators, boxes, images=new, labels=folder / "labels.json")
    finally:
        paired_labels.PairedLabels = original  # type: ignore[misc]
    return found_pairs


def joint_difference(
    pair: LabelledPair, sample: LabelledSample, accuracies: list[list[SampleAccuracy]]
) -> ValueWithError:
    """Estimate the difference of the means by the model of `autoeval.labels.joint`."""
    differences = [difference_of(*of) for of in zip(*accuracies, strict=True)]
    free, images, n = pair.free, sample.images, sample.n_pool
    clean = pair.paired.sites[pair.names[0]].boxes.clean
    n_true = np.array([of.n_true for of in differences], float)
    expected = expected_holding(clean, clean.scores).in_pool(n)
    n_in_pool = objects_in_pool(n_true, len(sample), n, expected)
    at = [k for k, of in enumerate(differences) if of.n_holding]
    found, terms = [], []
    for k in at:
        own, level = differences[k], float(np.mean([of[k].value for of in accuracies]))
        law = object_variance(PER_OBJECT["mAP"], level, level, own.n_true, own.n_holding)
        shown = min(own.n_holding, 1 + max(of[k].n_right for of in accuracies))
        predicted = free.influences[k][images]
        variance = VariancePrior(float(law) * len(sample), DOF)
        found.append(
            difference_estimate(
                own.value,
                own.influence,
                predicted,
                n_pool=n,
                variance_prior=variance,
                n_holding=shown,
            )
        )
        terms.append(difference_terms(own.influence, predicted, n_holding=shown)[0])
    values, errors, dof = (
        np.array([getattr(of, name) for of in found]) for name in ("value", "error", "dof")
    )
    correlations = shrunk_correlations(np.array(terms))
    bias = SMALL_SAMPLE_BIAS_STD * bias_scale(n_true[at], n_in_pool[at])
    covariance = with_shared_bias(SPREAD * errors, bias, correlations)
    measured = MeasuredCategories(np.array(at), values, covariance, dof, correlations)
    prior = JointPrior.of(free.each, free.whole, n_in_pool)
    return estimate_jointly(prior, measured).mean.estimate


def rows_of(pair: LabelledPair, draws: int) -> Iterator[dict]:
    """Yield one row a number of labels, draw and way to estimate, in points of 100."""
    rankings = [pair.paired.rankings[name] for name in pair.names]
    n, true = len(rankings[0][0]), pair.true
    free = replace(pair.free, influences=pair.free.influences[:, :n])
    pair = replace(pair, free=free)
    for k in SIZES:
        for seed in range(draws):
            images = np.random.default_rng([seed, k]).permutation(n)[:k]
            sample = LabelledSample(images, n)
            accuracies = [[measure_sample(of.take(images)) for of in each] for each in rankings]
            own = dict(zip(pair.names, accuracies, strict=True))
            paired = replace(pair.paired, sample=sample, accuracies=own)
            _, now = PairedLabels.difference(paired, *pair.names, pair.prior, free)
            estimates = {NOW: now.combined, JOINTLY: joint_difference(pair, sample, accuracies)}
            for way, of in estimates.items():
                error, half = 100 * abs(of.value - true), 100 * of.half_width()
                row = {"pair": " - ".join(pair.names), "labels": k, "estimated": way}
                yield row | {"MAE": error, "half-width": half, "coverage": error <= half}


def main() -> None:
    """Print the table of all pairs together, and of each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("predictions", type=Path)
    parser.add_argument("--draws", type=int, default=15)
    parser.add_argument(
        "--swapped", action="store_true", help="fit on the part that is compared on"
    )
    parser.add_argument("--work-dir", type=Path, default=Path("work_dirs/joint_differences"))
    args = parser.parse_args()
    pairs = labelled_pairs(args.data, args.predictions, args.work_dir, swapped=args.swapped)
    rows = pd.DataFrame([row for pair in pairs for row in rows_of(pair, args.draws)])
    formats = {"MAE": "{:.1f}", "half-width": "{:.1f}", "coverage": "{:.0%}"}
    for by in (["labels", "estimated"], ["pair", "labels", "estimated"]):
        table = rows.groupby(by)[list(formats)].mean().reset_index()
        print(to_markdown(format_cells(table, formats)), end="\n\n")


if __name__ == "__main__":
    main()
