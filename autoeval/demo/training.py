"""Training the road world's detector, saving no more than is needed, and the page about it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import torch
from filelock import FileLock
from mmengine.config import Config

from autoeval.accuracy.coco_evaluation import MeanAP
from autoeval.detectors import MMDetector
from autoeval.detectors.building.checkpoints import harmless_types
from autoeval.detectors.building.configs import fill_registries
from autoeval.detectors.ops import register
from autoeval.errors import InputError
from autoeval.estimation.observation.observing import Observer
from autoeval.io.tasks.seed_set import Sample, Samples
from autoeval.io.tasks.task import Task
from autoeval.report.page import format_cells, to_markdown
from autoeval.roadworld.dataset import CATEGORY, make_picture, write_environment
from autoeval.runtime.files import PathLike, atomic_path
from autoeval.runtime.progress import progress_bar
from autoeval.stability.passes.presets import ScoredSettings

if TYPE_CHECKING:
    from mmengine.runner import Runner

TRAINING_SEED = 1000
"""Seed of the training images; evaluation uses others."""

LOADERS = 12
"""Processes that read and change images for a GPU, of all processes of the training together."""
PERCENT = "{:.1%}"
FIRST_PART = (
    "python tools/train_demo_detector.py --config configs/demo/train_roadworld_nano_first.py "
    "--work-dir work_dirs/demo_detector_first "
    "--checkpoint work_dirs/demo_detector_first/roadworld_nano.pth "
    "--report work_dirs/demo_detector_first/page.md"
)
"""Trains the weights from which configs/demo/train_roadworld_nano.py goes on."""
FORMATS = {"mAP": PERCENT, "mAP50": PERCENT, "mAP75": PERCENT}
PAGE = """# The road world's detector

`roadworld_nano` is a narrow YOLOX for 320 x 192 images, trained on rendered images of four clear
environments and on nothing else. The other six environments shift light, weather, view or sensor.
Weights: `configs/detectors/roadworld_nano.pth` (half precision).

```
{commands}
```

## Accuracy

Vehicles of all kinds are one category. Images: seed {seed}, none of them used in training. mAP is
COCO's, not rounded before this table.

{table}

## Training

{facts}

Losses, mean over the last 50 iterations of each epoch:

{losses}
"""


def train_detector(config: Config, work_dir: PathLike) -> tuple[Path, dict[str, Any]]:
    """Render the training images and train, as configs/demo/train_roadworld_nano.py.

    On a GPU where there is one, and in all processes of ``torchrun``, which share the images of a
    batch, and the GPU where there are fewer. An interrupted training goes on from its last epoch.

    Parameters
    ----------
    config : Config
        Of mmengine; ``load_from`` names weights to start from. Changed in place.
    work_dir : path-like
        Keeps checkpoints.

    Returns
    -------
    checkpoint : Path
        mmengine's last one.
    log : dict
        A plain summary; see `export_checkpoint`.

    Raises
    ------
    InputError
        If there are no such weights to start from.
    """
    before = _epochs_before(config.get("load_from"))
    started = time.monotonic()
    root, n_images = config.data_root, config.images_per_environment
    datasets = config.train_dataloader.dataset.datasets
    Path(root).mkdir(parents=True, exist_ok=True)
    with FileLock(Path(root) / ".rendering.lock"), ProcessPoolExecutor(os.cpu_count()) as pool:
        for dataset, name in zip(datasets, config.environments, strict=True):
            folder = write_environment(root, name, n_images, TRAINING_SEED, pool=pool)
            dataset.data_root = str(folder)
    rendered = time.monotonic()
    n_processes = int(os.environ.get("WORLD_SIZE", 1))
    config.train_dataloader.batch_size = max(1, config.batch_size // n_processes)
    if n_processes > 1:
        _join_processes(config)
    if torch.cuda.is_available():
        config.train_dataloader.num_workers = max(1, LOADERS // n_processes)
        config.train_dataloader.persistent_workers = True
    runner = _build_runner(config, Path(work_dir))
    # mmengine resumes by torch.load, which takes weights alone since torch 2.6.
    with torch.serialization.safe_globals(harmless_types()):
        runner.train()
    log = {
        "environments": list(config.environments),
        "images": len(runner.train_dataloader.dataset),
        "seed_of_images": TRAINING_SEED,
        "seed": config.randomness["seed"],
        "epochs": config.max_epochs,
        **before,
        "batch_size": config.batch_size,
        "device": _device_name(),
        "processes": n_processes,
        "threads": torch.get_num_threads(),
        "seconds_rendering": round(rendered - started),
        "seconds_training": round(time.monotonic() - rendered),
        "seconds_of_processor": round(time.process_time()),
        "torch": str(torch.__version__),
        "losses": summarise_losses(*sorted(Path(work_dir).glob("*/vis_data/scalars.json"))),
    }
    return Path(work_dir) / f"epoch_{config.max_epochs}.pth", log


def _join_processes(config: Config) -> None:
    """Join the processes of torchrun, several to a GPU where there are more of them.

    mmengine would give each process a GPU of its own. NCCL refuses two processes on one GPU.
    """
    if not torch.distributed.is_initialized():
        torch.distributed.init_process_group("gloo")
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())
    config.launcher = "pytorch"
    config.model_wrapper_cfg = {
        "type": "MMDistributedDataParallel",
        "device_ids": None,
        "broadcast_buffers": False,
    }


def _epochs_before(weights: str | None) -> dict[str, int]:
    """Return the epochs that the weights to start from were trained for, nothing without."""
    if not weights:
        return {}
    if not Path(weights).is_file():
        raise InputError(
            f"Expected weights of a first part of the training in {weights}. Train them:\n"
            f"  {FIRST_PART}\nor set load_from = None in the config to start from nothing."
        )
    return {"epochs_before": read_training_log(weights)["epochs"]}


def _build_runner(config: Config, work_dir: Path) -> Runner:
    """Build the runner with box distances in its loss, and laid out for a processor's cache."""
    register()
    from mmengine.runner import Runner

    fill_registries()
    config.work_dir = str(work_dir)
    config.resume = (work_dir / "last_checkpoint").exists()
    runner = Runner.from_cfg(config)
    getattr(runner.model, "module", runner.model).bbox_head.use_l1 = True
    runner.model.to(memory_format=torch.channels_last)
    return runner


def _device_name() -> str:
    """Name what the training ran on."""
    return torch.cuda.get_device_name() if torch.cuda.is_available() else "processor"


def summarise_losses(*scalars: PathLike) -> list[dict[str, float]]:
    """Return the last reported losses of every epoch.

    Parameters
    ----------
    *scalars : path-like
        Files of mmengine; a training that was interrupted leaves one for each start, in order.

    Returns
    -------
    list of dict
        One for each epoch: ``epoch``, and each loss by its name.
    """
    epochs: dict[int, dict[str, float]] = {}
    rows = [json.loads(line) for path in scalars for line in Path(path).read_text().splitlines()]
    for row in rows:
        if "loss" in row:
            losses = {key: round(row[key], 4) for key in row if key.startswith("loss")}
            epochs[row["epoch"]] = {"epoch": row["epoch"], **losses}
    return list(epochs.values())


def export_checkpoint(
    trained: PathLike,
    log: Mapping[str, Any],
    target: PathLike,
    *,
    classes: tuple[str, ...] = (CATEGORY,),
) -> None:
    """Save weights in half precision, classes and training log; loads with ``weights_only=True``.

    Parameters
    ----------
    trained : path-like
        A checkpoint of mmengine's runner.
    log : mapping
        What `train_detector` returns.
    target : path-like
        File to write.
    classes : tuple of str
        What the labels stand for.
    """
    state = torch.load(trained, map_location="cpu", weights_only=False)["state_dict"]
    half = {name: t.half() if t.is_floating_point() else t for name, t in state.items()}
    meta = {"dataset_meta": {"classes": classes}, "training": dict(log)}
    with atomic_path(target) as temporary:
        torch.save({"meta": meta, "state_dict": half}, temporary)


def read_training_log(checkpoint: PathLike) -> dict[str, Any]:
    """Return the training log that `export_checkpoint` put into a checkpoint.

    Parameters
    ----------
    checkpoint : path-like
        The file.

    Raises
    ------
    KeyError
        If it was written by something else.
    """
    return torch.load(checkpoint, map_location="cpu", weights_only=True)["meta"]["training"]


@dataclass(frozen=True)
class Pictures:
    """Labelled pictures of one environment, rendered on access.

    Parameters
    ----------
    environment : str
        Its name.
    n_images : int
        How many there are.
    seed : int
        Of the pictures.
    """

    environment: str
    n_images: int
    seed: int

    def __len__(self) -> int:
        return self.n_images

    def __getitem__(self, index: int) -> Sample:
        """Render one."""
        picture = make_picture(self.environment, index, seed=self.seed)
        blank = np.zeros(len(picture.boxes), np.int64)
        return Sample(str(index), picture.image, picture.boxes, blank, blank > 0)


def measure(detector: MMDetector, environment: str, n_images: int, *, seed: int = 0) -> dict:
    """Measure a detector of ``vehicle`` on pictures of one environment, rendered in memory.

    Parameters
    ----------
    detector : MMDetector
        The detector.
    environment : str
        A key of `autoeval.roadworld.ENVIRONMENTS`.
    n_images : int
        How many pictures.
    seed : int
        Of the pictures.

    Returns
    -------
    dict
        ``environment``, ``images``, ``vehicles``, and ``mAP``, ``mAP50`` and ``mAP75`` in [0, 1].
    """
    metric = measure_samples(detector, Pictures(environment, n_images, seed), environment)
    counts = {"images": n_images, "vehicles": metric.n_boxes}
    return {"environment": environment, **counts, **metric.compute()}


def measure_samples(detector: MMDetector, samples: Samples, name: str) -> MeanAP:
    """Match what a detector finds on labelled images with their labels.

    Parameters
    ----------
    detector : MMDetector
        Of ``vehicle``.
    samples : Samples
        Labelled images.
    name : str
        Shown beside the progress.
    """
    metric = MeanAP([CATEGORY])
    settings = ScoredSettings(repeats=0, wants=())
    observer = Observer(detector, Task("road world", (CATEGORY,), ()), settings)
    with progress_bar(len(samples), f"evaluating {name}") as bar:
        for sample, evidence in observer.each(samples):
            metric.update(evidence.clean, sample.boxes, sample.labels, sample.iscrowd)
            bar.update()
    return metric


def describe_training(
    log: Mapping[str, Any], table: pd.DataFrame, *, seed: int, commands: Sequence[str]
) -> str:
    """Write the Markdown page about a trained detector.

    Parameters
    ----------
    log : mapping
        What `train_detector` returns.
    table : DataFrame
        One row an environment, see `measure`.
    seed : int
        Of the images that it was measured on.
    commands : sequence of str
        That made the detector and the page.
    """
    shown = table.assign(trained_on=["yes" if name in log["environments"] else ""
                                     for name in table["environment"]])  # fmt: skip
    facts = {
        key.replace("_", " "): ", ".join(map(str, value)) if isinstance(value, list) else value
        for key, value in log.items()
        if key != "losses"
    }
    losses = pd.DataFrame(log["losses"])
    return PAGE.format(
        commands="\n".join(commands),
        table=to_markdown(format_cells(shown, FORMATS)),
        seed=seed,
        facts="\n".join(f"- {name}: {value}" for name, value in facts.items()),
        losses=to_markdown(losses.astype(str)),
    )
