"""How long the paper's full protocol takes, from the time that one image takes here.

Observes a few images of 640 x 480 pixels of noise with each detector, on one thread, once without
and once with a perturbed pass, scores and mAP included, and multiplies: 10 seed sets x 50 sample
sets x 250 images, 10 repeats. Times are CPU seconds on a CPU, which other processes on the machine
hardly change, and seconds by the clock on a GPU. Weights are random where none are given; their
heads are initialised so that, as with trained ones, few boxes pass the threshold.

    python -m benchmarks.cluster_size --n-images 2 --workers 64 --json rates.json
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
import torch

from autoeval.detectors.detector import MMDetector
from autoeval.detectors.loading import load_detector
from autoeval.estimation.observation.observing import Observer
from autoeval.io.tasks.labelled_samples import Sample
from autoeval.io.tasks.task import Task
from autoeval.runtime.files import write_text
from autoeval.stability.passes.presets import BY_PRODUCTS, preset
from autoeval.stability.passes.tally import scored_rows
from benchmarks.timing import random_detector

PAPER = ("retinanet_r50", "faster_rcnn_r50", "retinanet_swin_t", "faster_rcnn_swin_t")
SAMPLE_SETS, IMAGES, REPEATS = 10 * 50, 250, 10
BOX = np.array([[100.0, 100.0, 300.0, 300.0]])


def noise(n: int) -> list[Sample]:
    """Make n images of noise with one box each."""
    rng = np.random.default_rng(0)
    labels = np.zeros(1, np.int64), np.zeros(1, bool)
    return [
        Sample(str(k), rng.integers(0, 256, (480, 640, 3), np.uint8), BOX, *labels)
        for k in range(n)
    ]


def rates(detector: MMDetector, samples: list[Sample]) -> dict[str, float]:
    """Return the seconds that the clean pass of one image takes, and each perturbed one."""
    clean, both = (seconds_an_image(detector, samples, repeats) for repeats in (0, 1))
    return {"clean_s": clean, "perturbed_s": both - clean}


def seconds_an_image(detector: MMDetector, samples: list[Sample], repeats: int) -> float:
    """Return the seconds that an image takes, all scores and mAP included."""
    clock: Callable[[], float] = time.process_time
    if detector.device.type != "cpu":
        clock = time.perf_counter
        run(detector, samples[:1], repeats)
    start = clock()
    run(detector, samples, repeats)
    return (clock() - start) / len(samples)


def run(detector: MMDetector, samples: list[Sample], repeats: int) -> None:
    """Do the pass."""
    settings = replace(preset("paper"), repeats=repeats, wants=BY_PRODUCTS)
    task = Task("all", detector.categories, ())
    scored_rows(Observer(detector, task, settings), samples)


def sized(rate: dict[str, float], workers: int) -> dict[str, float]:
    """Multiply the rates of a detector up to the protocol."""
    image = rate["clean_s"] + REPEATS * rate["perturbed_s"]
    days = SAMPLE_SETS * IMAGES * image / 86400
    return {**rate, "image_s": image, "worker_days": days, "hours": 24 * days / workers}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--detector", nargs="+", default=PAPER, metavar="ALIAS")
    parser.add_argument("--checkpoint", metavar="FILE", help="weights of a single detector")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--n-images", type=int, default=2, metavar="N")
    parser.add_argument("--workers", type=int, default=64, metavar="N")
    parser.add_argument("--json", metavar="FILE")
    args = parser.parse_args()
    torch.set_num_threads(1)
    samples, rows = noise(args.n_images), []
    for name in args.detector:
        detector = (
            load_detector(name, checkpoint=args.checkpoint, device=args.device)
            if args.checkpoint
            else random_detector(name, args.device)
        )
        rows.append({"detector": name, **sized(rates(detector, samples), args.workers)})
        print(rows[-1], flush=True)
    table = pd.DataFrame(rows)
    days, hours = table["worker_days"].sum(), table["hours"].sum()
    print(table.round(2).to_string(index=False))
    print(f"together {days:.1f} worker days, {hours:.1f} hours on {args.workers} workers")
    if args.json:
        write_text(args.json, json.dumps({"rows": rows, "torch": torch.__version__}, indent=2))


if __name__ == "__main__":
    main()
