"""How far box stability moves by what the paper leaves open: tables of docs.

    python -m benchmarks.paper_choices [--n-images 20] [--detector roadworld_nano] > table.md
    python -m benchmarks.paper_choices --detector yolox_nano --checkpoint yolox_nano_coco.pth \
        --task configs/tasks/vehicle_person.py --data-root DATA --n-images 8 > table.md

Runs the detector once clean and twice under dropout on the environments of the road world, or on
the sources of a task, and scores the same boxes by every choice: largest difference to the default
over the environments, and the squared correlation with mAP over them. On a task also with images
resized whatever their shape, and the entropy score by the softmax over all categories.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd
from scipy.special import entr, softmax

from autoeval.accuracy.mean_ap import MeanAP
from autoeval.detections import Evidence
from autoeval.detectors import MMDetector, load_detector
from autoeval.detectors.preprocessing import step_name, test_pipeline
from autoeval.estimation.observation.observing import Observer
from autoeval.io.tasks.labelled_samples import Sample
from autoeval.io.tasks.task import Task, load_task
from autoeval.report.text import format_cells, to_markdown
from autoeval.roadworld import CATEGORY, DETECTOR, ENVIRONMENTS, make_picture
from autoeval.stability.metasets import SampleSet, own_images
from autoeval.stability.network.forward.dropout_spec import DropoutSpec
from autoeval.stability.passes.presets import ScoredSettings
from autoeval.stability.scores.box_stability import box_stability
from autoeval.stability.scores.box_stability_settings import BoxStabilitySettings
from autoeval.stability.scores.entropy import binary_entropy

DROPOUT = DropoutSpec()
DEFAULT = BoxStabilitySettings()
CHOICES = {
    "as shipped: GIoU, empty images count 0, boxes from .05": DEFAULT,
    "IoU in place of GIoU": replace(DEFAULT, cost="iou"),
    "images without a box are left out": replace(DEFAULT, empty="skip"),
    "boxes from a score of .01": replace(DEFAULT, score_thr=0.01),
    "boxes from a score of .10": replace(DEFAULT, score_thr=0.1),
    "boxes from a score of .30": replace(DEFAULT, score_thr=0.3),
    "divided by the larger number of boxes": replace(DEFAULT, normalise="max"),
    "boxes matched within a category only": replace(DEFAULT, class_aware=True),
}
ES_THRESHOLDS = (0.3, 0.5)


class Rendered:
    """Pictures of an environment of the road world."""

    def __init__(self, environment: str, n_images: int) -> None:
        self.environment, self.n_images = environment, n_images

    def __len__(self) -> int:
        return self.n_images

    def __getitem__(self, index: int) -> Sample:
        """Render one."""
        picture = make_picture(self.environment, index)
        blank = np.zeros(len(picture.boxes), np.int64)
        return Sample(str(index), picture.image, picture.boxes, blank, blank > 0)


def environments(task: Task | None, n_images: int) -> Iterator[Rendered | SampleSet]:
    """Yield the images of each environment."""
    if task is None:
        yield from (Rendered(name, n_images) for name in ENVIRONMENTS)
        return
    for seed_set in replace(task, max_images=n_images).load_seed_sets():
        yield SampleSet(seed_set, own_images(seed_set))


def observed(
    detector: MMDetector, samples: Rendered | SampleSet, task: Task
) -> tuple[list[Evidence], float]:
    """Return the boxes of an environment's images, clean and under dropout, and mAP."""
    metric, found = MeanAP(task.categories), []
    settings = ScoredSettings(wants=("logits",), dropout=DROPOUT, repeats=2)
    for sample, evidence in Observer(detector, task, settings).each(samples):
        found.append(evidence)
        metric.update(evidence.clean, sample.boxes, sample.labels, sample.iscrowd)
    return found, metric.compute()["mAP"]


def stability(evidence: list[Evidence], settings: BoxStabilitySettings) -> float:
    """Return the mean box stability over images and repeats."""
    each = [box_stability(e.clean, boxes, settings) for e in evidence for boxes in e.perturbed]
    return float(np.nanmean(each))


def decided(evidence: list[Evidence], threshold: float, *, by_softmax: bool) -> float:
    """Return the share of boxes whose entropy, of at most 1, is below a threshold."""
    entropies = []
    for one in evidence:
        boxes = one.clean.scores >= DEFAULT.score_thr
        if by_softmax:
            logits = one.require("logits")[boxes]
            entropies.append(entr(softmax(logits, 1)).sum(1) / np.log(logits.shape[1]))
        else:
            entropies.append(binary_entropy(one.clean.scores[boxes]))
    return float(np.mean(np.concatenate(entropies) < threshold))


def row(name: str, scores: np.ndarray, usual: np.ndarray, accuracy: np.ndarray) -> dict:
    """Return one row of the table."""
    r2 = np.corrcoef(scores, accuracy)[0, 1] ** 2 if np.ptp(scores) > 0 else np.nan
    return {
        "choice": name,
        "mean": scores.mean(),
        "largest difference": abs(scores - usual).max(),
        "R²": r2,
    }


def table(
    detector: MMDetector, task: Task | None, n_images: int, squeezed: MMDetector | None = None
) -> pd.DataFrame:
    """Return one row a choice; `squeezed` is the same detector on images without their shape."""
    words = task or Task("road world", (CATEGORY,), ())
    sets = list(environments(task, n_images))
    seen = [observed(detector, samples, words) for samples in sets]
    accuracy = np.array([value for _, value in seen])
    usual = np.array([stability(evidence, DEFAULT) for evidence, _ in seen])
    rows = []
    for name, settings in CHOICES.items():
        scores = np.array([stability(evidence, settings) for evidence, _ in seen])
        rows.append(row(name, scores, usual, accuracy))
    if squeezed is not None:
        other = [observed(squeezed, samples, words) for samples in sets]
        scores = np.array([stability(evidence, DEFAULT) for evidence, _ in other])
        mean_ap = np.array([value for _, value in other])
        change = 100 * (mean_ap - accuracy).mean()
        name = f"images resized whatever their shape (mAP {change:+.1f} points)"
        rows.append(row(name, scores, usual, mean_ap))
        for threshold in ES_THRESHOLDS:
            binary, soft = (
                np.array([decided(e, threshold, by_softmax=s) for e, _ in seen])
                for s in (False, True)
            )
            name = f"ES, share of entropies under {threshold:g}"
            rows.append(row(f"{name}: binary, of the top score", binary, binary, accuracy))
            rows.append(row(f"{name}: of the softmax of all", soft, binary, accuracy))
    return pd.DataFrame(rows)


def squeeze(name: str, checkpoint: str | None) -> MMDetector:
    """Load a detector that resizes images to its size whatever their shape."""
    steps = test_pipeline(load_detector(name, checkpoint=checkpoint).config)
    at = [step_name(step) for step in steps].index("Resize")
    option = {f"test_dataloader.dataset.pipeline.{at}.keep_ratio": False}
    return load_detector(name, checkpoint=checkpoint, cfg_options=option)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--detector", default=DETECTOR)
    parser.add_argument("--checkpoint")
    parser.add_argument("--task", metavar="FILE", help="by default the road world")
    parser.add_argument("--data-root", metavar="DIR")
    parser.add_argument("--n-images", type=int, default=20, help="of each environment (20)")
    args = parser.parse_args()
    detector = load_detector(args.detector, checkpoint=args.checkpoint, device="cpu")
    task = load_task(args.task, args.data_root) if args.task else None
    squeezed = squeeze(args.detector, args.checkpoint) if task else None
    numbers = dict.fromkeys(("mean", "largest difference"), "{:.3f}") | {"R²": "{:.2f}"}
    made = table(detector, task, args.n_images, squeezed)
    print(to_markdown(format_cells(made, numbers)))


if __name__ == "__main__":
    main()
