"""Training the road world's detector with mmengine, and saving no more of it than is needed."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from mmengine.config import Config

from autoeval.demo.roadworld.dataset import CATEGORY, write_environment
from autoeval.detectors.building.constructing import fill_registries
from autoeval.detectors.ops import register
from autoeval.runtime.files import atomic_path

if TYPE_CHECKING:
    from mmengine.runner import Runner

TRAINING_SEED = 1000
"""Seed of the training images; evaluation uses others."""


def train_detector(config: Config, work_dir: str | os.PathLike[str]) -> tuple[Path, dict[str, Any]]:
    """Render the training images and train.

    Parameters
    ----------
    config : Config
        As configs/demo/train_roadworld_nano.py.
    work_dir : path
        Logs and checkpoints; an interrupted training goes on from its last epoch.

    Returns
    -------
    Path
        mmengine's last checkpoint.
    dict
        Plain summary: images, epochs, batch size, seconds, threads, the losses of every epoch.
    """
    started = time.monotonic()
    _render_training_images(config)
    rendered = time.monotonic()
    runner = _build_runner(config, Path(work_dir))
    runner.train()
    log = {
        "environments": list(config.environments),
        "images": len(runner.train_dataloader.dataset),
        "seed_of_images": TRAINING_SEED,
        "seed": config.randomness["seed"],
        "epochs": config.max_epochs,
        "batch_size": config.batch_size,
        "threads": torch.get_num_threads(),
        "seconds_rendering": round(rendered - started),
        "seconds_training": round(time.monotonic() - rendered),
        "seconds_of_processor": round(time.process_time()),
        "torch": str(torch.__version__),
        "losses": summarise_losses(Path(runner.log_dir) / "vis_data" / "scalars.json"),
    }
    return Path(work_dir) / f"epoch_{config.max_epochs}.pth", log


def _build_runner(config: Config, work_dir: Path) -> Runner:
    """Build the runner with box distances in its loss, and laid out for a processor's cache."""
    register()
    from mmengine.runner import Runner

    fill_registries()
    config.work_dir = str(work_dir)
    config.resume = (work_dir / "last_checkpoint").exists()
    runner = Runner.from_cfg(config)
    runner.model.bbox_head.use_l1 = True
    runner.model.to(memory_format=torch.channels_last)
    return runner


def _render_training_images(config: Config) -> None:
    """Render every environment under ``config.data_root`` and point the data sets at them."""
    root, names = config.data_root, config.environments
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(write_environment, root, name, config.images_per_environment,
                            TRAINING_SEED) for name in names]  # fmt: skip
        folders = [str(job.result()) for job in jobs]
    for dataset, folder in zip(config.train_dataloader.dataset.datasets, folders, strict=True):
        dataset.data_root = folder


def summarise_losses(scalars: str | os.PathLike[str]) -> list[dict[str, float]]:
    """Read mmengine's scalars and return the last reported losses of every epoch."""
    epochs: dict[int, dict[str, float]] = {}
    for line in Path(scalars).read_text().splitlines():
        row = json.loads(line)
        if "loss" in row:
            losses = {key: round(row[key], 4) for key in row if key.startswith("loss")}
            epochs[row["epoch"]] = {"epoch": row["epoch"], **losses}
    return list(epochs.values())


def export_checkpoint(
    trained: str | os.PathLike[str],
    log: Mapping[str, Any],
    target: str | os.PathLike[str],
    *,
    classes: tuple[str, ...] = (CATEGORY,),
) -> None:
    """Save weights in half precision, classes and training log; loads with ``weights_only=True``.

    Parameters
    ----------
    trained : path
        A checkpoint of mmengine's runner.
    log : mapping
        As `train_detector` returns it.
    target : path
        File to write.
    classes : tuple of str
        What the detector's labels stand for.
    """
    state = torch.load(trained, map_location="cpu", weights_only=False)["state_dict"]
    half = {name: t.half() if t.is_floating_point() else t for name, t in state.items()}
    meta = {"dataset_meta": {"classes": classes}, "training": dict(log)}
    with atomic_path(target) as temporary:
        torch.save({"meta": meta, "state_dict": half}, temporary)


def read_training_log(checkpoint: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the training log that `export_checkpoint` put into a checkpoint."""
    return torch.load(checkpoint, map_location="cpu", weights_only=True)["meta"]["training"]
