"""Coverage where scores mean something else, or lists are cut: tables of docs/results.

    python -m benchmarks.odd_predictions DATA PREDICTIONS > tables.md

DATA and PREDICTIONS are those of `benchmarks.foreign_predictions`. Confidences are put through a
function that keeps their order, so that average precision stays what it is, or boxes are left out,
so that it falls; accuracies are always those of the boxes that are left. Fitted on 164 images of
``all/coco_mini``, or on some groups of sites; evaluated at all sites of other groups.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from autoeval.accuracy.coco_matching import rank_categories
from autoeval.errors import InputError
from autoeval.estimation.calibrating import CalibratedSets, calibrated_rows
from autoeval.estimation.category_scores import labelled_rows
from autoeval.estimation.score_floors import fits_above
from autoeval.io.coco import read_coco
from autoeval.io.labels.truth import Truth
from autoeval.io.predictions import FoundBoxes
from autoeval.model.calibration import ScoreCalibration
from autoeval.model.priors import calibration_prior
from autoeval.model.regression import Regression
from autoeval.report.tables import format_cells, to_markdown
from autoeval.sites.label_warnings import overconfident
from autoeval.sites.labelled_set import LabelledSet, labelled_set
from autoeval.sites.reference_statistics import ReferenceStatistics
from autoeval.sites.score_range import unseen_share, unseen_warning
from autoeval.sites.site_boxes import SiteBoxes, check_floor
from benchmarks.foreign_predictions import TASKS, WORDS, read, split
from benchmarks.panel import group_of

Change = Callable[[FoundBoxes], FoundBoxes]
DRAWS, FEW, MORE = 10, 3, 8
ALIKE = "The labelled set alone, changed as the sites are"
UNLIKE = "The labelled set as it is, the sites changed"
OF_LABELS = "coco"  # group of the labelled set, whose sites are never evaluated
CALIBRATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "as they are": lambda s: s,
    "squared": lambda s: s**2,
    "cubed": lambda s: s**3,
    "square root": lambda s: s ** (1 / 2),
    "cube root": lambda s: s ** (1 / 3),
    "times .5": lambda s: 0.5 * s,
    "times .7": lambda s: 0.7 * s,
    "temperature .5": lambda s: expit(logit(s) / 0.5),
    "temperature 2": lambda s: expit(logit(s) / 2),
    "temperature 3": lambda s: expit(logit(s) / 3),
    "logit - 2": lambda s: expit(logit(s) - 2),
    "logit - 1": lambda s: expit(logit(s) - 1),
    "logit + 1": lambda s: expit(logit(s) + 1),
    "logit + 2": lambda s: expit(logit(s) + 2),
    ".3 + .7 s": lambda s: 0.3 + 0.7 * s,
}


def rescaled(function: Callable[[np.ndarray], np.ndarray], found: FoundBoxes) -> FoundBoxes:
    """Put scores through a function."""
    scores = np.clip(found.scores.astype(np.float64), 1e-6, 1 - 1e-6)
    return replace(found, scores=function(scores).astype(np.float32))


def over(least: float, found: FoundBoxes) -> FoundBoxes:
    """Keep boxes over a score."""
    return found.where(found.scores > least)


def best(most: int, found: FoundBoxes) -> FoundBoxes:
    """Keep the best boxes of each image."""
    order = np.lexsort((-found.scores, found.image))
    image = found.image[order]
    rank = np.arange(len(order)) - np.searchsorted(image, image)
    return found.where(order[rank < most])


CHANGES: dict[str, Change] = {
    **{name: partial(rescaled, function) for name, function in CALIBRATIONS.items()},
    **{f"over {least}": partial(over, least) for least in (0.05, 0.1, 0.2, 0.25, 0.3, 0.5)},
    **{f"best {most}": partial(best, most) for most in (20, 10, 5)},
    "two decimals": partial(rescaled, lambda s: s.round(2)),
}


@dataclass(frozen=True, eq=False)
class Site:
    """A labelled set and what was found there."""

    name: str
    found: FoundBoxes
    truth: Truth
    everywhere: bool = True

    def changed(self, change: Change) -> LabelledSet:
        """Return it after a change of its confidences."""
        boxes, name = SiteBoxes(change(self.found)), self.name
        return labelled_set(
            boxes, self.truth, name=name, group=group_of(name), everywhere=self.everywhere
        )

    def fit(self, change: Change) -> tuple[pd.DataFrame, ScoreCalibration]:
        """Calibrate on it and score it after a change."""
        made = self.changed(change)
        floor = made.statistics.floor
        rows, calibration = calibrated_rows([made], prior=calibration_prior(floor))
        return rows.assign(unseen=unseen_share(made.boxes.clean), floor=floor), calibration

    def pairs(self, change: Change, calibration: ScoreCalibration) -> pd.DataFrame:
        """Score it after a change, by the calibration of another set."""
        made = self.changed(change)
        rows = labelled_rows(made, calibration)
        return rows.assign(unseen=unseen_share(made.boxes.clean), floor=made.statistics.floor)


def sites(data: Path, predictions: Path) -> Iterator[Site]:
    """Read all sites."""
    for task, categories in TASKS.items():
        for path in sorted((predictions / task).glob("*.json")):
            content = read_coco(data / task / path.stem / "annotations.json")
            found = read(path, content, categories, WORDS)
            yield Site(path.stem, found, Truth.of(content, categories))


def estimated(training: pd.DataFrame, pairs: pd.DataFrame, *, widened: bool) -> pd.DataFrame:
    """Estimate pairs, each as of a new site."""
    estimator = Regression(floor=float(training["floor"].min())).fit(training)
    known = training.drop_duplicates("source")["unseen"].mean()
    unseen = np.maximum(pairs["unseen"], known) if widened else np.zeros(len(pairs))
    found = [
        estimator.predict(pairs.iloc[[k]], unseen=float(share))[0] for k, share in enumerate(unseen)
    ]
    columns = {"estimate": "value", "lower": "lower", "upper": "upper"}
    return pairs.assign(**{c: [getattr(of, n) for of in found] for c, n in columns.items()})


def by_groups(table: pd.DataFrame, n_groups: int, *, widened: bool) -> pd.DataFrame:
    """Estimate by some groups of sites all pairs of the others, drawn again and again."""
    rng = np.random.default_rng(0)
    names = table["group"].unique()
    parts = []
    for _ in range(DRAWS):
        known = table["group"].isin(rng.choice(names, n_groups, replace=False))
        parts.append(estimated(table[known], table[~known], widened=widened))
    return pd.concat(parts)


def figures(evaluated: pd.DataFrame, plain: pd.DataFrame) -> dict[str, object]:
    """Return one line of a table, in points; without an estimate a pair counts as refused."""
    line: dict[str, object] = {}
    for category, part in evaluated.groupby("category", sort=False):
        answered = part[part["estimate"].notna()]
        before = plain[(plain["category"] == category) & plain["estimate"].notna()]
        line[f"{category} error"] = 100 * (answered["estimate"] - answered["mAP"]).abs().mean()
        line[f"{category} coverage % (unwidened)"] = f"{_inside(answered)} ({_inside(before)})"
        line[f"{category} half-width"] = 50 * (answered["upper"] - answered["lower"]).median()
        line[f"{category} refused %"] = 100 * part["estimate"].isna().mean()
    return line


def _inside(rows: pd.DataFrame) -> str:
    inside = (rows["lower"] <= rows["mAP"]) & (rows["mAP"] <= rows["upper"])
    return f"{100 * inside.mean():.0f}" if len(rows) else "–"


def warnings_of_fit(val: Site, change: Change) -> dict[str, object]:
    """Return whether a fit on the changed labelled set gives a warning."""
    found = change(val.found)
    warnings = (
        *check_floor(found, "the file", complete=False),
        *unseen_warning(unseen_share(found)),
        *overconfident(found, rank_categories(found, val.truth)),
    )
    return {"doubted": "yes" if warnings else "no"}


def fits_at_floors(val: Site) -> dict[float, tuple[pd.DataFrame, ScoreCalibration]]:
    """Fit on a full list, at its own floor (0) and at those that a fit knows, too."""
    full = val.changed(CHANGES["as they are"])
    known = CalibratedSets.of([full])
    above = fits_above([full], known)
    fits = {floor: (of.rows, of.calibration) for floor, of in above.items()}
    unseen = unseen_share(full.boxes.clean)
    return {
        floor: (rows.assign(unseen=unseen, floor=floor), calibration)
        for floor, (rows, calibration) in ({0.0: (known.rows, known.calibration)} | fits).items()
    }


def unlike(
    fits: Mapping[float, tuple[pd.DataFrame, ScoreCalibration]],
    statistics: ReferenceStatistics,
    there: Sequence[Site],
    change: Change,
    *,
    widened: bool,
) -> pd.DataFrame:
    """Estimate changed sites by a fit on a full list, at the floor that it takes them for."""
    parts = []
    for site in there:
        found = change(site.found)
        try:
            floor = statistics.start_of(found).floor
        except InputError:  # refused; tabulated all the same
            floor = 0.0
        rows, calibration = fits[floor]
        parts.append(estimated(rows, site.pairs(change, calibration), widened=widened))
    return pd.concat(parts, ignore_index=True)


def noticed(statistics: ReferenceStatistics, changed: Sequence[FoundBoxes]) -> dict[str, object]:
    """Return the share of sites of which a fit on a full list warns, and which it refuses."""
    warned, refused = 0, 0
    for found in changed:
        known = replace(statistics, categories=found.categories)
        try:
            warnings = known.differences(found) or check_floor(found, "the file")
            warned += bool(warnings or unseen_warning(unseen_share(found)))
        except InputError:
            refused += 1
    share = {"doubted %": warned, "not compared %": refused}
    return {name: 100 * number / len(changed) for name, number in share.items()}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("predictions", type=Path)
    args = parser.parse_args()
    there = [of for of in sites(args.data, args.predictions) if group_of(of.name) != OF_LABELS]
    labelled, truth = split(args.data, args.predictions, "val")
    val = Site(OF_LABELS, labelled, truth, everywhere=False)
    fits = fits_at_floors(val)
    floors = tuple((of, float(np.mean(labelled.scores >= of))) for of in tuple(fits)[1:])
    statistics = replace(ReferenceStatistics.of(labelled), floors=floors)
    tables: dict[str, list[dict[str, object]]] = {}
    for name, change in CHANGES.items():
        known, own = val.fit(change)
        alike = pd.concat([site.pairs(change, own) for site in there], ignore_index=True)
        found = [change(site.found) for site in there]
        ways = {
            ALIKE: (partial(estimated, known, alike), warnings_of_fit(val, change)),
            f"{FEW} groups of sites, all changed": (partial(by_groups, alike, FEW), {}),
            f"{MORE} groups of sites, all changed": (partial(by_groups, alike, MORE), {}),
            UNLIKE: (partial(unlike, fits, statistics, there, change), noticed(statistics, found)),
        }
        for title, (way, more) in ways.items():
            line = {"scores": name, **figures(way(widened=True), way(widened=False)), **more}
            tables.setdefault(title, []).append(line)
    for title, lines in tables.items():
        shown = pd.DataFrame(lines)
        numbers = shown.select_dtypes("number")
        formats = {n: "{:.0f}" if "%" in n else "{:.1f}" for n in numbers}
        print(f"## {title}\n\n{to_markdown(format_cells(shown, formats))}\n")


if __name__ == "__main__":
    main()
