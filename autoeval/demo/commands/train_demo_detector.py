"""Train the road world's detector on rendered images and measure it in every environment."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from autoeval.errors import InputError
from autoeval.runtime.files import shipped_config
from autoeval.words import refuse_given

if TYPE_CHECKING:
    from autoeval.runtime.files import PathLike

SEED = 0


def train_demo_detector(
    *,
    config: PathLike | None = None,
    checkpoint: PathLike = "configs/detectors/roadworld_nano.pth",
    report: PathLike = "docs/results/demo_detector.md",
    report_only: bool = False,
    work_dir: PathLike | None = None,
    images: int = 150,
    threads: int | None = None,
) -> None:
    """Train the road world's detector on rendered images and measure it in every environment.

    Writes the checkpoint and a Markdown page with the training log and the accuracy in every
    environment. With --report-only the page is written anew for the checkpoint there is.

    Parameters
    ----------
    config : path-like, optional
        Of mmengine (default: the shipped one, configs/demo/train_roadworld_nano.py).
    checkpoint : path-like
        Weights to write, or to measure.
    report : path-like
        The page.
    report_only : bool
        Do not train.
    work_dir : path-like, optional
        Of the training (default: work_dirs/demo_detector).
    images : int
        Images to evaluate on, per environment.
    threads : int, optional
        Processor threads; where others compete, 1 is best.
    """
    if report_only:
        reason = "is about the training, which --report-only leaves out: leave it out, too."
        refuse_given({"config": config, "work_dir": work_dir}, reason)
    if config is not None and not Path(config).is_file():
        raise InputError(f"No configuration file {config}: check the path.")
    import pandas as pd
    import torch
    from mmengine.config import Config

    from autoeval.demo.training import (
        FIRST_PART,
        describe_training,
        export_checkpoint,
        measure,
        read_training_log,
        train_detector,
    )
    from autoeval.detectors import load_detector
    from autoeval.roadworld import DETECTOR, ENVIRONMENTS
    from autoeval.runtime.files import write_text

    weights = Path(checkpoint)
    if threads:
        torch.set_num_threads(threads)
    if not report_only:
        path = config or shipped_config("demo", "train_roadworld_nano.py")
        folder = Path(work_dir or "work_dirs/demo_detector")
        trained, log = train_detector(Config.fromfile(path), folder)
        if int(os.environ.get("RANK", 0)):
            return  # of torchrun, one process writes
        export_checkpoint(trained, log, weights)
        print(f"wrote {weights}")
    detector = load_detector(DETECTOR, checkpoint=weights)
    rows = [measure(detector, name, images, seed=SEED) for name in ENVIRONMENTS]
    table = pd.DataFrame(rows)
    log = read_training_log(weights)
    commands = [FIRST_PART] if "epochs_before" in log else []
    commands.append(f"python tools/train_demo_detector.py --threads {log['threads']}")
    if report_only:
        commands.append(f"python tools/train_demo_detector.py --report-only --images {images}")
    write_text(report, describe_training(log, table, seed=SEED, commands=commands))
    print(table.to_string(index=False, float_format="{:.3f}".format))
    print(f"\nwrote {report}")
