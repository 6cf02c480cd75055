"""What box stability depends on: choices, transforms, masks, the dropout and its place.

choices: how far box stability moves by what the paper leaves open: tables of docs.

    python -m benchmarks.box_stability choices [--n-images 20] > table.md
    python -m benchmarks.box_stability choices --detector yolox_nano \
        --checkpoint yolox_nano_coco.pth --task configs/tasks/vehicle_person.py \
        --data-root DATA --n-images 8 > table.md

Runs the detector once clean and twice under dropout on the environments of the road world, or on
the sources of a task, and scores the same boxes by every choice: largest difference to the default
over the environments, and the squared correlation with mAP over them. On a task also with images
resized whatever their shape, and the entropy score by the softmax over all categories.

transforms: which transforms the road world's detector is meant for: its labelled mAP under each.

    python -m benchmarks.box_stability transforms [--n-images 10] > table.md

On images like those of its training, of another seed: the four clear environments. Each transform
is applied at a tenth, half and nine tenths of its range, alone. No score of the detector is read.

masks: how far box stability moves by how masks of feature dropout are drawn: a table of docs.

    python -m benchmarks.box_stability masks [--n-images 8] [--seeds 4] > table.md

Renders the environments of the road world and runs the detector under dropout with the masks that
are shipped, a hash of integers of seed, stage and position, and with those of ``torch.rand`` on the
processor, by as many seeds each. Where both are masks of independent elements, their mean scores
differ by no more than seeds do.

nested: the error of box stability where each left-out group has a dropout that it did not choose.

For each group of sources in turn: the greedy search of the dropout on the sample sets of all other
groups, a line of mAP against box stability under that dropout on the same sample sets, and the
estimate for the group's own images. Beside it the paper's fixed dropout and a constant, on the same
images. One dropout seed. `autoeval reproduce bos --search` does the same with all scores and
repeats, in a pass of its own for each dropout that is chosen.

    python -m benchmarks.box_stability nested --detector yolox_nano \
        --checkpoint yolox_nano_coco.pth --task configs/tasks/vehicle_22.py \
        --data-root DATA --n-sets 1 --n-images 12 --max-images 40

gain: what the road world's retrained detector and its searched dropout each bring to box stability.

For the weights of the first part of the training, and for those that are shipped: the dropout of
the paper and the one that a greedy search finds on eight environments of its own, each evaluated on
nine other environments, every one left out in turn.

    python tools/train_demo_detector.py --config configs/demo/train_roadworld_nano_first.py \
        --work-dir work_dirs/demo_detector_first \
        --checkpoint work_dirs/demo_detector_first/roadworld_nano.pth
    python -m benchmarks.box_stability gain --first work_dirs/demo_detector_first/roadworld_nano.pth

swin: how far box stability moves by where features of a Swin transformer are dropped.

    python -m benchmarks.box_stability swin [--train-images 100] [--epochs 15] [--n-images 12]

Trains a small Swin with the head of the road world's detector on its four clear environments, and
scores all environments under dropout after the blocks of stages 1 and 2, which the next stage and
the neck read, and of their normalised outputs, which the neck alone reads (the released code).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
import torch
from mmengine.config import Config, ConfigDict
from scipy.special import entr, softmax
from torch import Tensor

from autoeval.accuracy.coco_evaluation import MeanAP
from autoeval.demo.kinds import CLEAR_ENVIRONMENTS
from autoeval.demo.training import export_checkpoint, train_detector
from autoeval.detections import Evidence
from autoeval.detectors import MMDetector
from autoeval.detectors.loading import load_detector
from autoeval.detectors.preprocessing import step_name, test_pipeline
from autoeval.estimation.observation.kept_observer import Keeping
from autoeval.estimation.observation.observing import Observer
from autoeval.estimation.observation.samples import ImageLoading
from autoeval.io.tasks.seed_set import Sample
from autoeval.io.tasks.task import Task, load_task
from autoeval.model.pair_table import SEED
from autoeval.report.page import format_cells, to_markdown
from autoeval.roadworld import CATEGORY, DETECTOR, ENVIRONMENTS, make_picture
from autoeval.roadworld.environments import SEARCH_ENVIRONMENTS
from autoeval.roadworld.environments_task import environments_task, render_environments
from autoeval.runtime.store import RowStore
from autoeval.stability.commands.road_world import HELD_BACK, METASET
from autoeval.stability.commands.search_dropout import RATES
from autoeval.stability.dropout_search.search import (
    folder_of,
    greedy,
    grid,
    nested_search,
    search_bench,
    stages_of,
)
from autoeval.stability.dropout_search.trial import Trial, correlation, scores_of
from autoeval.stability.dropout_search.workbench import Workbench, list_stages
from autoeval.stability.fitting.fit_task import fit_task
from autoeval.stability.fitting.meta_set import sample_set_jobs
from autoeval.stability.metasets import (
    MetaSetConfig,
    SampleSet,
    draw_recipes,
    load_metaset_config,
    own_images,
)
from autoeval.stability.metasets.transforms import MILD, TransformStep, apply_step, get_transform
from autoeval.stability.methods.leave_one_out import leave_one_source_out
from autoeval.stability.network.forward import dropout, passes
from autoeval.stability.network.forward.dropout_spec import DropoutSpec
from autoeval.stability.passes.presets import PRESETS, ScoredSettings, as_perturbable, preset
from autoeval.stability.scores.box_stability import BoxStabilitySettings, box_stability
from autoeval.stability.scores.confidence_scores import binary_entropy
from benchmarks.commands import run_part

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
TRANSFORM_SEED = 1001  # of no training and of no evaluation
AT = (0.1, 0.5, 0.9)
WIDTH = 24  # of the first stage of a small Swin
SWIN = {
    "type": "SwinTransformer",
    "embed_dims": WIDTH,
    "depths": (2, 2, 2, 2),
    "num_heads": (1, 2, 4, 8),
    "window_size": 4,
    "mlp_ratio": 2,
    "drop_path_rate": 0.0,
    "out_indices": (1, 2, 3),
}
NORMS = ("norm1", "norm2")  # of the outputs of stages 1 and 2
Draw = Callable[..., Tensor]


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
    detector: MMDetector,
    samples: Rendered | SampleSet,
    task: Task,
    *,
    dropout: DropoutSpec = DROPOUT,
    stages: tuple[str, ...] = (),
) -> tuple[list[Evidence], float]:
    """Return the boxes of an environment's images, clean and under dropout, and mAP."""
    metric, found = MeanAP(task.categories), []
    settings = ScoredSettings(wants=("logits",), dropout=dropout, repeats=2, stages=stages)
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


def choice_table(
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
            binary = np.array([decided(e, threshold, by_softmax=False) for e, _ in seen])
            soft = np.array([decided(e, threshold, by_softmax=True) for e, _ in seen])
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


def choices(words: list[str]) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="box_stability choices")
    parser.add_argument("--detector", default=DETECTOR)
    parser.add_argument("--checkpoint")
    parser.add_argument("--task", metavar="FILE", help="by default the road world")
    parser.add_argument("--data-root", metavar="DIR")
    parser.add_argument("--n-images", type=int, default=20, help="of each environment (20)")
    args = parser.parse_args(words)
    detector = load_detector(args.detector, checkpoint=args.checkpoint, device="cpu")
    task = load_task(args.task, args.data_root) if args.task else None
    squeezed = squeeze(args.detector, args.checkpoint) if task else None
    numbers = dict.fromkeys(("mean", "largest difference"), "{:.3f}") | {"R²": "{:.2f}"}
    made = choice_table(detector, task, args.n_images, squeezed)
    print(to_markdown(format_cells(made, numbers)))


def accuracy(detector: object, pictures: list, step: TransformStep | None) -> float:
    """Return mAP on pictures under one transform."""
    metric = MeanAP([CATEGORY])
    for index, picture in enumerate(pictures):
        image, boxes = picture.image, picture.boxes
        if step is not None:
            rng = np.random.default_rng([index])
            image, boxes, _ = apply_step(step, image, boxes, rng=rng)
        (seen,) = detector.observe([image], [str(index)])  # type: ignore[attr-defined]
        blank = np.zeros(len(boxes), np.int64)
        metric.update(seen.clean, boxes, blank, blank > 0)
    return metric.compute()["mAP"]


def transforms(words: list[str]) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="box_stability transforms")
    parser.add_argument("--n-images", type=int, default=10, help="of each environment (10)")
    args = parser.parse_args(words)
    detector = load_detector(DETECTOR, device="cpu")
    pictures = [
        make_picture(name, k, seed=TRANSFORM_SEED)
        for name in CLEAR_ENVIRONMENTS
        for k in range(args.n_images)
    ]
    plain = accuracy(detector, pictures, None)
    rows = []
    for name in MILD:
        transform = get_transform(name)
        last = transform.n_magnitudes - 1
        steps = [TransformStep(name, transform.magnitude(round(at * last))) for at in AT]
        each = [accuracy(detector, pictures, step) for step in steps]
        shown = {f"at {at:g}": value for at, value in zip(AT, each, strict=True)}
        rows.append(
            {"transform": name, **shown, "mean": np.mean(each), "kept": np.mean(each) / plain}
        )
    table = pd.DataFrame(rows)
    numbers = dict.fromkeys([name for name in table if name != "transform"], "{:.2f}")
    print(f"Without a transform: {plain:.2f}\n")
    print(to_markdown(format_cells(table, numbers)))


def from_torch(
    shape: Sequence[int], seeds: Sequence[int], stage: int, *, device: torch.device | str = "cpu"
) -> Tensor:
    """Draw by torch's generator of the processor, one for each seed and stage."""
    generators = [torch.Generator().manual_seed(dropout._hash(seed, stage)) for seed in seeds]
    return torch.stack([torch.rand(*shape, generator=one) for one in generators]).to(device)


def scores(detector: object, n_images: int, seeds: int, draw: Draw) -> dict[str, np.ndarray]:
    """Return the score of each environment by each seed, (environments, seeds), for each preset."""
    found = {name: np.zeros((len(ENVIRONMENTS), seeds)) for name in PRESETS}
    specs = list(dict.fromkeys(spec for spec, _ in PRESETS.values()))
    perturbable = as_perturbable(detector)
    with ExitStack() as stack:
        for module in (dropout, passes):
            stack.enter_context(patch.object(module, "draw_uniform", draw))
        for row, environment in enumerate(ENVIRONMENTS):
            each: dict[str, list[list[float]]] = {name: [] for name in PRESETS}
            for index in range(n_images):
                image = make_picture(environment, index).image
                (seen,) = perturbable.observe_each([image], [str(index)], specs, repeats=seeds)
                for name, (spec, settings) in PRESETS.items():
                    evidence = seen[spec]
                    each[name].append(
                        [box_stability(evidence.clean, p, settings) for p in evidence.perturbed]
                    )
            for name, values in each.items():
                found[name][row] = np.nanmean(values, axis=0)
    return found


def mask_table(detector: object, n_images: int, seeds: int) -> pd.DataFrame:
    """Return one row a preset."""
    hashed = scores(detector, n_images, seeds, dropout.draw_uniform)
    drawn = scores(detector, n_images, seeds, from_torch)
    rows = []
    for name, by_seed in hashed.items():
        other = drawn[name]
        spread = np.sqrt((by_seed.var(1, ddof=1) + other.var(1, ddof=1)) / 2)
        gap = by_seed.mean(1) - other.mean(1)
        error = np.sqrt((spread**2 * 2 / seeds).sum()) / len(gap)
        rows.append(
            {
                "preset": name,
                "mean": by_seed.mean(),
                "deviation by seed": np.sqrt((spread**2).mean()),
                "difference of means": gap.mean(),
                "its standard error": error,
                "largest of one environment": abs(gap).max(),
            }
        )
    return pd.DataFrame(rows)


def masks(words: list[str]) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="box_stability masks")
    parser.add_argument("--detector", default=DETECTOR)
    parser.add_argument("--checkpoint")
    parser.add_argument("--n-images", type=int, default=8, help="of each environment (8)")
    parser.add_argument("--seeds", type=int, default=4, help="of each way to draw (4)")
    args = parser.parse_args(words)
    detector = load_detector(args.detector, checkpoint=args.checkpoint, device="cpu")
    made = mask_table(detector, args.n_images, args.seeds)
    print(to_markdown(format_cells(made, dict.fromkeys(made.columns[1:], "{:.4f}"))))


def score(bench: Workbench, sets: np.ndarray, spec: DropoutSpec) -> np.ndarray:
    """Return the score of some sets of images under a dropout; NaN where none has one."""
    (column,) = bench.columns([spec])
    of_sets = [np.asarray(a[sets][..., [column]]) for a in (bench.sums, bench.counts)]
    return scores_of(*of_sets)[:, 0]


def estimate(bench: Workbench, training: np.ndarray, own: int, spec: DropoutSpec) -> float:
    """Fit a line on sample sets, and read it at a source's own images."""
    x, y = score(bench, training, spec), bench.accuracy[training]
    usable = np.isfinite(x) & np.isfinite(y)
    slope, start = np.polyfit(x[usable], y[usable], 1)
    return float(np.clip(start + slope * score(bench, np.array([own]), spec)[0], 0, 1))


def evaluate(bench: Workbench, groups: dict[str, str], usual: DropoutSpec) -> pd.DataFrame:
    """Leave each group out: one row a source, with its estimate by either dropout."""
    chosen = nested_search(bench, groups)
    columns = [job.columns for job in bench.sample_sets]
    names = np.array([str(of["source"]) for of in columns])
    group = np.array([groups.get(name, name) for name in names])
    is_own = np.array([of["kind"] == SEED for of in columns])
    for own in np.flatnonzero(is_own).tolist():
        specs = list(dict.fromkeys([chosen[group[own]].best, usual]))
        bench.measure(specs, np.where(np.arange(len(names)) == own, bench.sizes, 0))
    rows = []
    for own in np.flatnonzero(is_own).tolist():
        best, others = chosen[group[own]].best, group != group[own]
        training = np.flatnonzero(others & ~is_own)
        training = training[np.isin(training, bench.usable())]
        rows.append(
            {
                "source": names[own],
                "group": group[own],
                "stages": list_stages(best.stages),
                "rate": best.rate,
                "mAP": bench.accuracy[own],
                "searched": estimate(bench, training, own, best),
                "the paper's": estimate(bench, training, own, usual),
                "constant": float(np.nanmean(bench.accuracy[is_own & others])),
            }
        )
    return pd.DataFrame(rows).dropna(subset=["mAP"])


def falling(bench: Workbench) -> str:
    """Count the dropouts under which stability falls with accuracy over all sample sets.

    With the largest R² of such a line, which the search counts as 0, and of a line that rises.
    """
    is_own = np.array([job.columns["kind"] == SEED for job in bench.sample_sets])
    sets = bench.usable()[~is_own[bench.usable()]]
    counts = bench.counts[sets].sum(1)
    r = correlation(scores_of(bench.sums[sets], bench.counts[sets]), bench.accuracy[sets])
    r = r[(counts > 0).all(0)]
    text = f"{(r < 0).sum()} of {len(r)} dropouts measured on all sample sets have a falling line"
    if (r < 0).any():
        falling, rising = max(r[r < 0] ** 2), max(r[r > 0] ** 2, default=0)
        text += f", of R² {falling:.2f} at most; the largest R² of a rising one is {rising:.2f}"
    return text


def figures(table: pd.DataFrame, name: str) -> dict[str, object]:
    """Return one row: errors in points, over sources and with each group counting once."""
    error = 100 * (table[name] - table["mAP"]).abs()
    return {
        "dropout": name,
        "MAE of sources": error.mean(),
        "MAE of groups": error.groupby(table["group"]).mean().mean(),
        "spearman": table[[name, "mAP"]].corr("spearman").iloc[0, 1],
    }


def nested(words: list[str]) -> None:
    """Search, estimate, and print."""
    parser = argparse.ArgumentParser(prog="box_stability nested")
    parser.add_argument("--detector", required=True, metavar="NAME")
    parser.add_argument("--checkpoint", metavar="FILE")
    parser.add_argument("--task", required=True, metavar="FILE")
    parser.add_argument("--data-root", metavar="DIR")
    parser.add_argument("--max-images", type=int, metavar="N", help="own images of a source")
    parser.add_argument("--metaset", metavar="FILE")
    parser.add_argument("--n-sets", type=int, metavar="N")
    parser.add_argument("--n-images", type=int, metavar="N")
    parser.add_argument("--rates", nargs="+", type=float, default=list(RATES), metavar="P")
    parser.add_argument("--preset", default="paper_skip_empty")
    parser.add_argument("--batch-size", type=int, default=8, metavar="N")
    parser.add_argument("--work-dir", type=Path, default=Path("work_dirs/nested"), metavar="DIR")
    args = parser.parse_args(words)
    task = replace(load_task(args.task, args.data_root), max_images=args.max_images)
    detector = load_detector(args.detector, checkpoint=args.checkpoint)
    settings = replace(preset(args.preset, repeats=1), wants=())
    observer: Observer = Observer(detector, task, settings, reading=ImageLoading(args.batch_size))
    meta_set = load_metaset_config(args.metaset, n_sets=args.n_sets, n_images=args.n_images)
    seed_sets = task.load_seed_sets()
    recipes = [r for seed_set in seed_sets for r in draw_recipes(seed_set, meta_set)]
    recipes += [own_images(seed_set) for seed_set in seed_sets]
    jobs = sample_set_jobs(observer, seed_sets, recipes)
    usual = settings.dropout
    of_all = grid(usual.position, args.rates, n_stages=stages_of(observer.detector))
    specs = dict.fromkeys([*of_all, usual])
    bench = Workbench(observer, jobs, tuple(specs), RowStore(args.work_dir / "search" / "rows"))
    table = evaluate(bench, task.groups, usual)
    print(table.round(3).to_string(index=False))
    names = ("searched", "the paper's", "constant")
    rows = pd.DataFrame([figures(table, name) for name in names])
    print(rows.round(2).to_string(index=False))
    print("\n".join([falling(bench), *bench.warnings]))


def rows_of(
    name: str, detector: MMDetector, tasks: tuple[Task, Task], meta_set: MetaSetConfig, folder: Path
) -> list[dict[str, object]]:
    """Search on the second task, evaluate both dropouts on the first: one row a dropout."""
    settings = replace(preset("paper", repeats=2), wants=())
    task, search_task = tasks
    of_search: Observer = Observer(detector, search_task, settings)
    store = RowStore(folder / "search" / "rows")
    sets = search_task.load_seed_sets()
    bench = search_bench(of_search, sets, meta_set, store, rates=RATES)
    found = greedy(Trial(bench)).best
    print(f"{name}: {falling(bench)}", flush=True)
    rows = []
    for label, spec in (("the paper's", settings.dropout), ("searched", found)):
        observer: Observer = Observer(detector, task, replace(settings, dropout=spec))
        keep = Keeping(folder / folder_of(spec))
        fitted = fit_task(observer, task.load_seed_sets(), keep, meta_set=meta_set, methods=["bos"])
        summary = leave_one_source_out(fitted.table_, "bos").summary()
        constant = leave_one_source_out(fitted.table_, "constant").summary()
        rows.append(
            {
                "weights": name,
                "dropout": f"{label}: {list_stages(spec.stages)} at {spec.rate:g}",
                "R² over sample sets": summary["score_r2"],
                "MAE": 100 * summary["mean_absolute_error"],
                "MAE of a constant": 100 * constant["mean_absolute_error"],
                "ratio": summary["mean_absolute_error"] / constant["mean_absolute_error"],
            }
        )
    return rows


def gain(words: list[str]) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="box_stability gain")
    parser.add_argument("--first", required=True, metavar="FILE", help="weights of the first part")
    parser.add_argument("--n-images", type=int, default=60, metavar="N", help="of a site (60)")
    parser.add_argument("--sample", type=int, default=20, metavar="N", help="of a sample set (20)")
    parser.add_argument("--work-dir", type=Path, default=Path("work_dirs/demo_gain"), metavar="DIR")
    args = parser.parse_args(words)
    world = args.work_dir / "world"
    render_environments(world, args.n_images)
    render_environments(world, args.n_images, names=SEARCH_ENVIRONMENTS)
    sites = [name for name in ENVIRONMENTS if name != HELD_BACK]
    tasks = environments_task(world, sites), environments_task(world, SEARCH_ENVIRONMENTS)
    meta_set = replace(load_metaset_config(METASET), n_images=args.sample)
    rows = []
    for name, checkpoint in (("first part", args.first), ("shipped", None)):
        detector = load_detector(DETECTOR, checkpoint=checkpoint)
        rows += rows_of(name, detector, tasks, meta_set, args.work_dir / name.replace(" ", "_"))
    numbers = dict.fromkeys(("R² over sample sets", "ratio"), "{:.2f}")
    numbers |= dict.fromkeys(("MAE", "MAE of a constant"), "{:.1f}")
    print(to_markdown(format_cells(pd.DataFrame(rows), numbers)))


def train_swin(folder: Path, n_images: int, epochs: int) -> MMDetector:
    """Train a small Swin with the neck and head of the road world's detector."""
    config = Config.fromfile("configs/demo/train_roadworld_nano_first.py")
    config.model.backbone = ConfigDict(SWIN)
    config.model.neck.in_channels = [WIDTH * factor for factor in (2, 4, 8)]
    config.data_root = str(folder / "images")
    config.images_per_environment, config.max_epochs = n_images, epochs
    config.train_cfg.max_epochs = config.param_scheduler[1].end = epochs
    files = folder / "swin.py", folder / "swin.pth"
    trained, log = train_detector(config, folder)
    config.test_dataloader = Config.fromfile("configs/detectors/roadworld_nano.py").test_dataloader
    config.dump(files[0])
    export_checkpoint(trained, log, files[1])
    return load_detector(str(files[0]), checkpoint=str(files[1]), device="cpu")


def swin(words: list[str]) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="box_stability swin")
    parser.add_argument("--train-images", type=int, default=100, help="of each environment (100)")
    parser.add_argument("--epochs", type=int, default=15, help="of the training (15)")
    parser.add_argument("--n-images", type=int, default=12, help="of each environment (12)")
    parser.add_argument("--work-dir", type=Path, default=Path("work_dirs/swin"), metavar="DIR")
    args = parser.parse_args(words)
    detector = train_swin(args.work_dir, args.train_images, args.epochs)
    task, sets = Task("road world", (CATEGORY,), ()), list(environments(None, args.n_images))
    scores: list[np.ndarray] = []
    accuracy = np.zeros(len(sets))
    for stages, numbers in (((), DROPOUT.stages), (NORMS, (0, 1))):
        spec = replace(DROPOUT, stages=numbers)
        seen = [observed(detector, s, task, dropout=spec, stages=stages) for s in sets]
        accuracy = np.array([value for _, value in seen])
        scores.append(np.array([stability(evidence, DEFAULT) for evidence, _ in seen]))
    names = ("after the blocks of a stage", "normalised outputs, which the neck alone reads")
    rows = [row(n, s, scores[0], accuracy) for n, s in zip(names, scores, strict=True)]
    formats = dict.fromkeys(("mean", "largest difference"), "{:.3f}") | {"R²": "{:.2f}"}
    print(f"mAP over the environments: {accuracy.min():.2f} to {accuracy.max():.2f}")
    print(f"correlation of the two scores: {np.corrcoef(scores[0], scores[1])[0, 1]:.2f}")
    print(to_markdown(format_cells(pd.DataFrame(rows), formats)))


PARTS = {
    "choices": choices,
    "transforms": transforms,
    "masks": masks,
    "nested": nested,
    "gain": gain,
    "swin": swin,
}


if __name__ == "__main__":
    run_part(__doc__, PARTS)
