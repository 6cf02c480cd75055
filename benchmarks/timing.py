"""Times that bear comparison: a detector and images, everything in turns, on two clocks.

The wall clock is what people wait for; the processor's hardly changes when other programs want the
machine, too. Each round runs everything once, every other round in the opposite order, and a ratio
is the median of the ratios within rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import cv2
import numpy as np
import torch
from mmengine.model import BaseModule

from autoeval.detectors.building.category_names import coco_categories
from autoeval.detectors.detector import MMDetector
from autoeval.detectors.loading import build_model, load_detector, read_config
from autoeval.estimation.observation.observing import Observer
from autoeval.estimation.observation.samples import ImageLoading
from autoeval.io.image_lists import ImageFile, load_image_folder
from autoeval.io.tasks.labelled_samples import Sample, Samples
from autoeval.io.tasks.task import Task
from autoeval.runtime.files import write_text
from autoeval.stability.passes.presets import ScoredSettings
from autoeval.stability.passes.tally import scored_rows
from autoeval.version import __version__

CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
PACKAGES = ("torch", "mmdet", "mmengine", "numpy", "scipy")
Rounds = list[dict[str, dict[str, float]]]
CONFIDENT = 0.3


def machine() -> dict[str, Any]:
    """Describe where the figures come from."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "python": platform.python_version(),
        "autoeval": __version__,  # also where it runs from its folder, without being installed
        **{name: version(name) for name in PACKAGES},
    }


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def seconds(run: Callable[[], object]) -> dict[str, float]:
    """Return how long a call takes, by each clock."""
    start = {name: clock() for name, clock in CLOCKS.items()}
    run()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return {name: clock() - start[name] for name, clock in CLOCKS.items()}


def in_turns(runs: Mapping[str, Callable[[], object]], rounds: int) -> Rounds:
    """Run everything once a round, and return the seconds of each round, name and clock."""
    measured = []
    for number in range(rounds):
        names = list(runs) if number % 2 == 0 else list(runs)[::-1]
        measured.append({name: seconds(runs[name]) for name in names})
        print(f"round {number + 1} of {rounds}", flush=True)
    return measured


def median(rounds: Rounds, figure: Callable[[dict[str, float]], float], clock: str) -> float:
    """Return the median over rounds of what ``figure`` makes of the seconds of one round."""
    return statistics.median(
        figure({name: spent[clock] for name, spent in one.items()}) for one in rounds
    )


def spread(rounds: Rounds, figure: Callable[[dict[str, float]], float], clock: str) -> list[float]:
    """Return the smallest and the largest of the same."""
    values = [figure({name: spent[clock] for name, spent in one.items()}) for one in rounds]
    return [min(values), max(values)]


def write_json(path: str | None, result: Mapping[str, Any]) -> None:
    """Write a result where a path is given."""
    if path:
        write_text(path, json.dumps(result, indent=2) + "\n")


def report(args: argparse.Namespace, lines: Iterable[str], **result: Any) -> None:
    """Print the machine and lines; write both, and the options, where ``--json`` names a file."""
    for name, value in machine().items():
        print(f"{name:18} {value}")
    print("\n".join(lines))
    options = {name: value for name, value in vars(args).items() if name != "json"}
    write_json(args.json, {"machine": machine(), "run": options, **result})


def random_detector(name: str, device: str, options: dict[str, Any] | None = None) -> MMDetector:
    """Build a known detector with random weights and initialised neck and head."""
    torch.manual_seed(0)
    config = read_config(name, options)
    model = build_model(config)
    for part in ("neck", "rpn_head", "roi_head", "bbox_head"):
        module = getattr(model, part, None)
        if isinstance(module, BaseModule):
            module.init_weights()
    return MMDetector(model.to(device), config, coco_categories())


@dataclass(frozen=True)
class LabelledFiles:
    """Image files with true boxes, decoded when asked for.

    Parameters
    ----------
    files : tuple of ImageFile
    truth : dict of str to tuple of ndarray
        Boxes (N, 4) as xyxy pixels and labels (N,) by the id of the image.
    """

    files: tuple[ImageFile, ...]
    truth: dict[str, tuple[np.ndarray, np.ndarray]]

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> Sample:
        """Decode one image."""
        file = self.files[index]
        boxes, labels = self.truth[file.image_id]
        return Sample(file.image_id, file.read(), boxes, labels, np.zeros(len(labels), bool))

    def repeated(self, times: int) -> LabelledFiles:
        """Return the same images several times, under different names."""
        files, truth = [], {}
        for k in range(times):
            for file in self.files:
                files.append(ImageFile(f"{k}/{file.image_id}", file.path))
                truth[files[-1].image_id] = self.truth[file.image_id]
        return LabelledFiles(tuple(files), truth)


def label_by(detector: MMDetector, files: tuple[ImageFile, ...]) -> LabelledFiles:
    """Take the detector's own confident boxes for the truth: only the time of mAP matters here."""
    truth = {}
    for file in files:
        (evidence,) = detector.observe([file.read()], [file.image_id])
        sure = evidence.clean.above(CONFIDENT)
        truth[file.image_id] = sure.boxes.astype(np.float64), sure.labels
    return LabelledFiles(files, truth)


def score(
    detector: MMDetector,
    samples: Samples,
    settings: ScoredSettings,
    loading: ImageLoading | None = None,
) -> None:
    """Run the pass: all scores and mAP, of all categories as one.

    Several categories would each be scored, which plain inference has no counterpart of.
    """
    task = Task("object", ("object",), (), dict.fromkeys(detector.categories, "object"))
    scored_rows(Observer(detector, task, settings, reading=loading), samples)


@contextmanager
def image_files(folder: str | None, n_images: int) -> Iterator[tuple[ImageFile, ...]]:
    """Yield n files of a folder, evenly spread, or of drawings where no folder is given."""
    with TemporaryDirectory() as temporary:
        if folder is None:
            _draw(Path(temporary), n_images)
        files = load_image_folder(folder or temporary)
        chosen = np.linspace(0, len(files) - 1, n_images).astype(int)
        yield tuple(files[k] for k in chosen)


def _draw(folder: Path, n_images: int) -> None:
    """Write drawings of coloured rectangles, 640 x 480 pixels, as JPEG."""
    rng = np.random.default_rng(0)
    for number in range(n_images):
        image = cv2.resize(rng.integers(0, 256, (30, 40, 3), np.uint8), (640, 480))
        for x, y, w, h in rng.integers(20, 200, (20, 4)) * [3, 2, 1, 1]:
            colour = rng.integers(0, 256, 3).tolist()
            cv2.rectangle(image, (int(x), int(y)), (int(x + w), int(y + h)), colour, -1)
        cv2.imwrite(str(folder / f"{number:03}.jpg"), image)


def add_subject_options(parser: argparse.ArgumentParser, *, n_images: int) -> None:
    """Add the options from which `make_detector` and `image_files` work."""
    parser.add_argument("--detector", default="yolox_nano", metavar="ALIAS")
    parser.add_argument("--checkpoint", metavar="FILE", help="default: random weights")
    parser.add_argument("--size", type=int, nargs=2, metavar=("LONG", "SHORT"), help="of the input")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="of torch")
    parser.add_argument("--images", metavar="FOLDER", help="photographs; default: drawings")
    parser.add_argument("--n-images", type=int, default=n_images, metavar="N")
    parser.add_argument("--json", metavar="FILE")


def make_detector(args: argparse.Namespace) -> MMDetector:
    """Build the detector of the command line."""
    torch.set_num_threads(args.threads)
    options = _resized(args.detector, args.size) if args.size else {}
    if not args.checkpoint:
        return random_detector(args.detector, args.device, options)
    return load_detector(
        args.detector, checkpoint=args.checkpoint, device=args.device, cfg_options=options
    )


def _resized(name: str, size: tuple[int, int]) -> dict[str, Any]:
    """Return the change to a detector's config that gives its input another size."""
    prefix = "test_dataloader.dataset.pipeline"
    steps = read_config(name).test_dataloader.dataset.pipeline
    numbers = [k for k, step in enumerate(steps) if str(step["type"]).endswith("Resize")]
    return {f"{prefix}.{k}.scale": tuple(size) for k in numbers}
