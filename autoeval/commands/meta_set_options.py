"""The options that name a task and its sample sets, and what is done to each image of them."""

from __future__ import annotations

import argparse
from pathlib import Path

PRESET_NAMES = ("paper", "released", "replication")


def add_data_options(parser: argparse.ArgumentParser, *, images: str) -> None:
    """Declare where images come from.

    Parameters
    ----------
    parser : ArgumentParser
    images : str
        What is done with ``--images``.
    """
    data = parser.add_argument_group("data")
    data.add_argument(
        "--task", metavar="FILE", required=True, help="such as configs/tasks/vehicle.py"
    )
    data.add_argument("--data-root", metavar="DIR", help="folder with the data of the task")
    data.add_argument("--images", metavar="PATH", help=f"folder or COCO JSON to {images}")
    data.add_argument("--img-dir", metavar="DIR", help="where the files of that COCO JSON lie")
    data.add_argument("--metaset", metavar="FILE", help="default: as configs/metasets/mild.py")
    data.add_argument("--n-sets", type=int, metavar="N", help="sample sets for each seed set")
    data.add_argument("--n-images", type=int, metavar="N", help="images for each sample set")


def add_pass_options(parser: argparse.ArgumentParser) -> None:
    """Declare how the detector is perturbed, and how the work is done."""
    run = parser.add_argument_group("run")
    run.add_argument("--preset", default="paper", choices=PRESET_NAMES)
    run.add_argument("--repeats", type=int, default=10, help="dropout seeds (default: %(default)s)")
    run.add_argument("--seed", type=int, default=0, help="of every draw (default: %(default)s)")
    run.add_argument("--batch-size", type=int, default=4, help="changes no number")
    run.add_argument(
        "--work-dir", type=Path, metavar="DIR", help="default: work_dirs/TASK_DETECTOR..."
    )
