"""What the pass costs beside plain inference, and beside the naive way to the same scores.

Runs in turns, over the same image files: plain inference (``model.test_step``, one by one), the
pass without and with perturbed passes, all scores of these and mAP included, and the naive way of
`naive_estimate`. Prints medians of ratios within rounds, by the clock on the wall and of the CPU.

    python -m benchmarks.pass_ratio --checkpoint yolox_nano_coco.pth --images photographs/
    python -m benchmarks.pass_ratio --detector retinanet_r50 --n-images 1 --only one
    python -m benchmarks.pass_ratio --detector retinanet_r50 --n-images 1 --size 667 400 --only many

``--only one`` leaves out the many repeats, ``--only many`` all but them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter

import numpy as np
import pandas as pd
import torch
from mmengine.dataset import Compose
from scipy.optimize import linear_sum_assignment
from torch.nn.functional import dropout

from autoeval.accuracy.mean_ap import MeanAP
from autoeval.detections import Detections
from autoeval.detectors.detector import MMDetector
from autoeval.detectors.preprocessing import test_pipeline
from autoeval.stability.network.backbones import split_backbone
from autoeval.stability.network.forward.dropout_spec import DropoutSpec
from autoeval.stability.passes.presets import preset
from benchmarks.timing import (
    CLOCKS,
    LabelledFiles,
    Rounds,
    add_subject_options,
    image_files,
    in_turns,
    label_by,
    make_detector,
    median,
    report,
    score,
    spread,
)

MIDDLE, LAST = DropoutSpec("after", (1, 2), 0.15), DropoutSpec("after", (3,), 0.15)
Seconds = dict[str, float]


@dataclass(frozen=True)
class Figure:
    """A ratio and what it should be.

    Parameters
    ----------
    name : str
    ratio : callable
        Makes it of the seconds of one round.
    most, least : float, optional
        The target.
    """

    name: str
    ratio: Callable[[Seconds], float]
    most: float | None = None
    least: float | None = None

    @property
    def target(self) -> str:
        """The target in words."""
        if self.most is not None:
            return f"at most {self.most}"
        return f"at least {self.least}" if self.least is not None else ""


ONE = (
    Figure("scores of one clean pass / plain", lambda s: s["clean"] / s["plain"], most=1.15),
    Figure("clean + 1 repeat / plain", lambda s: s["one"] / s["plain"], most=1.9),
    Figure("naive, clean + 1 repeat / plain", lambda s: s["naive one"] / s["plain"]),
    Figure("naive / pass, clean + 1 repeat", lambda s: s["naive one"] / s["one"]),
)


def many(repeats: int) -> tuple[Figure, ...]:
    """Return the figures of many repeats."""

    def share(name: str) -> Callable[[Seconds], float]:
        return lambda s: (s[name] - s["clean"]) / (repeats * s["plain"])

    return (
        Figure(f"{repeats} repeats, stages [1, 2] / {repeats} plain", share("middle"), most=0.85),
        Figure(f"{repeats} repeats, stage [3] / {repeats} plain", share("last")),
        Figure(
            f"naive / pass, clean + {repeats} repeats, stage [3]",
            lambda s: s["naive last"] / s["last"],
            least=1.5,
        ),
    )


def runs(
    detector: MMDetector, samples: LabelledFiles, repeats: int, only: str | None
) -> dict[str, Callable[[], object]]:
    """Return what is timed, by name."""
    settings = preset("paper")

    def observed(spec: DropoutSpec, k: int) -> Callable[[], object]:
        return partial(score, detector, samples, replace(settings, dropout=spec, repeats=k))

    found: dict[str, Callable[[], object]] = {
        "plain": partial(infer, detector, samples),
        "clean": observed(MIDDLE, 0),
    }
    if only != "many":
        found["one"] = observed(MIDDLE, 1)
        found["naive one"] = partial(naive_estimate, detector, samples, MIDDLE, 1)
    if only != "one":
        found["middle"], found["last"] = observed(MIDDLE, repeats), observed(LAST, repeats)
        found["naive last"] = partial(naive_estimate, detector, samples, LAST, repeats)
    return found


def table(rounds: Rounds, figures: tuple[Figure, ...]) -> pd.DataFrame:
    """Return one row a figure: medians by both clocks, their spread, and the target."""
    rows = []
    for figure in figures:
        row: dict[str, object] = {"ratio": figure.name, "target": figure.target}
        for clock in CLOCKS:
            row[clock] = round(median(rounds, figure.ratio, clock), 3)
            low, high = spread(rounds, figure.ratio, clock)
            row[f"{clock} range"] = f"{low:.2f} to {high:.2f}"
        rows.append(row)
    return pd.DataFrame(rows)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_subject_options(parser, n_images=8)
    parser.add_argument("--repeats", type=int, default=10, metavar="K")
    parser.add_argument("--rounds", type=int, default=5, metavar="N")
    parser.add_argument("--only", choices=("one", "many"))
    args = parser.parse_args()
    detector = make_detector(args)
    figures = {"one": ONE, "many": many(args.repeats)}
    chosen = figures[args.only] if args.only else (*ONE, *figures["many"])
    with image_files(args.images, args.n_images) as files:
        samples = label_by(detector, files)
        timed = runs(detector, samples, args.repeats, args.only)
        for warm_up in ("plain", "clean"):
            timed[warm_up]()
        rounds = in_turns(timed, args.rounds)
    result = table(rounds, chosen)
    lines = []
    for name in timed:
        spent = [median(rounds, itemgetter(name), clock) for clock in CLOCKS]
        each = [1000 * value / len(samples) for value in spent]
        lines.append(f"{name:12} {each[0]:9.1f} ms an image, {each[1]:9.1f} ms on the processor")
    lines.append(result.to_string(index=False))
    report(args, lines, ratios=result.to_dict("records"), rounds=rounds)


def infer(detector: MMDetector, samples: LabelledFiles) -> list[Detections]:
    """Run ``model.test_step`` on each file, read and resized by mmdet's own pipeline."""
    steps = [step for step in test_pipeline(detector.config) if "Annotations" not in step["type"]]
    pipeline, found = Compose(steps), []
    with torch.no_grad():
        for file in samples.files:
            data = pipeline({"img_path": str(file.path), "img_id": 0})
            batch = {name: [value] for name, value in data.items()}
            boxes = detector.model.test_step(batch)[0].pred_instances.cpu()
            columns = boxes.bboxes, boxes.scores, boxes.labels
            found.append(Detections(*(column.numpy() for column in columns)))
    return found


def naive_estimate(
    detector: MMDetector, samples: LabelledFiles, spec: DropoutSpec, repeats: int
) -> tuple[dict[str, float], list[float]]:
    """Return mAP, and the box stability of each repeat."""
    clean = infer(detector, samples)
    stability = []
    for _ in range(repeats):
        with _dropout(detector, spec):
            perturbed = infer(detector, samples)
        pairs = zip(clean, perturbed, strict=True)
        stability.append(float(np.nanmean([_stability(a, b) for a, b in pairs] or [np.nan])))
    accuracy = MeanAP(["object"])
    for file, boxes in zip(samples.files, clean, strict=True):
        true, labels = samples.truth[file.image_id]
        as_one = boxes.relabel(np.zeros(len(detector.categories), np.int64))
        accuracy.update(as_one, true, np.zeros_like(labels), np.zeros(len(labels), bool))
    return accuracy.compute(), stability


def _dropout(detector: MMDetector, spec: DropoutSpec) -> ExitStack:
    """Drop elements of what leaves the stages until the stack is closed."""
    staged = split_backbone(detector.model.backbone)
    assert staged is not None and spec.position == "after"
    stack = ExitStack()
    for stage in spec.stages:
        handle = staged.points.exits[stage].register_forward_hook(
            lambda module, inputs, output: dropout(output, spec.rate, training=True)
        )
        stack.callback(handle.remove)
    return stack


def _stability(clean: Detections, perturbed: Detections) -> float:
    from mmdet.structures.bbox import bbox_overlaps

    a, b = (torch.from_numpy(d.above(0.05).boxes) for d in (clean, perturbed))
    if not len(a) or not len(b):
        return float("nan")
    overlaps = bbox_overlaps(a, b, mode="giou").numpy()
    rows, columns = linear_sum_assignment(-overlaps)
    return float(overlaps[rows, columns].mean())


if __name__ == "__main__":
    main()
