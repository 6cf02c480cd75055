"""Measure what a monitor sees of a change: how large it is, how soon it is seen, what is false.

    python -m benchmarks.changes export DATA OUT --checkpoint FILE
    python -m benchmarks.changes corrupted DATA OUT [--table FILE.csv]
    python -m benchmarks.changes halves DATA NAME=PREDICTIONS ...
    python -m benchmarks.changes year DATA NAME=PREDICTIONS ...

DATA holds labelled sites as ``TASK/SITE/annotations.json`` with ``images/``. `export` writes what a
detector finds on 64 images of each site, and on the last 16 of them under each of `CORRUPTIONS`,
into OUT. `corrupted` takes the first 48 as baseline and the 16 as one window: share of falls that
are seen, error and coverage of the change, false alarms on untouched windows; with ``--table`` it
writes what `autoeval.monitoring.train_changes` reads. `halves` divides the images of each site in
two, in the order of time and at random: nothing should be seen. `year` simulates 50 sites for a
year, a window a day, by drawing images of real sites with their boxes: stable, a slow fall, a
sudden fall, day and night, recompression. Everything is seeded.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

import autoeval
from autoeval.accuracy.coco_matching import rank_categories
from autoeval.io.coco import read_coco
from autoeval.io.labels.truth import Truth
from autoeval.io.predictions import FoundBoxes
from autoeval.model.calibration import ScoreCalibration
from autoeval.monitoring.box_change import NUMBERS, box_numbers, shipped_model
from autoeval.monitoring.looks import SCALES, SiteLook, look_at
from autoeval.report.tables import format_cells, to_markdown

SET, FITTED_ON = "all/coco_mini", "val"
WORDS = {"car": "vehicle", "bus": "vehicle", "truck": "vehicle", "person": "person"}
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


def parse_args() -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("export", "corrupted"):
        own = commands.add_parser(name)
        own.add_argument("data", type=Path)
        own.add_argument("out", type=Path)
        own.add_argument("--checkpoint" if name == "export" else "--table")
    for name in ("halves", "year"):
        own = commands.add_parser(name)
        own.add_argument("data", type=Path)
        own.add_argument("detectors", nargs="+", metavar="NAME=PREDICTIONS")
        own.add_argument("--out", type=Path, metavar="FILE.csv")
    return parser.parse_args()


def main() -> None:
    """Run one of the steps, and print its table."""
    args = parse_args()
    warnings.simplefilter("ignore")
    if args.command == "export":
        export(args.data, args.out, args.checkpoint)
        return
    if args.command == "corrupted":
        rows = pd.DataFrame(corrupted(args.data, args.out))
        if args.table:
            rows[rows["kind"] != ""].to_csv(args.table, index=False)
        print_table(summary_of_corrupted(rows))
        return
    named = dict(text.split("=", 1) for text in args.detectors)
    step = halves if args.command == "halves" else year
    rows = pd.DataFrame(step(args.data, named))
    if args.out:
        rows.to_csv(args.out, index=False)
    print_table(summary_of_halves(rows) if step is halves else summary_of_year(rows))


def print_table(table: pd.DataFrame) -> None:
    """Print a table with one digit."""
    formats = dict.fromkeys(table.select_dtypes("floating").columns, "{:.1f}")
    print(to_markdown(format_cells(table, formats)))


@dataclass(frozen=True, eq=False)
class Pool:
    """The images of a site, in the order of time: boxes, truth, and the numbers of each image."""

    name: str
    boxes: FoundBoxes
    truth: Truth
    calibration: ScoreCalibration

    @property
    def numbers(self) -> np.ndarray:
        """Of all categories together, (M, len(NUMBERS))."""
        return box_numbers(self.boxes, self.calibration)

    def accuracy(self) -> float:
        """Mean average precision by all labels, over the categories that have an object."""
        ranked = rank_categories(self.boxes, self.truth)
        values = [ranking.average_precision().mean() for ranking in ranked]
        return float(np.nanmean(values))


def sites_of(data: Path) -> list[tuple[str, str]]:
    """Return task and name of the sites of vehicles and persons, without those of COCO."""
    paths = [path for task in OF_TASK for path in sorted((data / task).glob("*/annotations.json"))]
    names = [(path.parent.parent.name, path.parent.name) for path in paths]
    return [(task, name) for task, name in names if not name.startswith("coco_")]


def pool(
    data: Path, task: str, name: str, file: Path, calibration: ScoreCalibration, ids: Any = None
) -> Pool:
    """Read the boxes of a detector on a site; of the images `ids` in their order."""
    content = read_coco(data / task / name / "annotations.json")
    images = list(content.images)
    if ids is not None:
        by_id = {image.image_id: image for image in images}
        images = [by_id[image_id] for image_id in ids]
    found = autoeval.Predictions(file).read(images, where=str(file), numbers={}).clean
    boxes = found.as_categories(OF_TASK[task], WORDS)
    truth = Truth.of(content, OF_TASK[task])
    at = {image.image_id: k for k, image in enumerate(content.images)}
    chosen = np.array([at[image.image_id] for image in images])
    return Pool(name, boxes, truth.on_images(chosen), calibration)


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


def look(
    number: int, baseline: Sequence[np.ndarray], later: Sequence[np.ndarray], level: float
) -> SiteLook:
    """Look at windows of numbers, as a monitor does."""
    windows = [{"": numbers} for numbers in baseline]
    steady = [{"": numbers.mean(axis=0)} for numbers in baseline]
    after = [{"": numbers} for numbers in later[-SCALES[-1] :]]
    return look_at(number, windows, after, steady, shipped_model(), level, LEVEL)


def export(data: Path, out: Path, checkpoint: str | None) -> None:
    """Run YOLOX-nano over the images, as they are and corrupted; files that are there are kept."""
    from autoeval.detectors import load_detector
    from autoeval.io.images import read_image
    from autoeval.runtime.files import write_json
    from autoeval.stability.metasets.transforms import TransformStep, apply_step
    from benchmarks.export_predictions import entries

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
    for task, name in tqdm(sites_of(data)):
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


def corrupted(data: Path, out: Path) -> Iterator[dict[str, Any]]:
    """Yield a row for each site under each corruption, and untouched."""
    calibration = calibration_of(data, out)
    for task, name in tqdm(sites_of(data)):
        file = out / task / f"{name}.json"
        if not file.exists():
            continue
        images = evenly(read_coco(data / task / name / "annotations.json").images)
        ids = [image.image_id for image in images]
        before = pool(data, task, name, file, calibration, ids[:-N_CHANGED])
        untouched = pool(data, task, name, file, calibration, ids[-N_CHANGED:])
        baseline, level, then = before.numbers, before.accuracy(), untouched.accuracy()
        for kind in ("", *CORRUPTIONS):
            changed = untouched
            if kind:
                path = out / task / f"{name}__{kind}.json"
                changed = pool(data, task, name, path, calibration, ids[-N_CHANGED:])
            true, numbers = changed.accuracy() - then, changed.numbers
            rng = np.random.default_rng(0)
            orders = {
                "in time": (np.arange(len(baseline)), np.arange(N_CHANGED)),
                "independent": (rng.permutation(len(baseline)), rng.permutation(N_CHANGED)),
            }
            row: dict[str, Any] = {"site": name, "group": name, "kind": kind, "true": true}
            row |= {"before": level, "change": changed.accuracy() - level}
            for order, (first, last) in orders.items():
                seen = look(1, [baseline[first]], [numbers[last]], level)
                assert seen.change is not None
                row |= {
                    f"fell {order}": seen.fell(FALSE_ALARMS),
                    f"seen {order}": seen.changed(FALSE_ALARMS),
                }
                row |= {"value": seen.change.value}
                row |= {"lower": seen.change.lower, "upper": seen.change.upper}
            for when, of in (("before", baseline), ("after", numbers)):
                means = of.mean(axis=0)
                row |= {f"{when}/{column}": means[k] for k, column in enumerate(NUMBERS)}
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
            numbers, level = of_site.numbers, of_site.accuracy()
            half = len(numbers) // 2
            for order in ("in time", "at random"):
                places = np.arange(len(numbers))
                if order == "at random":
                    places = np.random.default_rng(0).permutation(len(numbers))
                seen = look(1, [numbers[places[:half]]], [numbers[places[half:]]], level)
                yield {
                    "detector": detector,
                    "site": name,
                    "halves": order,
                    "fell": seen.fell(FALSE_ALARMS),
                    "seen": seen.changed(FALSE_ALARMS),
                }


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
    return Pool(of_site.name, lower.where(kept), of_site.truth, of_site.calibration)


def replace_scores(boxes: FoundBoxes, scores: np.ndarray) -> FoundBoxes:
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
    windows: list[np.ndarray] = []
    steady: list[dict[str, np.ndarray]] = []
    for day in range(N_DAYS):
        third = rng.permutation(len(of_site.boxes.images))[: max(len(of_site.boxes.images) // 3, 8)]
        places = rng.choice(third, A_DAY)
        at = _state(kind, day, begin, len(steps))
        if kind == "day and night":  # every second image is one of the night, all year
            picked = np.where(np.arange(A_DAY)[:, None] % 2, numbers[1][places], numbers[0][places])
            true, change = float(np.mean(accuracies)), 0.0
        else:
            picked = numbers[at][places]
            true, change = accuracies[at], accuracies[at] - accuracies[0]
        windows.append(picked)
        if day < BASELINE:
            steady.append({"": picked.mean(axis=0)})
            continue
        seen = look_at(
            day + 1 - BASELINE,
            [{"": window} for window in windows[:BASELINE]],
            [{"": window} for window in windows[max(BASELINE, day + 1 - SCALES[-1]) :]],
            steady,
            shipped_model(),
            accuracies[0],
            LEVEL,
        )
        if seen.p >= 1e-3:
            steady.append({"": picked.mean(axis=0)})
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
