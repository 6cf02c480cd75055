"""Measure what a monitor sees of a change: how large it is, how soon it is seen, what is false.

    python -m benchmarks.changes export DATA OUT --checkpoint FILE
    python -m benchmarks.changes corrupted DATA OUT [--table FILE.csv]
    python -m benchmarks.changes rule DATA OUT NAME=PREDICTIONS ...
    python -m benchmarks.changes export DATA UNUSED --checkpoint FILE --unused
    python -m benchmarks.changes confirm DATA UNUSED NAME=PREDICTIONS ...
    python -m benchmarks.changes halves DATA NAME=PREDICTIONS ...
    python -m benchmarks.changes windows DATA NAME=PREDICTIONS ...
    python -m benchmarks.changes year DATA NAME=PREDICTIONS ...

DATA holds labelled sites as ``TASK/SITE/annotations.json`` with ``images/``. `export` writes what a
detector finds on 64 images of each site, and on the last 16 of them under each of `CORRUPTIONS`,
into OUT. `corrupted` takes the first 48 as baseline and the 16 as one window: share of falls that
are seen, error and coverage of the change, false alarms on untouched windows; slopes are fitted at
the sites of other groups. With ``--table`` it writes what `autoeval.monitoring.train_changes`
reads. `rule` chooses what a look tests (`CANDIDATES`), and measures the choice at groups of sites
and with detectors that are left out of it. `confirm` measures the shipped rule, as it is, in the
same way at sites that played no part in any choice (`sites_of`, ``unused``). `halves` divides the
images of each site in two, in the order of time and at random: nothing should be seen. `windows`
compares baselines of five windows with the same images as one window, before a sixth. `year`
simulates 50 sites for a year, a window a day, by drawing images of real sites with their boxes:
stable, a slow fall, a sudden fall, day and night, recompression. Everything is seeded.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

import autoeval
from autoeval.accuracy.coco_evaluation import rank_categories
from autoeval.boxes import Boxes
from autoeval.io.coco import read_coco
from autoeval.io.labels.content import labelled_boxes
from autoeval.model.calibration import LIKELY, ScoreCalibration
from autoeval.monitoring.box_change import NUMBERS, ChangeModel, box_numbers, shipped_model
from autoeval.monitoring.looks import (
    ALL,
    FEWEST_WINDOWS,
    RULE,
    SCALES,
    DriftRule,
    Numbers,
    Scale,
    SiteLook,
    evidence,
    look_at,
    p_of_evidence,
    single_numbers,
)
from autoeval.monitoring.monitor import MOST_CATEGORIES
from autoeval.monitoring.train_changes import fit_changes
from autoeval.report.page import format_cells, to_markdown
from benchmarks.panel import group_of

SET, FITTED_ON = "all/coco_mini", "val"
WORDS = {"car": "vehicle", "bus": "vehicle", "truck": "vehicle", "person": "person"}
OTHER = "all"  # sets of other categories
OF_TASK = {"vehicle": ("vehicle",), "person": ("person",), "two": ("vehicle", "person")}
CORRUPTIONS = {
    "gaussian_noise": 3,
    "defocus_blur": 4,
    "fog": 4,
    "zoom_blur": 2,
    "contrast": 3,
    "jpeg_compression": 1,
}
N_IMAGES, N_CHANGED = 64, 16
FALSE_ALARMS, LEVEL = 0.05, 0.9
LARGE = 0.1  # a fall that should be seen
N_SITES, N_DAYS, A_DAY, BASELINE = 50, 365, 24, 7
STEPS = 10  # of a slow fall
KINDS = ("stable", "slow fall", "sudden fall", "day and night", "recompression")
SHARES = (0.4, 0.2, 0.2, 0.1, 0.1)
FROM, UNTIL = 60, 240  # days between which something happens
LOST = 0.85  # of the boxes, at most, after a fall
FOLDS = 5  # of groups of sites, each without the slopes of its own
WEAKER = (0.3, 0.5, 0.7)  # falls of detectors of which there are no corrupted images
CANDIDATES = {
    f"scenes {rule.scenes:g}, on falls {rule.on_falls:g}, on all {rule.on_all:g}, "
    f"on the sum {rule.on_sum:g}": rule
    for scenes in (0.0, 0.01, 0.02, 0.03, 0.04)
    for on_falls in (0.8, 0.9)
    for on_all in (0.5, 0.8)
    for on_sum in (0.0, 0.5, 0.8)
    for rule in [DriftRule(scenes, on_falls, on_all, on_sum)]
}
DRAWS = 1000  # of groups of sites, for an interval
FIRST = 0.5  # share of the false alarms that the first look may spend


def parse_args() -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("export", "corrupted"):
        own = commands.add_parser(name)
        own.add_argument("data", type=Path)
        own.add_argument("out", type=Path)
        own.add_argument("--checkpoint" if name == "export" else "--table")
        if name == "export":
            own.add_argument("--unused", action="store_true", help="the sites of `confirm`")
    for name in ("rule", "confirm", "halves", "windows", "year"):
        own = commands.add_parser(name)
        own.add_argument("data", type=Path)
        if name in ("rule", "confirm"):
            own.add_argument("exported", type=Path, metavar="OUT")
        own.add_argument("detectors", nargs="+", metavar="NAME=PREDICTIONS")
        own.add_argument("--out", type=Path, metavar="FILE.csv")
    return parser.parse_args()


def main() -> None:
    """Run one of the steps, and print its table."""
    args = parse_args()
    warnings.simplefilter("ignore")
    if args.command == "export":
        export(args.data, args.out, args.checkpoint, args.unused)
        return
    if args.command == "corrupted":
        rows, table = corrupted(args.data, args.out)
        if args.table:
            table.to_csv(args.table, index=False, float_format="%.6g")
        print_table(summary_of_corrupted(rows))
        return
    named = dict(text.split("=", 1) for text in args.detectors)
    if args.command == "rule":
        choose_rule(args.data, args.exported, named, args.out)
        return
    if args.command == "confirm":
        confirm(args.data, args.exported, named, args.out)
        return
    step = {"halves": halves, "windows": windows, "year": year}[args.command]
    rows = pd.DataFrame(step(args.data, named))
    if args.out:
        rows.to_csv(args.out, index=False)
    if args.command == "halves":
        print_table(summary_of_halves(rows))
    elif args.command == "windows":
        print_table(summary_of_windows(rows))
        print_table(changes_by_detector(rows))
    else:
        print_table(summary_of_year(rows))


def print_table(table: pd.DataFrame) -> None:
    """Print a table with one digit."""
    formats = dict.fromkeys(table.select_dtypes("floating").columns, "{:.1f}")
    print(to_markdown(format_cells(table, formats)))


@dataclass(frozen=True, eq=False)
class Pool:
    """The images of a site, in the order of time: boxes, truth, and the numbers of each image.

    likely: labels of the categories that are tested, the most frequent one first; see `likely_in`.
    """

    name: str
    boxes: Boxes
    truth: Boxes
    calibration: ScoreCalibration
    likely: tuple[int, ...]

    @cached_property
    def numbers(self) -> Numbers:
        """`box_numbers` of each image (M, len(NUMBERS)): all categories together, and each."""
        together = self.boxes.where(np.isin(self.boxes.label, self.likely))
        several = self.likely[:MOST_CATEGORIES] if len(self.likely) > 1 else ()
        return {ALL: box_numbers(together, self.calibration)} | {
            self.boxes.categories[k]: box_numbers(self.boxes, self.calibration, k) for k in several
        }

    def __len__(self) -> int:
        return len(self.boxes.images)

    def accuracy(self) -> float:
        """Mean average precision by all labels, over the categories that have an object."""
        ranked = rank_categories(self.boxes, self.truth)
        values = [ranking.average_precision().mean() for ranking in ranked]
        return float(np.nanmean(values))


def sites_of(data: Path, *, unused: bool = False) -> list[tuple[str, str]]:
    """Return task and name of the sites of vehicles and persons, without those of COCO.

    unused: the other ones, which no choice has seen: those of other categories, and of COCO.
    """
    tasks = (*OF_TASK, OTHER) if unused else tuple(OF_TASK)
    paths = [path for task in tasks for path in sorted((data / task).glob("*/annotations.json"))]
    names = [(path.parent.parent.name, path.parent.name) for path in paths]
    return [
        (task, name)
        for task, name in names
        if f"{task}/{name}" != SET and (task == OTHER or name.startswith("coco_")) == unused
    ]


def likely_in(boxes: Boxes, calibration: ScoreCalibration) -> tuple[int, ...]:
    """Return the categories that have a likely box, the most frequent one first, as a monitor."""
    likely = boxes.label[calibration.at_half(boxes.scores, boxes.boxes) > LIKELY]
    counts = np.bincount(likely, minlength=len(boxes.categories))
    return tuple(int(k) for k in np.argsort(-counts, kind="stable") if counts[k])


def pool(
    data: Path,
    task: str,
    name: str,
    file: Path,
    calibration: ScoreCalibration,
    ids: Any = None,
    likely: tuple[int, ...] | None = None,
) -> Pool:
    """Read the boxes of a detector on a site; of the images `ids` in their order.

    likely: see `Pool`; by default by these boxes, or both of vehicles and persons.
    """
    content = read_coco(data / task / name / "annotations.json")
    images = list(content.images)
    if ids is not None:
        by_id = {image.image_id: image for image in images}
        images = [by_id[image_id] for image_id in ids]
    found = autoeval.Predictions(file).read(images, where=str(file), numbers={}).boxes
    names = OF_TASK.get(task) or tuple(sorted({box.category for box in content.boxes}))
    boxes = found.as_categories(names, WORDS if task in OF_TASK else {name: name for name in names})
    truth = labelled_boxes(content, names)
    if likely is None:
        likely = tuple(range(len(names))) if task in OF_TASK else likely_in(boxes, calibration)
    at = {image.image_id: k for k, image in enumerate(content.images)}
    chosen = np.array([at[image.image_id] for image in images])
    return Pool(name, boxes, truth.on_images(chosen), calibration, likely)


def calibration_of(data: Path, predictions: Path) -> ScoreCalibration:
    """Fit the calibration of a detector on the `val` images of the labelled set."""
    content = json.loads((data / SET / "annotations.json").read_bytes())
    kept = {image["id"] for image in content["images"] if image["coco_split"] == FITTED_ON}
    content["images"] = [image for image in content["images"] if image["id"] in kept]
    content["annotations"] = [box for box in content["annotations"] if box["image_id"] in kept]
    with tempfile.TemporaryDirectory() as folder:
        labels = Path(folder) / "set.json"
        labels.write_text(json.dumps(content))
        fitted = autoeval.fit(labels, str(predictions / f"{SET}.json"))
    assert fitted.calibration_ is not None
    return fitted.calibration_


def taken(numbers: Numbers, places: np.ndarray) -> Numbers:
    """Take some of the images."""
    return {name: values[places] for name, values in numbers.items()}


def means_of(numbers: Numbers) -> dict[str, np.ndarray]:
    """Return the means over images."""
    return {name: values.mean(axis=0) for name, values in numbers.items()}


def first_look(
    baseline: Numbers, later: Numbers, level: float, model: ChangeModel | None = None
) -> SiteLook:
    """Look at one window after a baseline of one window, as a monitor does."""
    steady = [means_of(baseline)]
    return look_at(1, [baseline], [later], steady, model or shipped_model(), level, LEVEL)


def export(data: Path, out: Path, checkpoint: str | None, unused: bool = False) -> None:
    """Run YOLOX-nano over the images, as they are and corrupted; files that are there are kept."""
    from autoeval.detectors import load_detector
    from autoeval.io.images import read_image
    from autoeval.runtime.files import write_json
    from autoeval.stability.metasets.transforms import TransformStep, apply_step
    from benchmarks.trained_detectors import entries

    detector = load_detector("yolox_nano", checkpoint=checkpoint)

    def run(folder: Path, images: Sequence[Any], step: Any, path: Path) -> None:
        rows = []
        for image in [] if path.exists() else images:
            pixels = read_image(folder / "images" / image.file_name)
            if step is not None:
                rng = np.random.default_rng(int(image.image_id))
                pixels, _, _ = apply_step(step, pixels, np.empty((0, 4)), rng=rng)
            (seen,) = detector.observe([pixels], [image.image_id])
            rows += entries(seen.clean, image.image_id, image.file_name, detector.categories)
        if not path.exists():
            write_json(path, rows, indent=None)

    content = read_coco(data / SET / "annotations.json")
    val = {
        str(image["id"])
        for image in json.loads((data / SET / "annotations.json").read_bytes())["images"]
        if image["coco_split"] == FITTED_ON
    }
    images = [image for image in content.images if str(image.image_id) in val]
    run(data / SET, images, None, out / f"{SET}.json")
    for task, name in tqdm(sites_of(data, unused=unused)):
        folder = data / task / name
        chosen = evenly(read_coco(folder / "annotations.json").images)
        run(folder, chosen, None, out / task / f"{name}.json")
        for kind, severity in CORRUPTIONS.items():
            step = TransformStep(kind, severity)
            run(folder, chosen[-N_CHANGED:], step, out / task / f"{name}__{kind}.json")


def evenly(images: Sequence[Any]) -> list[Any]:
    """Take `N_IMAGES` of the images, evenly."""
    places = np.linspace(0, len(images) - 1, min(N_IMAGES, len(images))).astype(int)
    return [images[k] for k in places]


@dataclass(frozen=True, eq=False)
class CorruptedSite:
    """The images of a site before, and those after as they are and corrupted, by kind."""

    name: str
    before: Pool
    after: Mapping[str, Pool]


def corrupted_sites(data: Path, out: Path, *, unused: bool = False) -> Iterator[CorruptedSite]:
    """Read what `export` wrote."""
    calibration = calibration_of(data, out)
    for task, name in tqdm(sites_of(data, unused=unused)):
        file = out / task / f"{name}.json"
        if not file.exists():
            continue
        images = evenly(read_coco(data / task / name / "annotations.json").images)
        ids = [image.image_id for image in images]
        before = pool(data, task, name, file, calibration, ids[:-N_CHANGED])
        after = {
            kind: pool(
                data,
                task,
                name,
                out / task / f"{name}__{kind}.json" if kind else file,
                calibration,
                ids[-N_CHANGED:],
                before.likely,
            )
            for kind in ("", *CORRUPTIONS)
        }
        yield CorruptedSite(name, before, after)


def corrupted(data: Path, out: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return a row for each site under each corruption, and untouched; and the table of slopes.

    In that table the same images are compared before and after a corruption.
    """
    sites = list(corrupted_sites(data, out))
    table = pd.DataFrame([row for site in sites for row in known_changes(site)])
    groups = sorted(table["group"].unique())
    fold_of = {group: k % FOLDS for k, group in enumerate(groups)}
    models = {
        fold: fit_changes(table[table["group"].map(fold_of) != fold])
        for fold in tqdm(range(FOLDS), "slopes")
    }
    rows = [
        row
        for site in sites
        for row in looks_at_corrupted(site, models[fold_of[group_of(site.name)]])
    ]
    return pd.DataFrame(rows), table


def looks_at_corrupted(site: CorruptedSite, model: ChangeModel) -> Iterator[dict[str, Any]]:
    """Yield what one look says of the images of a site under each corruption, and untouched."""
    level, then = site.before.accuracy(), site.after[""].accuracy()
    for kind, changed in site.after.items():
        row: dict[str, Any] = {"site": site.name, "kind": kind}
        row["true"] = changed.accuracy() - then
        rng = np.random.default_rng(0)
        orders = {
            "in time": (np.arange(len(site.before)), np.arange(len(changed))),
            "independent": (rng.permutation(len(site.before)), rng.permutation(len(changed))),
        }
        for order, (first, last) in orders.items():
            baseline, later = taken(site.before.numbers, first), taken(changed.numbers, last)
            seen = first_look(baseline, later, level, model)
            assert seen.change is not None
            row |= {
                f"fell {order}": seen.fell(FALSE_ALARMS),
                f"seen {order}": seen.changed(FALSE_ALARMS),
            }
            row |= seen.change.__dict__
        yield row


def known_changes(site: CorruptedSite) -> Iterator[dict[str, Any]]:
    """Yield a row of the table of slopes for each corruption."""
    untouched = site.after[""]
    level, before = untouched.accuracy(), means_of(untouched.numbers)[ALL]
    for kind in CORRUPTIONS:
        changed = site.after[kind]
        row = {"site": site.name, "group": group_of(site.name), "kind": kind, "before": level}
        row["change"] = changed.accuracy() - level
        for when, means in (("before", before), ("after", means_of(changed.numbers)[ALL])):
            row |= {f"{when}/{name}": means[k] for k, name in enumerate(NUMBERS)}
        yield row


def summary_of_corrupted(rows: pd.DataFrame) -> pd.DataFrame:
    """Return errors and power in per cent and points, by kind."""
    groups = {kind or "untouched": own for kind, own in rows.groupby("kind")}
    changed = rows[rows["kind"] != ""]
    groups["all changes"] = changed
    groups["falls over 10 points"] = changed[changed["true"] < -LARGE]
    table = []
    for name, own in groups.items():
        inside = (own["lower"] <= own["true"]) & (own["true"] <= own["upper"])
        table.append(
            {
                "images": name,
                "sites": len(own),
                "true mean": 100 * own["true"].mean(),
                "MAE": 100 * (own["value"] - own["true"]).abs().mean(),
                "coverage (%)": 100 * inside.mean(),
                "fell (%)": 100 * own["fell independent"].mean(),
                "fell or changed (%)": 100 * own["seen independent"].mean(),
                "in time: fell or changed (%)": 100 * own["seen in time"].mean(),
            }
        )
    return pd.DataFrame(table)


def halves(data: Path, named: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Yield what is seen between two halves of the images of every site."""
    for detector, folder in named.items():
        calibration = calibration_of(data, Path(folder))
        for task, name in tqdm(sites_of(data), detector):
            file = Path(folder) / task / f"{name}.json"
            if not file.exists():
                continue
            of_site = pool(data, task, name, file, calibration)
            level, half = of_site.accuracy(), len(of_site) // 2
            for order in ("in time", "at random"):
                places = np.arange(len(of_site))
                if order == "at random":
                    places = np.random.default_rng(0).permutation(len(of_site))
                first, last = (
                    taken(of_site.numbers, part) for part in (places[:half], places[half:])
                )
                seen = first_look(first, last, level)
                yield {
                    "detector": detector,
                    "site": name,
                    "halves": order,
                    "fell": seen.fell(FALSE_ALARMS),
                    "seen": seen.changed(FALSE_ALARMS),
                }


def windows(data: Path, named: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Yield what a look at one window sees after a baseline of five windows, and of one.

    The baselines hold the same images; the window is as it is, or has lost boxes.
    """
    n_before = FEWEST_WINDOWS * N_CHANGED
    for detector, folder in named.items():
        calibration = calibration_of(data, Path(folder))
        for task, name in tqdm(sites_of(data), detector):
            file = Path(folder) / task / f"{name}.json"
            of_site = pool(data, task, name, file, calibration) if file.exists() else None
            if of_site is None or len(of_site) < n_before + N_CHANGED:
                continue
            level = of_site.accuracy()
            after = [of_site, *(weakened(of_site, share, 7) for share in WEAKER)]
            changes = [later.accuracy() - level for later in after]
            for order in ("in time", "at random"):
                places = np.arange(len(of_site))
                if order == "at random":
                    places = np.random.default_rng(0).permutation(len(of_site))
                last = places[n_before:][:N_CHANGED]
                for n_windows in (1, FEWEST_WINDOWS):
                    parts = np.split(places[:n_before], n_windows)
                    baseline = [taken(of_site.numbers, part) for part in parts]
                    steady = [means_of(numbers) for numbers in baseline]
                    for later, change in zip(after, changes, strict=True):
                        numbers = [taken(later.numbers, last)]
                        model = shipped_model()
                        seen = look_at(1, baseline, numbers, steady, model, level, LEVEL)
                        assert seen.change is not None
                        yield {
                            "detector": detector,
                            "site": name,
                            "true": change,
                            **seen.change.__dict__,
                            "order": order,
                            "windows in the baseline": n_windows,
                            "untouched": later is of_site,
                            "large": change < -LARGE,
                            "fell": seen.fell(FALSE_ALARMS),
                            "seen": seen.changed(FALSE_ALARMS),
                        }


def summary_of_windows(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the shares in per cent, of untouched windows and of falls over 10 points."""
    table = []
    for (order, n_windows), own in rows.groupby(["order", "windows in the baseline"]):
        row = {"order": order, "windows in the baseline": n_windows}
        for name, part in (("untouched", own["untouched"]), ("falls", own["large"])):
            row |= {name: int(part.sum())}
            row |= {f"{name}: fell (%)": 100 * own[part]["fell"].mean()}
            row |= {f"{name}: fell or changed (%)": 100 * own[part]["seen"].mean()}
        table.append(row)
    return pd.DataFrame(table)


def changes_by_detector(rows: pd.DataFrame) -> pd.DataFrame:
    """Return error and coverage of the change where boxes are lost, in points and per cent."""
    kept = rows[~rows["untouched"] & (rows["order"] == "at random")]
    kept = kept[kept["windows in the baseline"] == 1]
    table = []
    for detector, own in kept.groupby("detector"):
        inside = (own["lower"] <= own["true"]) & (own["true"] <= own["upper"])
        row = {"detector": detector, "changes": len(own), "true mean": 100 * own["true"].mean()}
        row["MAE"] = 100 * (own["value"] - own["true"]).abs().mean()
        row["coverage (%)"] = 100 * inside.mean()
        row["falls over 10 points"] = int(own["large"].sum())
        row["their coverage (%)"] = 100 * inside[own["large"]].mean()
        table.append(row)
    return pd.DataFrame(table)


def choose_rule(data: Path, exported: Path, named: Mapping[str, str], out: Path | None) -> None:
    """Choose among `CANDIDATES`, and print the choice, and what it sees where it was not chosen.

    Chosen is the rule that sees most falls over 10 points among those by which at most
    `FALSE_ALARMS` of the halves in time of the other sites are seen.
    """
    looks = []
    for what, scale in looks_to_choose_by(data, exported, named):
        n_before = sum(len(window[ALL]) for window in scale.baseline)
        found: dict[float, dict[str, np.ndarray]] = {}
        for name, rule in CANDIDATES.items():
            if rule.scenes not in found:  # the shares are spent on what these give
                found[rule.scenes] = {
                    of: evidence([scale], of, single_numbers([scale], of, rule), rule)
                    for of in scale.later[-1]
                }
            p = p_of_evidence(found[rule.scenes], rule)
            seen = p <= FIRST * FALSE_ALARMS
            looks.append({**what, "before": n_before, "rule": name, "seen": seen})
    rows = pd.DataFrame(looks)
    if out:
        rows.to_csv(out, index=False)
    apart, picked = [], []
    for group in rows["group"].unique():
        for detector in rows["detector"].unique():
            inside = (rows["group"] == group) & (rows["detector"] == detector)
            others = rows[(rows["group"] != group) & (rows["detector"] != detector)]
            picked.append(best_rule(others))
            apart.append(rows[inside & (rows["rule"] == picked[-1])])
    chosen = best_rule(rows)
    shares = {
        "chosen elsewhere": pd.concat(apart),
        **{name: rows[rows["rule"] == name] for name in dict.fromkeys([chosen, *picked])},
    }
    table = pd.DataFrame(
        [
            {"rule": name, "chosen": picked.count(name)}
            | (100 * of_rule.groupby("looks")["seen"].mean()).to_dict()
            for name, of_rule in shares.items()
        ]
    )
    print_table(table)
    n_looks = rows[rows["rule"] == chosen].groupby("looks").size()
    print(f"Chosen on all: {chosen}. Looks: {n_looks.to_dict()}")
    print(falls_text(pd.concat(apart)))


def confirm(data: Path, exported: Path, named: Mapping[str, str], out: Path | None) -> None:
    """Print what the shipped rule sees, and slopes say, at sites that no choice has seen."""
    looks = []
    for what, scale in looks_to_choose_by(data, exported, named, unused=True):
        found = {
            of: evidence([scale], of, single_numbers([scale], of, RULE), RULE)
            for of in scale.later[-1]
        }
        seen = p_of_evidence(found, RULE) <= FIRST * FALSE_ALARMS
        before = sum(len(window[ALL]) for window in scale.baseline)
        kind = "COCO" if what["group"] == "coco" else "other categories"
        looks.append({**what, "sites": kind, "before": before, "seen": seen})
    rows = pd.DataFrame(looks)
    if out:
        rows.to_csv(out, index=False)
    table = rows.groupby("looks")["seen"].agg(["size", "mean"])
    table = pd.DataFrame({"n": table["size"], "seen (%)": 100 * table["mean"]})
    for kind, own in rows.groupby("sites"):
        table[f"{kind} (%)"] = 100 * own.groupby("looks")["seen"].mean()
    print_table(table.reset_index())
    print(falls_text(rows))
    sites = corrupted_sites(data, exported, unused=True)
    of_sites = [row for site in sites for row in looks_at_corrupted(site, shipped_model())]
    print_table(summary_of_corrupted(pd.DataFrame(of_sites)))


def falls_text(rows: pd.DataFrame) -> str:
    """Say how many falls are seen, with an interval, and by how many images the baseline has."""
    falls = rows[rows["looks"].str.startswith("falls")]
    of_group = [own["seen"].to_numpy() for _, own in falls.groupby("group")]
    rng = np.random.default_rng(0)
    drawn = [
        np.concatenate([of_group[k] for k in rng.integers(len(of_group), size=len(of_group))])
        for _ in range(DRAWS)
    ]
    lower, upper = np.quantile([seen.mean() for seen in drawn], [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    full = falls["before"] >= N_IMAGES - N_CHANGED
    shares = [f"{100 * falls[part]['seen'].mean():.1f} % of {part.sum()}" for part in (full, ~full)]
    return (
        f"Falls seen: {100 * falls['seen'].mean():.1f} % "
        f"({LEVEL:.0%} interval {100 * lower:.0f} to {100 * upper:.0f}, groups drawn again); "
        f"{shares[0]} with {N_IMAGES - N_CHANGED} images in the baseline, {shares[1]} with fewer"
    )


def best_rule(rows: pd.DataFrame) -> str:
    """Return the rule that sees most falls and not too much of halves in time."""
    shares = rows.pivot_table(index="rule", columns="looks", values="seen")
    falls = shares[[name for name in shares if name.startswith("falls")]].mean(axis=1)
    false = shares["halves in time"]
    return str(falls.where(false <= FALSE_ALARMS, -1 - false).idxmax())


def looks_to_choose_by(
    data: Path, exported: Path, named: Mapping[str, str], *, unused: bool = False
) -> Iterator[tuple[dict[str, str], Scale]]:
    """Yield looks: halves in time and at random, and windows of 16 images under changes.

    unused: at the other sites; see `sites_of`.
    """

    def scale(before: Numbers, after: Numbers) -> Scale:
        return Scale([before], [after], [means_of(before)])

    for site in corrupted_sites(data, exported, unused=unused):
        what = {"detector": "yolox", "site": site.name, "group": group_of(site.name)}
        then = site.after[""].accuracy()
        for kind, changed in site.after.items():
            looks = "smaller changes" if kind else "untouched, at random"
            if kind == "jpeg_compression":
                looks = "mild JPEG"
            elif changed.accuracy() - then < -LARGE:
                looks = "falls, corrupted"
            for seed in range(2):
                rng = np.random.default_rng(seed)
                first = taken(site.before.numbers, rng.permutation(len(site.before)))
                last = taken(changed.numbers, rng.permutation(len(changed)))
                yield {**what, "looks": looks}, scale(first, last)
    for detector, folder in named.items():
        calibration = calibration_of(data, Path(folder))
        for task, name in tqdm(sites_of(data, unused=unused), detector):
            file = Path(folder) / task / f"{name}.json"
            if not file.exists():
                continue
            of_site = pool(data, task, name, file, calibration)
            numbers, n = of_site.numbers, len(of_site)
            what = {"detector": detector, "site": name, "group": group_of(name)}
            halves = np.split(np.arange(n), [n // 2])
            yield {**what, "looks": "halves in time"}, scale(*(taken(numbers, h) for h in halves))
            n_before = min(N_IMAGES - N_CHANGED, 3 * n // 4)
            early, late = np.arange(n)[:n_before], np.arange(n)[n_before:][:N_CHANGED]
            yield (
                {**what, "looks": "16 after 48, in time"},
                scale(taken(numbers, early), taken(numbers, late)),
            )
            weaker = [weakened(of_site, share, 7) for share in WEAKER]
            for seed in range(2):
                order = np.random.default_rng(seed).permutation(n)
                halves = np.split(order, [n // 2])
                yield (
                    {**what, "looks": "halves at random"},
                    scale(*(taken(numbers, h) for h in halves)),
                )
                early, late = order[:n_before], order[n_before:][:N_CHANGED]
                yield (
                    {**what, "looks": "16 after 48, at random"},
                    scale(taken(numbers, early), taken(numbers, late)),
                )
                for after in weaker:
                    large = after.accuracy() - of_site.accuracy() < -LARGE
                    looks = "falls, boxes lost" if large else "smaller changes"
                    yield (
                        {**what, "looks": looks},
                        scale(taken(numbers, early), taken(after.numbers, late)),
                    )


def summary_of_halves(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the shares in per cent."""
    table = rows.groupby("halves").agg(sites=("fell", "size"), fell=("fell", "mean"))
    table["fell or changed (%)"] = 100 * rows.groupby("halves")["seen"].mean()
    return table.assign(fell=100 * table["fell"]).rename(columns={"fell": "fell (%)"}).reset_index()


def weakened(of_site: Pool, share: float, seed: int) -> Pool:
    """Lose boxes of a site: unsure and small ones first, and lower the confidence of the rest."""
    boxes, rng = of_site.boxes, np.random.default_rng(seed)
    area = np.prod(boxes.boxes[:, 2:] - boxes.boxes[:, :2], axis=1)
    rank = np.argsort(np.argsort(area)) / max(len(area) - 1, 1)
    easy = 0.5 * np.asarray(boxes.scores, float) + 0.5 * rank
    kept = rng.random(len(boxes)) > np.clip(2 * share * (1 - easy), 0, 0.98)
    lower = replace_scores(boxes, np.asarray(boxes.scores) ** (1 + share))
    return replace(of_site, boxes=lower.where(kept))


def replace_scores(boxes: Boxes, scores: np.ndarray) -> Boxes:
    """Return the same boxes with other scores."""
    return replace(boxes, scores=scores.astype(boxes.scores.dtype))


def year(data: Path, named: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Yield a row for each day of each simulated site."""
    pools = []
    for folder in named.values():
        calibration = calibration_of(data, Path(folder))
        for task, name in sites_of(data):
            file = Path(folder) / task / f"{name}.json"
            if file.exists():
                pools.append(pool(data, task, name, file, calibration))
    rng = np.random.default_rng(0)
    order = rng.permutation(len(pools))
    kinds = np.repeat(KINDS, (np.array(SHARES) * N_SITES).astype(int))
    for site, kind in enumerate(tqdm(kinds)):
        of_site = pools[order[site % len(pools)]]
        yield from simulated(site, str(kind), of_site)


def simulated(site: int, kind: str, of_site: Pool) -> Iterator[dict[str, Any]]:
    """Yield a row for each day after the baseline of one site.

    A day shows `A_DAY` images of a random third of the pool: days differ more than images do.
    """
    rng = np.random.default_rng([1, site])
    begin = int(rng.integers(FROM, UNTIL))
    share = float(rng.uniform(0.4, LOST)) if "fall" in kind else 0.08
    steps = np.linspace(0, share, STEPS + 1) if "fall" in kind else np.array([0.0, share])
    if kind == "day and night":
        steps = np.array([0.0, 0.35])
    levels = [weakened(of_site, float(step), 7) if step else of_site for step in steps]
    numbers, accuracies = [one.numbers for one in levels], [one.accuracy() for one in levels]
    windows: list[Numbers] = []
    steady: list[dict[str, np.ndarray]] = []
    for day in range(N_DAYS):
        third = rng.permutation(len(of_site.boxes.images))[: max(len(of_site.boxes.images) // 3, 8)]
        places = rng.choice(third, A_DAY)
        at = _state(kind, day, begin, len(steps))
        picked: Numbers
        if kind == "day and night":  # every second image is one of the night, all year
            night = np.arange(A_DAY)[:, None] % 2
            picked = {
                name: np.where(night, numbers[1][name][places], values[places])
                for name, values in numbers[0].items()
            }
            true, change = float(np.mean(accuracies)), 0.0
        else:
            picked = taken(numbers[at], places)
            true, change = accuracies[at], accuracies[at] - accuracies[0]
        windows.append(picked)
        if day < BASELINE:
            steady.append(means_of(picked))
            continue
        seen = look_at(
            day + 1 - BASELINE,
            windows[:BASELINE],
            windows[max(BASELINE, day + 1 - SCALES[-1]) :],
            steady,
            shipped_model(),
            accuracies[0],
            LEVEL,
        )
        if seen.p >= 1e-3:
            steady.append(means_of(picked))
        assert seen.change is not None
        yield {
            "site": site,
            "kind": kind,
            "day": day,
            "begin": begin if kind in ("slow fall", "sudden fall", "recompression") else N_DAYS,
            "true": change,
            "level": true,
            "value": seen.change.value,
            "lower": seen.change.lower,
            "upper": seen.change.upper,
            "fell": seen.fell(FALSE_ALARMS),
            "changed": seen.changed(FALSE_ALARMS),
        }


def _state(kind: str, day: int, begin: int, n_steps: int) -> int:
    """Return which of the steps of a site is in force on a day."""
    if kind in ("stable", "day and night") or day < begin:
        return 0
    if kind == "slow fall":  # over four months
        return min(1 + (day - begin) * STEPS // 120, n_steps - 1)
    return n_steps - 1


def summary_of_year(rows: pd.DataFrame) -> pd.DataFrame:
    """Return delays in days, false alarms by site and year, and coverage, by kind of site."""
    table = []
    for kind in KINDS:
        own = rows[rows["kind"] == kind]
        sites = [site for _, site in own.groupby("site")]
        still = [site[site["day"] < site["begin"]] for site in sites]
        large = own.groupby("site")["true"].min() < -LARGE
        delays: list[float] = []
        seen_delays: list[float] = []
        for site in sites:
            fallen = site[site["true"] < -LARGE]
            if len(fallen):
                first = fallen["day"].iloc[0]
                after = site[site["day"] >= first]
                for found, column in ((delays, "fell"), (seen_delays, "changed")):
                    days = after.loc[after[column], "day"]
                    found.append(days.iloc[0] - first + 1 if len(days) else np.inf)
        starts = sum(_starts(site["fell"]) for site in still)
        starts_seen = sum(_starts(site["changed"]) for site in still)
        years = sum(map(len, still)) / N_DAYS
        inside = (own["lower"] <= own["true"]) & (own["true"] <= own["upper"])
        table.append(
            {
                "sites": kind,
                "n": len(sites),
                "false `fell` a site and year": f"{starts / years:.3f}",
                "false `changed` a site and year": f"{starts_seen / years:.3f}",
                "falls over 10 points": int(large.sum()),
                "seen (%)": 100 * float(np.mean(np.isfinite(seen_delays))) if delays else np.nan,
                "as `fell` (%)": 100 * float(np.mean(np.isfinite(delays))) if delays else np.nan,
                "median days until seen": float(np.median(seen_delays)) if delays else np.nan,
                "median days until `fell`": float(np.median(delays)) if delays else np.nan,
                "MAE of the change": 100 * (own["value"] - own["true"]).abs().mean(),
                "coverage (%)": 100 * inside.mean(),
            }
        )
    return pd.DataFrame(table)


def _starts(flags: pd.Series) -> int:
    """Count how often an alarm begins."""
    values = flags.to_numpy(bool)
    return int(values[:1].sum() + (values[1:] & ~values[:-1]).sum())


if __name__ == "__main__":
    main()
