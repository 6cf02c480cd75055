"""How well prediction files of any detector estimate its accuracy, as they come and changed.

    python -m benchmarks.predictions whole DATA PREDICTIONS > tables.md
    python -m benchmarks.predictions changed DATA PREDICTIONS > tables.md

DATA holds ``<task>/<site>/annotations.json`` and PREDICTIONS ``<task>/<site>.json`` of one
detector, for the tasks vehicle, person and two, and ``all/coco_mini`` with all categories. `whole`
compares what can be fitted on: the labelled set, the other sites, both; and estimates one half of
the labelled set by the other, in all its categories. `changed` puts confidences through a function
that keeps their order, so that average precision stays what it is, or leaves boxes out, so that it
falls; accuracies are always those of the boxes that are left. Fitted on 164 images of
``all/coco_mini``, or on some groups of sites; evaluated at all sites of other groups.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from autoeval.accuracy.coco_evaluation import rank_categories
from autoeval.boxes import Boxes
from autoeval.errors import InputError
from autoeval.estimation.calibrating import calibrate, calibrated_rows, fits_above
from autoeval.estimation.category_scores import labelled_rows, site_scores
from autoeval.estimation.labelled_sets import labelled_site
from autoeval.io.coco import read_coco
from autoeval.model.calibration import ScoreCalibration
from autoeval.model.pair_table import COUNTED, FEATURES, rows_where
from autoeval.model.priors import calibration_prior
from autoeval.model.regression import Regression
from autoeval.report.page import format_cells, to_markdown
from autoeval.sites.file_looks import Looks, check_floor, unseen_share, unseen_warning
from autoeval.sites.label_warnings import overconfident
from autoeval.sites.site import Site
from benchmarks.panel import (
    FITTED_ON,
    LABELLED,
    OF_TASK,
    SET,
    WORDS,
    ends,
    group_of,
    in_part,
    read_site,
)

EVALUATED = {"car", "bus", "truck", "person"}
Change = Callable[[Boxes], Boxes]
DRAWS = 10
FEW = 3
MORE = 8
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


def rescaled(function: Callable[[np.ndarray], np.ndarray], found: Boxes) -> Boxes:
    """Put scores through a function."""
    scores = np.clip(found.scores.astype(np.float64), 1e-6, 1 - 1e-6)
    return replace(found, scores=function(scores).astype(np.float32))


def over(least: float, found: Boxes) -> Boxes:
    """Keep boxes over a score."""
    return found.where(found.scores > least)


def best(most: int, found: Boxes) -> Boxes:
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


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("command", choices=("whole", "changed"))
    parser.add_argument("data", type=Path)
    parser.add_argument("predictions", type=Path)
    args = parser.parse_args()
    if args.command == "whole":
        whole(args.data, args.predictions)
    else:
        changed(args.data, args.predictions)


def changed_site(site: Site, change: Change) -> Site:
    """Return a labelled site after a change of its confidences."""
    changed = Site(change(site.boxes), truth=site.truth, everywhere=site.everywhere)
    return labelled_site(replace(changed, name=site.name, group=group_of(site.name)))


def fit_changed(site: Site, change: Change) -> tuple[pd.DataFrame, ScoreCalibration]:
    """Calibrate on a site and score it after a change."""
    made = changed_site(site, change)
    floor = made.looks.floor
    rows, calibration = calibrated_rows([made], prior=calibration_prior(floor))
    return rows.assign(unseen=unseen_share(made.boxes), floor=floor), calibration


def changed_pairs(site: Site, change: Change, calibration: ScoreCalibration) -> pd.DataFrame:
    """Score a site after a change, by the calibration of another set."""
    made = changed_site(site, change)
    rows = labelled_rows(made, calibration)
    # where no box is left of any category, the rows have no scores
    rows = rows.assign(**{name: np.nan for name in FEATURES if name not in rows})
    return rows.assign(unseen=unseen_share(made.boxes), floor=made.looks.floor)


def sites(data: Path, predictions: Path) -> Iterator[Site]:
    """Read all sites."""
    for task, categories in OF_TASK.items():
        for path in sorted((predictions / task).glob("*.json")):
            content = read_coco(data / task / path.stem / "annotations.json")
            site = read_site(path, content, categories, WORDS)
            yield replace(site, name=path.stem, everywhere=True)


def coco(data: Path, predictions: Path, part: str) -> Site:
    """Read the images of coco_mini that are of a part of COCO's data."""
    path = data / SET / "annotations.json"
    content = read_coco(path)
    words = {word: word for word in content.categories}
    site = read_site(predictions / f"{SET}.json", content, content.categories, words)
    return replace(site.on_images(in_part(path, part)), name=LABELLED, group=OF_LABELS)


def whole(data: Path, predictions: Path) -> None:
    """Compare what can be fitted on, and estimate many categories."""
    sets = [changed_site(site, lambda found: found) for site in sites(data, predictions)]
    labelled = labelled_site(coco(data, predictions, FITTED_ON))
    known, calibration = calibrated_rows([labelled])
    table = rows_of(sets, calibration)
    others = known[~known["category"].isin(EVALUATED)]
    rows = [
        errors(f"{len(known)} categories of coco_mini `val` alone", alone(known, table)),
        errors("the same without car, bus, truck, person", alone(others, table)),
        errors("the other sites, groups left out", without_groups(sets)),
        errors("both, groups left out", without_groups(sets, [labelled])),
        errors("constant: mean of the other sites of the category", constant(table)),
    ]
    shown = pd.DataFrame(rows)
    formats = {name: "{:.0f}" if "%" in name else "{:.1f}" for name in shown if name != "fitted on"}
    print(to_markdown(format_cells(shown, formats)))
    many = pd.DataFrame(many_categories(data, predictions))
    formats = dict.fromkeys(("true mAP", "estimate", "error of one"), "{:.1f}")
    formats["coverage % of one"] = "{:.0f}"
    print("\n" + to_markdown(format_cells(many, formats)))


def rows_of(sets: Sequence[Site], calibration: ScoreCalibration) -> pd.DataFrame:
    """Return a pair for every category of every set, by the calibration of another."""
    return pd.concat([labelled_rows(of, calibration) for of in sets], ignore_index=True)


def alone(training: pd.DataFrame, requested: pd.DataFrame) -> pd.DataFrame:
    """Estimate pairs, each as of a new site."""
    estimator = Regression().fit(training)
    found = [estimator.predict(requested.iloc[[k]])[0] for k in range(len(requested))]
    return requested.assign(**ends(found))


def without_groups(sets: Sequence[Site], further: Sequence[Site] = ()) -> pd.DataFrame:
    """Estimate every pair without its group, by the others and further sets."""
    parts = []
    for name in dict.fromkeys(of.group for of in sets):
        known, calibration = calibrated_rows([of for of in (*sets, *further) if of.group != name])
        own = rows_of([of for of in sets if of.group == name], calibration)
        parts.append(alone(known, own))
    return pd.concat(parts)


def constant(table: pd.DataFrame) -> pd.DataFrame:
    """Estimate every pair by the mean of its category in other groups."""
    means = [
        table.loc[(table["group"] != row.group) & (table["category"] == row.category), "mAP"].mean()
        for row in table.itertuples()
    ]
    return table.assign(estimate=means, lower=np.nan, upper=np.nan)


def errors(what: str, evaluated: pd.DataFrame) -> dict[str, object]:
    """Return one line of the table, in points."""
    row: dict[str, object] = {"fitted on": what}
    for category, part in evaluated.groupby("category", sort=False):
        known = part["lower"].notna()
        inside = (part["lower"] <= part["mAP"]) & (part["mAP"] <= part["upper"])
        name = f"{category} ({len(part)})"
        row[f"{name} error"] = 100 * (part["estimate"] - part["mAP"]).abs().mean()
        row[f"{name} coverage %"] = 100 * inside[known].mean() if known.any() else np.nan
        row[f"{name} half-width"] = 50 * (part["upper"] - part["lower"]).median()
    return row


def many_categories(data: Path, predictions: Path) -> list[dict[str, object]]:
    """Fit on one half of coco_mini and estimate the mean over all categories of the other."""
    rows = []
    for known, new in (("val", "train"), ("train", "val")):
        pairs, calibration = calibrated_rows([labelled_site(coco(data, predictions, known))])
        estimator = Regression().fit(pairs)
        site = coco(data, predictions, new)
        _, pairs = site_scores(Site(site.boxes, calibration=calibration), FEATURES)
        pairs = rows_where(pairs, pairs[COUNTED])
        mean, each = estimator.predict_mean(pairs), estimator.predict(pairs)
        precision = [ranked.average_precision().mean() for ranked in site.evaluation.rankings]
        by_name = dict(zip(site.boxes.categories, precision, strict=True))
        true = np.array([by_name[name] for name in pairs["category"]])
        error = np.abs([t.value for t in each] - true)
        inside = [t.lower <= y <= t.upper for t, y in zip(each, true, strict=True)]
        rows.append(
            {
                "fitted on": known,
                "new images": new,
                "categories": len(each),
                "true mAP": 100 * np.nanmean(precision),
                "estimate": 100 * mean.value,
                "interval": f"{100 * mean.lower:.1f} to {100 * mean.upper:.1f}",
                "error of one": 100 * np.nanmean(error),
                "coverage % of one": 100 * np.mean(inside),
            }
        )
    return rows


def changed(data: Path, predictions: Path) -> None:
    """Estimate changed files by fits on files changed alike, and by a fit on whole ones."""
    there = [of for of in sites(data, predictions) if group_of(of.name) != OF_LABELS]
    val = coco(data, predictions, FITTED_ON)
    fits = fits_at_floors(val)
    floors = tuple((of, float(np.mean(val.boxes.scores >= of))) for of in tuple(fits)[1:])
    statistics = replace(Looks.of(val.boxes), floors=floors)
    tables: dict[str, list[dict[str, object]]] = {}
    for name, change in CHANGES.items():
        known, own = fit_changed(val, change)
        alike = pd.concat([changed_pairs(site, change, own) for site in there], ignore_index=True)
        found = [change(site.boxes) for site in there]
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


def estimated(training: pd.DataFrame, pairs: pd.DataFrame, *, widened: bool) -> pd.DataFrame:
    """Estimate pairs, each as of a new site."""
    estimator = Regression(floor=float(training["floor"].min())).fit(training)
    known = training.drop_duplicates("source")["unseen"].mean()
    unseen = np.maximum(pairs["unseen"], known) if widened else np.zeros(len(pairs))
    found = [
        estimator.predict(pairs.iloc[[k]].assign(unseen=share))[0] for k, share in enumerate(unseen)
    ]
    return pairs.assign(**ends(found))


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
    found = change(val.boxes)
    warnings = (
        *check_floor(found, "the file", complete=False),
        *unseen_warning(unseen_share(found)),
        *overconfident(rank_categories(found, val.evaluation.truth)),
    )
    return {"doubted": "yes" if warnings else "no"}


def fits_at_floors(val: Site) -> dict[float, tuple[pd.DataFrame, ScoreCalibration]]:
    """Fit on a full list, at its own floor (0) and at those that a fit knows, too."""
    full = changed_site(val, CHANGES["as they are"])
    pairs, of_all, probabilities = calibrate([full])
    above = fits_above([full], of_all, probabilities)
    fits = {floor: (of.rows, of.calibration) for floor, of in above.items()}
    unseen = unseen_share(full.boxes)
    return {
        floor: (pd.DataFrame(dict(rows)).assign(unseen=unseen, floor=floor), calibration)
        for floor, (rows, calibration) in ({0.0: (pairs, of_all)} | fits).items()
    }


def unlike(
    fits: Mapping[float, tuple[pd.DataFrame, ScoreCalibration]],
    statistics: Looks,
    there: Sequence[Site],
    change: Change,
    *,
    widened: bool,
) -> pd.DataFrame:
    """Estimate changed sites by a fit on a full list, at the floor that it takes them for."""
    parts = []
    for site in there:
        found = change(site.boxes)
        try:
            floor = statistics.start_of(found).threshold
        except InputError:  # refused; tabulated all the same
            floor = 0.0
        rows, calibration = fits[floor]
        parts.append(estimated(rows, changed_pairs(site, change, calibration), widened=widened))
    return pd.concat(parts, ignore_index=True)


def noticed(statistics: Looks, changed: Sequence[Boxes]) -> dict[str, object]:
    """Return the share of sites of which a fit on a full list warns, and which it refuses."""
    warned, refused = 0, 0
    for found in changed:
        known = replace(statistics, categories=found.categories)
        try:
            warnings = known.compare(found)[1] or check_floor(found, "the file")
            warned += bool(warnings or unseen_warning(unseen_share(found)))
        except InputError:
            refused += 1
    share = {"doubted %": warned, "not compared %": refused}
    return {name: 100 * number / len(changed) for name, number in share.items()}


if __name__ == "__main__":
    main()
