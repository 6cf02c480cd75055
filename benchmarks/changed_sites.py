"""Labelled sites before and after known changes, which `benchmarks.changes` measures by.

DATA holds labelled sites as ``TASK/SITE/annotations.json`` with ``images/``. `export` writes what a
detector finds on 64 images of each, and on the last 16 of them under each of `CORRUPTIONS`, into a
folder OUT; or on other images, under corruptions, that no choice has seen (`FRESH`).
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pandas as pd
from tqdm import tqdm

import autoeval
from autoeval.accuracy.coco_evaluation import rank_categories
from autoeval.boxes import Boxes
from autoeval.io.coco import read_coco
from autoeval.io.images import read_image
from autoeval.io.labels.content import labelled_boxes
from autoeval.model.calibration import LIKELY, ScoreCalibration
from autoeval.monitoring.box_change import box_numbers
from autoeval.monitoring.looks import (
    ALL,
    SIDE,
    TESTED,
    Difference,
    DriftRule,
    Numbers,
    Scale,
    evidence,
    p_of_evidence,
    single_numbers,
)
from autoeval.monitoring.monitor import MOST_CATEGORIES
from benchmarks.panel import FITTED_ON, OF_TASK, SET, WORDS, group_of, in_part, write_part

OTHER = "all"  # sets of other categories
CORRUPTIONS = {
    "gaussian_noise": 3,
    "defocus_blur": 4,
    "fog": 4,
    "zoom_blur": 2,
    "contrast": 3,
    "jpeg_compression": 1,
}
N_IMAGES = 64
N_CHANGED = 16
AFTER = "16 after 48"
LARGE = 0.1  # a fall that should be seen
WEAKER = (0.3, 0.5, 0.7)  # falls of detectors of which there are no corrupted images
FRESH = {
    "motion_blur": 3,
    "snow": 2,
    "frost": 2,
    "pixelate": 4,
    "impulse_noise": 3,
    "elastic_transform": 4,
    "jpeg_compression": 1,
}
COPIES = "two/coco_two"  # a site whose images are in the labelled set, too
UNSEEN_SITES = 2  # of images of the labelled set on which detectors were trained
THUMBNAIL = 16  # pixels a side
COPY = 6.0  # mean difference of two pictures that are one
FALSE_ALARMS = 0.05  # in all
FIRST = 0.5  # share that the first look may spend
SUMS = {
    "six numbers": tuple(TESTED),
    "size for mean score": ("boxes", "faint", "best", "empty", "strength", SIDE),
    "size, too": (*TESTED, SIDE),
    "boxes, best score and size": ("faint", "best", SIDE),
}


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

    @property
    def what(self) -> dict[str, str]:
        """Name, group, and what the site shows."""
        group = group_of(self.name)
        known = set(self.boxes.categories) <= set(WORDS.values())
        shows = (
            "COCO" if group == "coco" else "vehicles and persons" if known else "other categories"
        )
        return {"site": self.name, "group": group, "shows": shows}

    def __len__(self) -> int:
        return len(self.boxes.images)

    def accuracy(self) -> float:
        """Mean average precision by all labels, over the categories that have an object."""
        ranked = rank_categories(self.boxes, self.truth)
        values = [ranking.average_precision().mean() for ranking in ranked]
        return float(np.nanmean(values))


def sites_of(data: Path, *, every: bool = False) -> list[tuple[str, str]]:
    """Return task and name of the sites of vehicles and persons, without those of COCO.

    every: those of COCO, and of other categories, too, where no slope of changes is fitted.
    """
    tasks = (*OF_TASK, OTHER) if every else tuple(OF_TASK)
    paths = [path for task in tasks for path in sorted((data / task).glob("*/annotations.json"))]
    names = [(path.parent.parent.name, path.parent.name) for path in paths]
    return [
        (task, name)
        for task, name in names
        if f"{task}/{name}" != SET and (every or not name.startswith("coco_"))
    ]


def likely_in(boxes: Boxes, calibration: ScoreCalibration) -> tuple[int, ...]:
    """Return the categories that have a likely box, the most frequent one first, as a monitor."""
    likely = boxes.label[calibration.at_half(boxes.scores, boxes.boxes) > LIKELY]
    counts = np.bincount(likely, minlength=len(boxes.categories))
    return tuple(int(k) for k in np.argsort(-counts, kind="stable") if counts[k])


def pool(
    data: Path,
    site: tuple[str, str],
    file: Path,
    calibration: ScoreCalibration,
    ids: Any = None,
    likely: tuple[int, ...] | None = None,
) -> Pool:
    """Read the boxes of a detector on a site (task and name); of the images `ids` in their order.

    likely: see `Pool`; by default by these boxes, or both of vehicles and persons.
    """
    task, name = site
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
    file = data / SET / "annotations.json"
    with tempfile.TemporaryDirectory() as folder:
        labels = write_part(file, in_part(file, FITTED_ON), Path(folder) / "set.json")
        fitted = autoeval.fit(labels, str(predictions / f"{SET}.json"))
    assert fitted.calibration_ is not None
    return fitted.calibration_


def taken(numbers: Numbers, places: np.ndarray) -> Numbers:
    """Take some of the images."""
    return {name: values[places] for name, values in numbers.items()}


def means_of(numbers: Numbers) -> dict[str, np.ndarray]:
    """Return the means over images."""
    return {name: values.mean(axis=0) for name, values in numbers.items()}


def evenly(images: Sequence[Any], n: int = N_IMAGES) -> list[Any]:
    """Take n of the images, evenly."""
    places = np.linspace(0, len(images) - 1, min(n, len(images))).astype(int)
    return [images[k] for k in places]


@dataclass(frozen=True, eq=False)
class Windows:
    """The images of a site before a change, and after it, by the set of labels that holds them."""

    task: str
    labels: str
    name: str
    before: Sequence[Any]
    after: Sequence[Any]


def usual_windows(data: Path, *, every: bool = False) -> Iterator[Windows]:
    """Take 64 images of each site, evenly: the last 16 are those after a change."""
    for task, name in sites_of(data, every=every):
        images = evenly(read_coco(data / task / name / "annotations.json").images)
        yield Windows(task, name, name, images[:-N_CHANGED], images[-N_CHANGED:])


def fresh_windows(data: Path) -> Iterator[Windows]:
    """Take images after a change that no choice has seen: beyond those 64, and of other sites.

    The other sites are images of the labelled set on which detectors were trained, and which are
    at no site of COCO.
    """
    for usual in usual_windows(data, every=True):
        taken_before = {image.image_id for image in (*usual.before, *usual.after)}
        labelled = read_coco(data / usual.task / usual.name / "annotations.json").images
        others = [image for image in labelled if image.image_id not in taken_before]
        if len(others) >= N_CHANGED:
            yield replace(usual, after=evenly(others, N_CHANGED))
    task, labels = SET.split("/")
    copied = data / COPIES
    copies = read_coco(copied / "annotations.json").images
    known = np.array([thumbnail(copied, image) for image in copies])
    file = data / SET / "annotations.json"
    unseen = [
        image
        for image, fitted in zip(read_coco(file).images, in_part(file, FITTED_ON), strict=True)
        if not fitted and np.abs(known - thumbnail(data / SET, image)).mean(axis=1).min() > COPY
    ]
    for k in range(UNSEEN_SITES):
        images = unseen[k::UNSEEN_SITES]
        n_before = N_IMAGES - N_CHANGED
        yield Windows(task, labels, f"{labels}_{k}", images[:n_before], images[-N_CHANGED:])


def thumbnail(folder: Path, image: Any) -> np.ndarray:
    """Return an image as so few pixels that a copy that was compressed again is the same."""
    pixels = read_image(folder / "images" / image.file_name)
    small = cv2.resize(pixels, (THUMBNAIL, THUMBNAIL), interpolation=cv2.INTER_AREA)
    return small.astype(float).ravel()


def export(data: Path, out: Path, checkpoint: str | None, *, fresh: bool = False) -> None:
    """Run YOLOX-nano over the images, as they are and corrupted; files that are there are kept."""
    from autoeval.detectors import load_detector
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

    file = data / SET / "annotations.json"
    val = [read_coco(file).images[k] for k in np.flatnonzero(in_part(file, FITTED_ON))]
    run(data / SET, val, None, out / f"{SET}.json")
    windows = fresh_windows(data) if fresh else usual_windows(data, every=True)
    for site in tqdm(list(windows)):
        folder = data / site.task / site.labels
        run(folder, [*site.before, *site.after], None, out / site.task / f"{site.name}.json")
        for kind, severity in (FRESH if fresh else CORRUPTIONS).items():
            step = TransformStep(kind, severity)
            run(folder, site.after, step, out / site.task / f"{site.name}__{kind}.json")


@dataclass(frozen=True, eq=False)
class CorruptedSite:
    """The images of a site before, and those after as they are and corrupted, by kind."""

    name: str
    before: Pool
    after: Mapping[str, Pool]


def corrupted_sites(
    data: Path, out: Path, *, every: bool = False, fresh: bool = False
) -> Iterator[CorruptedSite]:
    """Read what `export` wrote."""
    calibration = calibration_of(data, out)
    windows = fresh_windows(data) if fresh else usual_windows(data, every=every)
    for site in tqdm(list(windows)):
        folder = out / site.task
        file = folder / f"{site.name}.json"
        if not file.exists():
            continue
        earlier = [image.image_id for image in site.before]
        later = [image.image_id for image in site.after]
        before = pool(data, (site.task, site.labels), file, calibration, earlier)
        after = {
            kind: pool(
                data,
                (site.task, site.labels),
                folder / f"{site.name}__{kind}.json" if kind else file,
                calibration,
                later,
                before.likely,
            )
            for kind in ("", *(FRESH if fresh else CORRUPTIONS))
        }
        yield CorruptedSite(site.name, before, after)


def fresh_pools(data: Path, folder: Path, calibration: ScoreCalibration) -> Iterator[Pool]:
    """Yield all images of the sites that no choice has seen, with the boxes of a detector."""
    for site in fresh_windows(data):
        if site.labels != site.name:
            ids = [image.image_id for image in (*site.before, *site.after)]
            file = folder / site.task / f"{site.labels}.json"
            found = pool(data, (site.task, site.labels), file, calibration, ids)
            yield replace(found, name=site.name)


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


def known_looks(
    sites: Iterable[CorruptedSite], pools: Iterable[tuple[str, Pool]]
) -> Iterator[tuple[dict[str, str], Scale]]:
    """Yield looks of which it is known what changed, and what that is.

    sites: 16 images after 48, untouched and under each corruption, in two random orders.
    pools: of each detector and site halves, and 16 images after 48, in time and at random, and 16
        with lost boxes after 48.
    """

    def scale(before: Numbers, after: Numbers) -> Scale:
        return Scale([before], [after], [means_of(before)])

    for site in sites:
        what = {"detector": "yolox", **replace(site.before, name=site.name).what}
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
                yield {**what, "looks": looks, "kind": kind}, scale(first, last)
    for detector, of_site in pools:
        numbers, n = of_site.numbers, len(of_site)
        what = {"detector": detector, **of_site.what}
        weaker = {share: weakened(of_site, share, 7) for share in WEAKER}
        large = {
            share: after.accuracy() - of_site.accuracy() < -LARGE for share, after in weaker.items()
        }
        n_before = min(N_IMAGES - N_CHANGED, 3 * n // 4)
        for draw in range(3):  # two random orders, then that of time
            order = "in time" if draw == 2 else "at random"
            places = np.random.default_rng(draw).permutation(n) if draw < 2 else np.arange(n)
            half, rest = places[: n // 2], places[n // 2 :]
            early, late = places[:n_before], places[n_before:][:N_CHANGED]
            yield (
                {**what, "looks": f"halves {order}", "kind": ""},
                scale(taken(numbers, half), taken(numbers, rest)),
            )
            yield (
                {**what, "looks": f"{AFTER}, {order}", "kind": ""},
                scale(taken(numbers, early), taken(numbers, late)),
            )
            for share, after in weaker.items() if draw < 2 else ():
                yield (
                    {
                        **what,
                        "looks": "falls, boxes lost" if large[share] else "smaller changes",
                        "kind": "boxes lost",
                    },
                    scale(taken(numbers, early), taken(after.numbers, late)),
                )


CANDIDATES = {
    f"{summed}, correlation {correlated:g}, on the sum {on_sum:g}, scenes {scenes:g}": DriftRule(
        scenes=scenes, on_sum=on_sum, summed=names, correlated=correlated
    )
    for summed, names in SUMS.items()
    for correlated in (0.0, 0.3, 0.5, 0.7)
    for on_sum in (0.8, 1.0)
    for scenes in (0.01, 0.02)
}
BEFORE = "six numbers, correlation 0, on the sum 0.8, scenes 0.01"  # the rule that was shipped


def seen_by(
    rules: Mapping[str, DriftRule], looks: Iterable[tuple[dict[str, str], Scale]]
) -> pd.DataFrame:
    """Return a row for each look by each rule: whether it sees a change."""
    rows = []
    for what, scale in looks:
        before = sum(len(window[ALL]) for window in scale.baseline)
        singles: dict[float, dict[str, list[list[Difference]]]] = {}
        found: dict[Any, dict[str, np.ndarray]] = {}
        for name, rule in rules.items():
            if rule.scenes not in singles:
                singles[rule.scenes] = {
                    of: single_numbers([scale], of, rule) for of in scale.later[-1]
                }
            key = rule.scenes, rule.summed, rule.correlated  # shares are spent on what these give
            if key not in found:
                found[key] = {
                    of: evidence([scale], of, numbers, rule)
                    for of, numbers in singles[rule.scenes].items()
                }
            seen = p_of_evidence(found[key], rule) <= FIRST * FALSE_ALARMS
            rows.append({**what, "before": before, "rule": name, "seen": seen})
    return pd.DataFrame(rows)
