"""Train the road world's detector on rendered images and measure it in every environment.

Writes the checkpoint and a Markdown page with the training log and the accuracy in every
environment. With --report-only the page is written anew for the checkpoint there is.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from autoeval.commands.typed_options import refuse_beside
from autoeval.io.config_file import shipped_config

CONFIG = shipped_config("demo", "train_roadworld_nano.py")
CHECKPOINT = Path("configs/detectors/roadworld_nano.pth")
REPORT = Path("docs/results/demo_detector.md")
SEED = 0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--config", type=Path, default=CONFIG, metavar="FILE")
    parser.add_argument("--checkpoint", type=Path, default=CHECKPOINT, metavar="FILE")
    parser.add_argument(
        "--report",
        type=Path,
        metavar="FILE",
        default=REPORT,
        help="the page (default: %(default)s)",
    )
    parser.add_argument("--report-only", action="store_true", help="do not train")
    parser.add_argument(
        "--work-dir", type=Path, default=Path("work_dirs/demo_detector"), metavar="DIR"
    )
    parser.add_argument(
        "--images",
        type=int,
        default=150,
        help="images to evaluate on, per environment (%(default)s)",
    )
    parser.add_argument(
        "--threads",
        type=int,
        metavar="N",
        help="processor threads; where others compete, 1 is best",
    )


def run(args: argparse.Namespace) -> int:
    """Train, export, evaluate, report."""
    if args.report_only:
        reason = "is about the training, which --report-only leaves out: leave it out, too."
        refuse_beside(args, ["config", "work_dir"], reason)
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

    if args.threads:
        torch.set_num_threads(args.threads)
    if not args.report_only:
        trained, log = train_detector(Config.fromfile(args.config), args.work_dir)
        if int(os.environ.get("RANK", 0)):
            return 0  # of torchrun, one process writes
        export_checkpoint(trained, log, args.checkpoint)
        print(f"wrote {args.checkpoint}")
    detector = load_detector(DETECTOR, checkpoint=args.checkpoint)
    rows = [measure(detector, name, args.images, seed=SEED) for name in ENVIRONMENTS]
    table = pd.DataFrame(rows)
    log = read_training_log(args.checkpoint)
    commands = [FIRST_PART] if "epochs_before" in log else []
    commands.append(f"python tools/train_demo_detector.py --threads {log['threads']}")
    if args.report_only:
        commands.append(f"python tools/train_demo_detector.py --report-only --images {args.images}")
    write_text(args.report, describe_training(log, table, seed=SEED, commands=commands))
    print(table.to_string(index=False, float_format="{:.3f}".format))
    print(f"\nwrote {args.report}")
    return 0
