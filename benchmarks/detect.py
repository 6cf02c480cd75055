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
"""

from __future__ import annotations

import argparse
import os
import shutil
import time
from collections.abc import Callable, Sequence
from functools import partial
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import torch

import autoeval
from autoeval.detectors.adapters import adapter_of
from autoeval.detectors.detector_spec import DetectorSpec
from autoeval.runtime.ray_executor import RayExecutor
from benchmarks.parts import run_part
from benchmarks.timing import (
    CLOCKS,
    add_subject_options,
    image_files,
    in_turns,
    make_detector,
    median,
    report,
    spread,
)

MOST = 1.10
Loop = Callable[[], object]
WORKERS = (1, 2)


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


PARTS = {"loops": loops, "workers": workers}


if __name__ == "__main__":
    run_part(__doc__, PARTS)
