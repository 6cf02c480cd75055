"""What autoeval detect costs beside the frameworks' own loops, and what workers of Ray gain.

loops: what `autoeval.detect` costs beside the framework's own loop over the same images.

Both run in turns in one process, with the same loaded network and options. The loops: mmdet's
``inference_detector``, a module of torchvision, or model, processor and post-processing of
transformers, one decoded image after another; ``predict(FOLDER, stream=True)`` of Ultralytics, also
for ONNX files, which decodes the files, as `detect` then does.

    python -m benchmarks.detect loops --detector yolox_nano --checkpoint yolox_nano_coco.pth
    python -m benchmarks.detect loops --detector best.pt --images photographs/ --n-images 200
    python -m benchmarks.detect loops --detector torchvision:ssdlite320_mobilenet_v3_large
    python -m benchmarks.detect loops --detector hf:FOLDER
    python -m benchmarks.detect loops --detector best.onnx

`detect` also checks the images, writes the boxes and reads them again; target: at most 1.10.

workers: images a second of `autoeval.detect` in this process, and with one and two workers of Ray.

A cluster of this machine is started once, and its start is not timed; loading the detector is, in
each run. Runs take turns, each into a fresh work dir, and the boxes of all are compared. Two
workers need two idle cores: the load of the machine is printed.

    python -m benchmarks.detect workers                                # a small detector, drawings
    python -m benchmarks.detect workers --detector best.pt --images photographs/ --n-images 2000

Runs are measured on two clocks: the wall clock is what people wait for; the processor's hardly
changes when other programs want the machine, too. Each round runs everything once, every other
round in the opposite order, and a ratio is the median of the ratios within rounds. So does
`benchmarks/passes.py`, with the functions of this file.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import cv2
import numpy as np
import pandas as pd
import torch
from mmengine.model import BaseModule

import autoeval
from autoeval.detections import CONFIDENT
from autoeval.detectors.adapters import adapter_of
from autoeval.detectors.building.category_names import coco_categories
from autoeval.detectors.detector import MMDetector
from autoeval.detectors.detector_spec import DetectorSpec
from autoeval.detectors.loading import build_model, load_detector, read_config
from autoeval.estimation.observation.observing import Observer
from autoeval.estimation.observation.samples import ImageLoading
from autoeval.io.image_lists import ImageFile, load_image_folder
from autoeval.io.tasks.seed_set import Sample, Samples
from autoeval.io.tasks.task import Task
from autoeval.runtime.files import write_text
from autoeval.runtime.ray_executor import RayExecutor
from autoeval.stability.passes.presets import ScoredSettings
from autoeval.stability.passes.tally import scored_rows
from autoeval.version import __version__
from benchmarks.commands import run_part

MOST = 1.10
Loop = Callable[[], object]
WORKERS = (1, 2)
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
PACKAGES = ("torch", "mmdet", "mmengine", "numpy", "scipy")
Rounds = list[dict[str, dict[str, float]]]


def loops(words: list[str]) -> None:
    """Measure, and print the ratio."""
    parser = argparse.ArgumentParser(prog="detect loops")
    add_subject_options(parser, n_images=100)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args(words)
    torch.set_num_threads(args.threads)
    adapter = adapter_of(args.detector)
    if adapter is None:
        detector: Any = make_detector(args)
    else:
        spec = DetectorSpec(args.detector, args.checkpoint, args.device)
        detector = spec()
    with image_files(args.images, args.n_images) as files, TemporaryDirectory() as temporary:
        folder = Path(temporary) / "site"
        folder.mkdir()
        for number, file in enumerate(files):
            shutil.copy(file.path, folder / f"{number:06}{Path(file.path).suffix}")
        decoded = [file.read() for file in files]
        of_files = adapter is not None and adapter.EXTRA in ("ultralytics", "onnx")
        if of_files:
            loop = ultralytics_loop(args.detector, detector, folder)
        elif adapter is None:
            loop = mmdet_loop(detector, decoded)
        elif adapter.EXTRA == "torchvision":
            loop = torchvision_loop(detector, decoded)
        else:
            loop = transformers_loop(args.detector, detector, decoded)
        images: Any = folder if of_files else decoded
        output = Path(temporary) / "boxes.parquet"
        runs = {"framework": loop, "detect": lambda: autoeval.detect(detector, images, output)}
        for run in runs.values():
            run()  # warm
        rounds = in_turns(runs, args.rounds)
    lines, figures = [], {}
    for clock in CLOCKS:
        ratio = median(rounds, lambda s: s["detect"] / s["framework"], clock)
        low, high = spread(rounds, lambda s: s["detect"] / s["framework"], clock)
        each = median(rounds, lambda s: s["framework"], clock) / args.n_images
        figures[clock] = {"ratio": ratio, "range": [low, high], "framework_s_per_image": each}
        lines.append(
            f"detect / framework   {ratio:.3f}  ({low:.3f} to {high:.3f}) by the {clock} clock, "
            f"{1000 * each:.1f} ms an image in the framework; target at most {MOST}"
        )
    report(args, lines, figures=figures)


def mmdet_loop(detector: Any, images: Sequence[np.ndarray]) -> Loop:
    """Return mmdet's own call on each image, with the pipeline built once."""
    from mmcv.transforms import Compose
    from mmdet.apis import inference_detector
    from mmdet.utils import get_test_pipeline_cfg

    steps = get_test_pipeline_cfg(detector.config.copy())
    steps[0].type = "mmdet.LoadImageFromNDArray"
    pipeline = Compose(steps)
    detector.model.cfg = detector.config
    return lambda: [
        inference_detector(detector.model, image, test_pipeline=pipeline) for image in images
    ]


def torchvision_loop(detector: Any, images: Sequence[np.ndarray]) -> Loop:
    """Return the module's call on each image."""
    model = detector.network
    place = next(model.parameters()).device

    @torch.inference_mode()
    def loop() -> None:
        for image in images:
            pixels = torch.from_numpy(image[:, :, ::-1].copy()).permute(2, 0, 1)
            (found,) = model([pixels.to(place) / 255])
            found["boxes"].cpu()

    return loop


def transformers_loop(name: str, detector: Any, images: Sequence[np.ndarray]) -> Loop:
    """Return processor, model and post-processing on each image."""
    from transformers import AutoImageProcessor

    processor = AutoImageProcessor.from_pretrained(name.removeprefix("hf:"))
    model = detector.network

    @torch.inference_mode()
    def loop() -> None:
        for image in images:
            inputs = processor(images=[image[:, :, ::-1]], return_tensors="pt").to(model.device)
            processor.post_process_object_detection(
                model(**inputs), threshold=0.01, target_sizes=[image.shape[:2]]
            )

    return loop


def ultralytics_loop(name: str, detector: Any, folder: Path) -> Loop:
    """Return its `predict` over a folder, as a stream."""
    from ultralytics import YOLO

    model = YOLO(name)
    names = ("conf", "iou", "imgsz", "max_det")
    options = {option: detector.settings[option] for option in names}

    def loop() -> None:
        for result in model.predict(str(folder), stream=True, verbose=False, **options):
            result.boxes.cpu().numpy()

    return loop


def workers(words: list[str]) -> None:
    """Measure, and print images a second and ratios."""
    parser = argparse.ArgumentParser(prog="detect workers")
    add_subject_options(parser, n_images=400)
    parser.set_defaults(detector="roadworld_nano")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args(words)
    torch.set_num_threads(args.threads)
    os.environ["OMP_NUM_THREADS"] = str(args.threads)
    import ray

    ray.init("local", num_cpus=max(WORKERS), include_dashboard=False, log_to_driver=False)
    spec = DetectorSpec(args.detector, args.checkpoint, args.device)
    executors = {"one process": None} | {
        f"{n} worker{'s' * (n > 1)}": RayExecutor(workers=n, cpus=args.threads, gpus=0)
        for n in WORKERS
    }
    rounds = []
    with image_files(args.images, args.n_images) as files, TemporaryDirectory() as temporary:
        folder, loads = Path(temporary), list[float]()
        (folder / "site").mkdir()
        for number, file in enumerate(files):
            shutil.copy(file.path, folder / f"site/{number:06}{Path(file.path).suffix}")
        for number in range(args.rounds):
            took = {}
            for name in list(executors)[:: 1 if number % 2 == 0 else -1]:
                run = autoeval.Detector(spec, executor=executors[name])
                work, start = folder / "work", time.perf_counter()
                autoeval.detect(run, folder / "site", folder / f"{name}.parquet", work_dir=work)
                took[name] = {"wall": time.perf_counter() - start}
                shutil.rmtree(work)
                loads.append(os.getloadavg()[0])
            rounds.append(took)
        tables = [pd.read_parquet(folder / f"{name}.parquet") for name in executors]
    same = all(table.equals(tables[0]) for table in tables)
    lines = [f"load of the machine: {min(loads):.1f} to {max(loads):.1f}, {os.cpu_count()} cores"]
    lines.append(f"boxes of all runs equal: {same}, {len(tables[0])} boxes")
    figures: dict[str, Any] = {"load": [min(loads), max(loads)], "equal": same}
    for name in executors:
        of_one = partial(ratio, name)
        rate = args.n_images / median(rounds, itemgetter(name), "wall")
        low, high = spread(rounds, of_one, "wall")
        figures[name] = {"images_per_s": rate, "range": [low, high]}
        lines.append(
            f"{name:12} {rate:6.1f} images a second, {median(rounds, of_one, 'wall'):.2f} times "
            f"one worker ({low:.2f} to {high:.2f})"
        )
    report(args, lines, figures=figures)


def ratio(name: str, seconds: dict[str, float]) -> float:
    """Return how many times as fast as one worker a run was."""
    return seconds["1 worker"] / seconds[name]


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


PARTS = {"loops": loops, "workers": workers}


if __name__ == "__main__":
    run_part(__doc__, PARTS)
