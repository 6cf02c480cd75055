"""Images a second of the pass, beside MMDetection's own loop and the bare network, in one run.

Runs in turns, over the same image files: the network on a batch that is prepared already;
MMDetection's loop (its pipeline, a data loader with and without worker processes, ``test_step``);
the plain pass, which gives boxes alone; and the pass with all scores, clean and with perturbed
passes. Prints images and network passes a second, and the ratio to MMDetection's loop with workers
within rounds.

    python -m benchmarks.pass_speed --checkpoint yolox_nano_coco.pth --device cuda
    python -m benchmarks.pass_speed --detector retinanet_r50 --device cuda
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import pandas as pd
import torch
from mmengine.dataset import Compose, pseudo_collate
from torch.utils.data import DataLoader, Dataset

from autoeval.detectors.detector import MMDetector
from autoeval.detectors.predicting import Batch
from autoeval.detectors.preprocessing import collate, test_pipeline
from autoeval.estimation.observation.observing import Observer
from autoeval.io.tasks.task import Task
from autoeval.stability.network.forward.dropout_spec import DropoutSpec
from autoeval.stability.passes.presets import BY_PRODUCTS, preset
from benchmarks.timing import (
    LabelledFiles,
    add_subject_options,
    image_files,
    in_turns,
    label_by,
    make_detector,
    report,
    score,
)

MIDDLE, LAST = DropoutSpec("after", (1, 2), 0.15), DropoutSpec("after", (3,), 0.15)
LOOP = "MMDetection's loop, {} workers"


class Prepared(Dataset):
    """Image files as MMDetection's own pipeline prepares them."""

    def __init__(self, detector: MMDetector, paths: Sequence[Path]) -> None:
        steps = test_pipeline(detector.config)
        self.run = Compose([step for step in steps if "Annotations" not in str(step["type"])])
        self.paths = paths

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> dict[str, Any]:
        """Read and prepare one image."""
        return self.run({"img_path": str(self.paths[index]), "img_id": index})


@torch.no_grad()
def framework(detector: MMDetector, samples: LabelledFiles, batch: int, workers: int) -> None:
    """Run MMDetection's loop, boxes on the host in the end."""
    loader = DataLoader(
        Prepared(detector, [file.path for file in samples.files]),
        batch,
        num_workers=workers,
        collate_fn=pseudo_collate,
    )
    for data in loader:
        for result in detector.model.test_step(data):
            result.pred_instances.cpu()


@torch.inference_mode()
def bare(detector: MMDetector, batch: Batch, n_images: int) -> None:
    """Run the network alone on one batch, again and again."""
    for _ in range(0, n_images, len(batch.inputs)):
        detector.model(batch.inputs, batch.samples, mode="tensor")


def plain(detector: MMDetector, samples: LabelledFiles, batch: int) -> None:
    """Run the pass that gives boxes alone."""
    task = Task("object", ("object",), (), dict.fromkeys(detector.categories, "object"))
    for _ in Observer(detector, task, batch_size=batch).stream(samples, detector.observe):
        pass


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_subject_options(parser, n_images=64)
    parser.add_argument("--batch", type=int, default=16, metavar="N")
    parser.add_argument("--workers", type=int, default=8, metavar="N", help="of MMDetection's loop")
    parser.add_argument("--repeats", type=int, default=10, metavar="K")
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    args = parser.parse_args()
    detector = make_detector(args)
    settings = replace(preset("paper"), wants=BY_PRODUCTS)
    with image_files(args.images, args.n_images) as files:
        samples = label_by(detector, files)
        prepared = [detector._preprocess(file.read()) for file in files[: args.batch]]
        of_one_size = [p for p in prepared if p["inputs"].shape == prepared[0]["inputs"].shape]
        with torch.inference_mode():
            batch = Batch(*collate(detector.model, of_one_size))

        def scored(spec: DropoutSpec, repeats: int) -> Callable[[], object]:
            return partial(
                score, detector, samples, replace(settings, dropout=spec, repeats=repeats)
            )

        loop = LOOP.format(args.workers)
        runs: dict[str, Callable[[], object]] = {
            "bare network": partial(bare, detector, batch, len(files)),
            loop: partial(framework, detector, samples, args.batch, args.workers),
            LOOP.format(0): partial(framework, detector, samples, args.batch, 0),
            "plain pass": partial(plain, detector, samples, args.batch),
            "clean, all scores": scored(MIDDLE, 0),
            "clean + 1 repeat, stages 1, 2": scored(MIDDLE, 1),
            f"clean + {args.repeats} repeats, stage 3": scored(LAST, args.repeats),
        }
        for run in runs.values():
            run()
        rounds = in_turns(runs, args.rounds)
    passes = dict(zip(runs, (1, 1, 1, 1, 1, 2, 1 + args.repeats), strict=True))
    table = [
        {
            "run": name,
            "images a second": len(files) / median(one[name]["wall"] for one in rounds),
            "passes a second": passes[name]
            * len(files)
            / median(one[name]["wall"] for one in rounds),
            "passes / loop": median(
                passes[name] * one[loop]["wall"] / one[name]["wall"] for one in rounds
            ),
        }
        for name in runs
    ]
    lines = [pd.DataFrame(table).round(2).to_string(index=False)]
    report(args, lines, table=table, rounds=rounds)


if __name__ == "__main__":
    main()
