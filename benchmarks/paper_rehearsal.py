"""Rehearse table 1 of the paper on box stability: from the command to the finished table.

    python -m benchmarks.paper_rehearsal --out rehearsal

Writes miniature copies of the ten data sets in the layouts in which they were published, with
random content, and RetinaNet-R18 with random weights, whose scores for cars, buses and trucks are
set to about a half so that boxes are left. Then runs `autoeval reproduce bos` on them at a small
input size. The figures mean nothing; that there is one, or a reason, in every cell of the table
does. Interrupted and started again it goes on.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import torch

from autoeval.cli import main as autoeval
from benchmarks.paper_layouts import write_scenes
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


def rehearse(out: Path, *, images: int, n_sets: int, n_images: int, repeats: int) -> int:
    """Write what is missing, run the command, and return its status."""
    data, weights = out / "data", out / f"{DETECTOR}.pth"
    if not weights.is_file():
        write_scenes(data, images)
        write_weights(weights)
    sizes = {"--n-sets": n_sets, "--n-images": n_images, "--repeats": repeats}
    words = [word for option, value in sizes.items() for word in (option, str(value))]
    paths = {"--data-root": data, "--work-dir": out / "work", "--checkpoint": weights}
    words += [word for option, path in paths.items() for word in (option, str(path))]
    words += ["--detector", DETECTOR, "--cfg-options", *SMALL, "--device", "cpu"]
    return autoeval(["reproduce", "bos", "--table", "1", *words])


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument("--images", type=int, default=24, help="of each data set (%(default)s)")
    parser.add_argument("--n-sets", type=int, default=4, help="for each data set (%(default)s)")
    parser.add_argument("--n-images", type=int, default=8, help="in each set (%(default)s)")
    parser.add_argument("--repeats", type=int, default=2, help="(%(default)s)")
    args = parser.parse_args()
    start = time.perf_counter()
    sizes = {"n_sets": args.n_sets, "n_images": args.n_images, "repeats": args.repeats}
    status = rehearse(args.out, images=args.images, **sizes)
    print(f"{(time.perf_counter() - start) / 60:.1f} minutes", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
