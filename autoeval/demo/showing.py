"""The method at work on the road world, with one environment held back; and a sample of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from autoeval.data.image_folder import load_image_folder
from autoeval.demo.roadworld import CATEGORY, DETECTOR, ENVIRONMENTS, write_environment
from autoeval.demo.training import Pictures
from autoeval.detections import Detections
from autoeval.detectors.detector_spec import DetectorSpec
from autoeval.errors import InputError
from autoeval.estimation.fit_task import fit_task
from autoeval.estimation.observation.observing import Observer
from autoeval.estimation.observation.presets import preset
from autoeval.metasets import MetaSetConfig, SampleSet, own_images
from autoeval.metasets.task import SeedSetFiles, Task
from autoeval.report.sections import written_files
from autoeval.results.estimate.estimate_page import estimate_page
from autoeval.runtime.files import write_json
from autoeval.runtime.progress import progress_bar

SEED = 0
METHODS = ("bayes", "fused", "ac", "bos")


@dataclass(frozen=True)
class DemoSizes:
    """How much there is of everything.

    Parameters
    ----------
    images : int
        Rendered in each environment.
    sample_sets, sample_images : int
        Sample sets of each environment, and images of each.
    repeats : int
        Dropout seeds.
    """

    images: int = 60
    sample_sets: int = 8
    sample_images: int = 20
    repeats: int = 2


def show_method(folder: Path, *, held_back: str, sizes: DemoSizes | None = None) -> str:
    """Render, fit, estimate an environment held back, and compare with the truth there.

    Raises
    ------
    InputError
        If there is no such environment.
    """
    if held_back not in ENVIRONMENTS:
        raise InputError(f"--held-back is one of {', '.join(ENVIRONMENTS)}, got {held_back}.")
    sizes = sizes or DemoSizes()
    _render(folder / "data", sizes.images)
    known = _task(folder / "data", [name for name in ENVIRONMENTS if name != held_back])
    settings = preset("paper", repeats=sizes.repeats, seed=SEED)
    spec = DetectorSpec(DETECTOR)
    observer = Observer(spec(), known, settings)
    estimator = fit_task(
        observer,
        known.load_seed_sets(),
        meta_set=MetaSetConfig(n_sets=sizes.sample_sets, n_images=sizes.sample_images),
        work_dir=folder,
        methods=METHODS,
        load=spec,
        loading={"detector": spec.to_dict(), "teacher": None},
    )
    images = load_image_folder(folder / "data" / held_back / "images")
    estimate = estimator.predict(images=images)
    title = f"{DETECTOR} on road world"
    report = estimate_page(title, estimator, estimate=estimate, detector=DETECTOR)
    assert estimator.fit_result_ is not None
    written = written_files([*estimator.fit_result_.files, *report.write(folder)])
    estimated, true = estimate.value, _true_map(observer, folder / "data", held_back)
    compared = f"estimated mAP {100 * estimated:.1f}, true mAP {100 * true:.1f}, error "
    compared += f"{100 * abs(estimated - true):.1f} points"
    if estimated != estimated:
        compared = f"no estimate: the interval would be too wide; true mAP {100 * true:.1f}"
    return f"{report.text()}\n\n{written}\n\nheld back: {held_back}, {compared}"


def _render(root: Path, images: int) -> None:
    with progress_bar(len(ENVIRONMENTS), "rendering environments", unit="environment") as bar:
        for name in ENVIRONMENTS:
            write_environment(root, name, images, SEED)
            bar.update()


def _task(root: Path, names: Sequence[str]) -> Task:
    files = tuple(
        SeedSetFiles(
            name, root / name / "annotations.json", root / name / "images", {CATEGORY: CATEGORY}
        )
        for name in names
    )
    return Task("road world", (CATEGORY,), files)


def _true_map(observer: Observer, root: Path, name: str) -> float:
    (seed_set,) = _task(root, [name]).load_seed_sets()
    return observer.rows(SampleSet(seed_set, own_images(seed_set)))[0]["mAP"]


SITES = {"val": "night_highway", "new": "rain"}  # environments that the detector was not trained on
N_IMAGES, SAMPLE_SEED, FLOOR = 30, 7, 0.03


def write_sample(folder: Path, *, n_images: int = N_IMAGES) -> list[Path]:
    """Write what the road world's detector finds in rendered pictures of two sites, and the labels.

    Parameters
    ----------
    folder : Path
    n_images : int
        Of each site.

    Returns
    -------
    list of Path
        ``val.json`` and ``val_predictions.json``; ``new_predictions.json``, ``new_site.json`` (its
        images without labels), and ``new_labels.json`` (what an estimate should come near to).
    """
    detector, written = DetectorSpec(DETECTOR)(), []
    for name, environment in SITES.items():
        pictures = Pictures(environment, n_images, SAMPLE_SEED)
        images: list[dict[str, Any]] = []
        labels: list[dict[str, Any]] = []
        found: list[dict[str, Any]] = []
        for number in range(1, n_images + 1):
            sample = pictures[number - 1]
            height, width = sample.image.shape[:2]
            file = f"{number:04}.jpg"
            images.append({"id": number, "file_name": file, "height": height, "width": width})
            labels += [
                {"image_id": number, "category_id": 1, "bbox": b} for b in _xywh(sample.boxes)
            ]
            (seen,) = detector.observe([sample.image], [file])
            found += _results(seen.clean, number, (width, height))
        for k, label in enumerate(labels, 1):
            label["id"] = k
        document = {"images": images, "categories": [{"id": 1, "name": CATEGORY}]}
        truth = "val.json" if name == "val" else f"{name}_labels.json"
        contents = {truth: {**document, "annotations": labels}, f"{name}_predictions.json": found}
        if name != "val":
            contents[f"{name}_site.json"] = document
        written += [write_json(folder / f, c, indent=None) for f, c in contents.items()]
    return written


def _results(found: Detections, number: int, size: tuple[int, int]) -> Iterator[dict[str, Any]]:
    boxes = found.boxes.clip(0, np.array(size * 2))
    for box, score in zip(_xywh(boxes), found.scores.tolist(), strict=True):
        if score >= FLOOR and min(box[2:]) > 0:
            yield {"image_id": number, "category_id": 1, "bbox": box, "score": round(score, 3)}


def _xywh(boxes: np.ndarray) -> list[list[float]]:
    xywh = np.concatenate([boxes[:, :2], boxes[:, 2:] - boxes[:, :2]], axis=1)
    return [[round(side, 1) for side in box] for box in xywh.tolist()]
