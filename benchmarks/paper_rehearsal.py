"""Rehearse table 1 of the paper on box stability: from the command to the finished table.

    python -m benchmarks.paper_rehearsal --work-dir rehearsal

Writes miniature copies of the ten data sets in the layouts in which they were published, with
random content, and RetinaNet-R18 with random weights, whose scores for cars, buses and trucks are
set to about a half so that boxes are left. Then runs `autoeval reproduce bos` on them at a small
input size. The figures mean nothing; that there is one, or a reason, in every cell of the table
does. Interrupted and started again it goes on.

With photographs and a detector that is trained they mean something, though nothing about the paper:

    python -m benchmarks.paper_rehearsal --work-dir rehearsal_photographs --detector yolox_nano \
        --checkpoint yolox_nano_coco.pth --photographs coco/annotations.json bdd/annotations.json
"""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import redirect_stdout
from pathlib import Path

import torch

from autoeval.cli import main as autoeval
from benchmarks.paper_layouts import write_photographs, write_scenes
from benchmarks.subjects import random_detector

DETECTOR = "retinanet_r18"
SMALL = (
    "test_dataloader.dataset.pipeline.1.scale=(256,160)",
    "model.test_cfg.nms_pre=50",
    "model.test_cfg.max_per_img=20",
)
VEHICLES, N_CLASSES, NEVER = (2, 5, 7), 80, -8.0


def write_weights(path: Path) -> Path:
    """Save random weights with scores of about a half for vehicles and next to none for others."""
    model = random_detector(DETECTOR, "cpu").model
    bias = model.bbox_head.retina_cls.bias.data.view(-1, N_CLASSES)
    bias[:] = NEVER
    bias[:, VEHICLES] = 0
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save(model.state_dict(), path)
    return path


def rehearse(args: argparse.Namespace) -> int:
    """Write what is missing, run the command, and return its status."""
    out, detector = args.work_dir, args.detector or DETECTOR
    weights = args.checkpoint or out / f"{DETECTOR}.pth"
    if not (out / "data").is_dir():
        if args.photographs:
            write_photographs(out / "data", args.photographs, args.images)
        else:
            write_scenes(out / "data", args.images)
    if not weights.is_file():
        with redirect_stdout(sys.stderr):  # where mmengine tells how it draws weights
            write_weights(weights)
    words = ["--n-sets", f"{args.n_sets}", "--n-images", f"{args.n_images}"]
    words += ["--repeats", f"{args.repeats}"]
    paths = {"--data-root": out / "data", "--work-dir": out / "work", "--checkpoint": weights}
    words += [word for option, path in paths.items() for word in (option, str(path))]
    words += ["--detector", detector, "--device", "cpu"]
    words += [] if args.detector else ["--cfg-options", *SMALL]
    return autoeval(["reproduce", "bos", "--table", "1", *words])


def main() -> int:
    """Run from the command line."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("--work-dir", type=Path, required=True, metavar="DIR")
    parser.add_argument("--images", type=int, default=12, help="of each data set (%(default)s)")
    parser.add_argument("--n-sets", type=int, default=3, help="for each data set (%(default)s)")
    parser.add_argument("--n-images", type=int, default=6, help="in each set (%(default)s)")
    parser.add_argument("--repeats", type=int, default=1, help="(%(default)s)")
    parser.add_argument("--detector", metavar="ALIAS", help="with --checkpoint")
    parser.add_argument("--checkpoint", type=Path, metavar="FILE")
    parser.add_argument(
        "--photographs",
        type=Path,
        nargs="+",
        default=(),
        metavar="FILE",
        help="up to ten COCO files of vehicles, each beside its images/",
    )
    args = parser.parse_args()
    start = time.perf_counter()
    status = rehearse(args)
    minutes = (time.perf_counter() - start) / 60
    print(
        f"{minutes:.1f} minutes, {time.process_time() / 60:.1f} of them computing", file=sys.stderr
    )
    return status


if __name__ == "__main__":
    sys.exit(main())
