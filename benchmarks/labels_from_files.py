"""Estimates with a few labels from one labelled set and prediction files: tables of docs/results.

    python -m benchmarks.labels_from_files DATA PREDICTIONS [--draws N] [--target recall@0.3]
        [--work-dir DIR] > tables.md

DATA and PREDICTIONS are laid out as `benchmarks/panel.py` reads them. What is used is fitted on the
`val` images of coco_mini; and on single sites of one category in turn, the three largest of
different groups for each category. For labelled sets and sites of your own:
``autoeval study labels --sites TASK PREDICTIONS --labels LABELS --predictions FILE``.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from autoeval.labels.prior import OF_ONE_SET
from autoeval.sites.labelled_set import LabelledSet
from autoeval.stability.reports.few_labels import labels_from_files_report
from benchmarks.panel import LABELLED, read_sets

CATEGORIES = ("vehicle", "person")
FIRST = 3  # sites of each category that are fitted on


def single_sites(sites: Sequence[LabelledSet]) -> list[LabelledSet]:
    """Choose the largest sites of each category, one of a group."""
    chosen: list[LabelledSet] = []
    for category in CATEGORIES:
        own = [site for site in sites if site.truth.categories == (category,)]
        own.sort(key=lambda site: (-len(site.boxes), site.name))
        first = {site.group: site for site in reversed(own)}
        chosen += [site for site in own if first[site.group] is site][:FIRST]
    return chosen


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("predictions", type=Path)
    parser.add_argument("--draws", type=int, default=60)
    parser.add_argument("--target", default="mAP", help="such as recall@0.3 (%(default)s)")
    parser.add_argument("--fit-on", choices=("set", "site"), help="one of the two; both by default")
    parser.add_argument("--work-dir", type=Path, help="folder for the tables as CSV")
    args = parser.parse_args()
    sets = list(read_sets(args.data, args.predictions))
    sites = [of for of in sets if set(of.truth.categories) <= set(CATEGORIES)]
    for kind in (args.fit_on,) if args.fit_on else ("set", "site"):
        one_set = kind == "set"
        coco = [of for of in sets if of.name == LABELLED]
        labelled = coco if one_set else single_sites(sites)
        name = f"labels_from_one_{kind}"
        report = labels_from_files_report(
            labelled, sites, name=name, target=args.target, draws=args.draws
        )
        print(report.markdown())
        pairs = next(part.table for part in report.parts if "correlation" in part.name)
        error = pairs["label_free"] - pairs[args.target]
        ratio = error * OF_ONE_SET.scale / pairs["prior_error"]
        print(f"error over stated error, root mean square: {np.sqrt((ratio**2).mean()):.2f}\n")
        if args.work_dir:
            report.write(args.work_dir)


if __name__ == "__main__":
    main()
