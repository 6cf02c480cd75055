"""What the pass costs, on a processor and on a GPU, and the paper's protocol by it.

ratio: what the pass costs beside plain inference, and beside the naive way to the same scores.

Runs in turns, over the same image files: plain inference (``model.test_step``, one by one), the
pass without and with perturbed passes, all scores of these and mAP included, and the naive way of
`naive_estimate`. Prints medians of ratios within rounds, by the clock on the wall and of the CPU.

    python -m benchmarks.passes ratio --checkpoint yolox_nano_coco.pth --images photographs/
    python -m benchmarks.passes ratio --detector retinanet_r50 --n-images 1 --only one
    python -m benchmarks.passes ratio --detector retinanet_r50 --n-images 1 --size 667 400 \
        --only many

``--only one`` leaves out the many repeats, ``--only many`` all but them.

speed: images a second of the pass, beside MMDetection's own loop and the bare network, in one run.

Of RetinaNet-R50 and YOLOX-nano, or of one that is named. Runs in turns, over the same image files:
the network on a batch that is prepared already; MMDetection's loop (its pipeline, a data loader
with and without worker processes, ``test_step``); the plain pass, which gives boxes alone, as
`detect` runs it; and the pass with all scores, clean and with perturbed passes, with as many
loading workers. Prints images and network passes a second, and the ratios of passes to
MMDetection's loop with workers and to the bare network, within rounds.

    python -m benchmarks.passes speed --checkpoint yolox_nano_coco.pth --device cuda --threads 4
    python -m benchmarks.passes speed --n-images 4 --batch 2 --workers 1 --repeats 2 --rounds 1 \
        --size 333 200

protocol: how long the paper's full protocol takes, from the time that one image takes here.

Observes a few images of 640 x 480 pixels of noise with each detector, on one thread, once without
and once with a perturbed pass, scores and mAP included, and multiplies: 10 seed sets x 50 sample
sets x 250 images, 10 repeats. Times are CPU seconds on a CPU, which other processes on the machine
hardly change, and seconds by the clock on a GPU. Weights are random where none are given; their
heads are initialised so that, as with trained ones, few boxes pass the threshold.

    python -m benchmarks.passes protocol --n-images 2 --workers 64 --json rates.json
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from mmengine.dataset import Compose, pseudo_collate
from scipy.optimize import linear_sum_assignment
from torch.nn.functional import dropout
from torch.utils.data import DataLoader, Dataset

from autoeval.accuracy.coco_evaluation import MeanAP
from autoeval.detections import Detections
from autoeval.detectors.detector import MMDetector
from autoeval.detectors.loading import load_detector
from autoeval.detectors.predicting import Batch
from autoeval.detectors.preprocessing import collate, test_pipeline
from autoeval.estimation.observation.observing import Observer
from autoeval.estimation.observation.samples import ImageLoading
from autoeval.io.image_lists import ImageFile
from autoeval.io.tasks.seed_set import Sample
from autoeval.io.tasks.task import Task
from autoeval.report.page import format_cells, to_markdown
from autoeval.runtime.files import write_text
from autoeval.stability.network.backbones import split_backbone
from autoeval.stability.network.forward.dropout_spec import DropoutSpec
from autoeval.stability.passes.presets import BY_PRODUCTS, preset
from autoeval.stability.passes.tally import scored_rows
from benchmarks.commands import run_part
from benchmarks.detect import (
    CLOCKS,
    LabelledFiles,
    Rounds,
    add_subject_options,
    image_files,
    in_turns,
    label_by,
    make_detector,
    median,
    random_detector,
    report,
    score,
    spread,
)

MIDDLE = DropoutSpec("after", (1, 2), 0.15)
LAST = DropoutSpec("after", (3,), 0.15)
Seconds = dict[str, float]
LOOP = "MMDetection's loop, {} workers"
BARE = "bare network on a prepared batch"
SPEED_OF = ("retinanet_r50", "yolox_nano")
OF_CHECKPOINT = "yolox_nano"
PAPER = ("retinanet_r50", "faster_rcnn_r50", "retinanet_swin_t", "faster_rcnn_swin_t")
SAMPLE_SETS = 10 * 50
IMAGES = 250
REPEATS = 10
BOX = np.array([[100.0, 100.0, 300.0, 300.0]])


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


def ratio(words: list[str]) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="passes ratio")
    add_subject_options(parser, n_images=8)
    parser.add_argument("--repeats", type=int, default=10, metavar="K")
    parser.add_argument("--rounds", type=int, default=5, metavar="N")
    parser.add_argument("--only", choices=("one", "many"))
    args = parser.parse_args(words)
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

    a = torch.from_numpy(clean.above(0.05).boxes)
    b = torch.from_numpy(perturbed.above(0.05).boxes)
    if not len(a) or not len(b):
        return float("nan")
    overlaps = bbox_overlaps(a, b, mode="giou").numpy()
    rows, columns = linear_sum_assignment(-overlaps)
    return float(overlaps[rows, columns].mean())


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


def prepared_files(
    detector: MMDetector, samples: LabelledFiles, batch: int, workers: int
) -> DataLoader:
    """Return MMDetection's loader of the files; its processes start once, before what is timed."""
    return DataLoader(
        Prepared(detector, [file.path for file in samples.files]),
        batch,
        num_workers=workers,
        collate_fn=pseudo_collate,
        persistent_workers=workers > 0,
    )


@torch.no_grad()
def framework(detector: MMDetector, loader: DataLoader) -> None:
    """Run MMDetection's loop, boxes on the host in the end."""
    for data in loader:
        for result in detector.model.test_step(data):
            result.pred_instances.cpu()


@torch.inference_mode()
def bare(detector: MMDetector, batch: Batch, n_images: int) -> None:
    """Run the network alone on one batch, again and again."""
    for _ in range(0, n_images, len(batch.inputs)):
        detector.model(batch.inputs, batch.samples, mode="tensor")


def plain(detector: MMDetector, samples: LabelledFiles, loading: ImageLoading) -> None:
    """Run the pass that gives boxes alone."""
    task = Task("object", ("object",), (), dict.fromkeys(detector.categories, "object"))
    for _ in Observer(detector, task, reading=loading).stream(samples, detector.launch):
        pass


def speed(words: list[str]) -> None:
    """Measure each detector, and print one table."""
    parser = argparse.ArgumentParser(prog="passes speed")
    add_subject_options(parser, n_images=64)
    parser.add_argument("--batch", type=int, default=16, metavar="N")
    parser.add_argument("--workers", type=int, default=8, metavar="N", help="of all that load")
    parser.add_argument("--repeats", type=int, default=10, metavar="K")
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    parser.set_defaults(detector=None)
    args = parser.parse_args(words)
    names = [args.detector] if args.detector else list(SPEED_OF)
    table, rounds = [], {}
    with image_files(args.images, args.n_images) as files:
        for name in names:
            # Weights are those of the one detector that is named, or of YOLOX-nano among both.
            weights = args.checkpoint if args.detector or name == OF_CHECKPOINT else None
            one = argparse.Namespace(**{**vars(args), "detector": name, "checkpoint": weights})
            rows, rounds[name] = speed_of(make_detector(one), files, args)
            table += [{"detector": name, **row} for row in rows]
    numbers = dict.fromkeys(list(table[0])[2:], "{:.2f}")
    lines = [to_markdown(format_cells(pd.DataFrame(table), numbers))]
    report(args, lines, table=table, rounds=rounds)


def speed_of(
    detector: MMDetector, files: tuple[ImageFile, ...], args: argparse.Namespace
) -> tuple[list[dict[str, Any]], Rounds]:
    """Run everything in turns; return a row a run, and the seconds of each round."""
    settings = replace(preset("paper"), wants=BY_PRODUCTS)
    loading = ImageLoading(args.batch, args.workers)
    samples = label_by(detector, files)
    prepared = [detector._preprocess(file.read()) for file in files[: args.batch]]
    of_one_size = [p for p in prepared if p["inputs"].shape == prepared[0]["inputs"].shape]
    with torch.inference_mode():
        batch = Batch(*collate(detector.model, of_one_size))

    def scored(spec: DropoutSpec, repeats: int) -> Callable[[], object]:
        wanted = replace(settings, dropout=spec, repeats=repeats)
        return partial(score, detector, samples, wanted, loading)

    loop, loader = LOOP.format(args.workers), partial(prepared_files, detector, samples, args.batch)
    runs: dict[str, tuple[int, Callable[[], object]]] = {
        BARE: (1, partial(bare, detector, batch, len(files))),
        loop: (1, partial(framework, detector, loader(args.workers))),
        LOOP.format(0): (1, partial(framework, detector, loader(0))),
        "plain pass: boxes alone": (1, partial(plain, detector, samples, loading)),
        "clean pass with all scores": (1, scored(MIDDLE, 0)),
        "clean + 1 repeat, stages 1 and 2": (2, scored(MIDDLE, 1)),
        f"clean + {args.repeats} repeats, stage 3": (1 + args.repeats, scored(LAST, args.repeats)),
    }
    calls = {name: call for name, (_, call) in runs.items()}
    for call in calls.values():
        call()
    rounds = in_turns(calls, args.rounds)
    rows = []
    for name, (passes, _) in runs.items():
        rate = len(files) / median(rounds, itemgetter(name), "wall")
        row: dict[str, Any] = {"run": name, "images / s": rate, "passes / s": passes * rate}
        for what, other in (("loop", loop), ("bare", BARE)):
            seconds = [(one[other]["wall"], one[name]["wall"]) for one in rounds]
            row[f"passes / {what}"] = passes * statistics.median(b / a for b, a in seconds)
        rows.append(row)
    return rows, rounds


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
    clean = seconds_an_image(detector, samples, repeats=0)
    both = seconds_an_image(detector, samples, repeats=1)
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


def protocol(words: list[str]) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="passes protocol")
    parser.add_argument("--detector", nargs="+", default=PAPER, metavar="ALIAS")
    parser.add_argument("--checkpoint", metavar="FILE", help="weights of a single detector")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--n-images", type=int, default=2, metavar="N")
    parser.add_argument("--workers", type=int, default=64, metavar="N")
    parser.add_argument("--json", metavar="FILE")
    args = parser.parse_args(words)
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


PARTS = {"ratio": ratio, "speed": speed, "protocol": protocol}


if __name__ == "__main__":
    run_part(__doc__, PARTS)
