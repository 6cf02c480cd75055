"""Write what a detector finds on corrupted versions of labelled sets, as COCO results.

    python -m benchmarks.corrupted_predictions yolox_nano DATA OUT [--checkpoint FILE]

reads ``DATA/all/coco_mini`` and ``DATA/all/robot_home``, sets of many categories, and writes
``OUT/<detector>/all/<set>.json`` of the images as they are, and ``<set>__<corruption>.json`` of
each of `CORRUPTIONS`, scores from .01 on, at most 300 boxes an image. Objects stay in their place,
so that the labels of a set are those of all its versions: sites with a shift for
`benchmarks/many_categories.py`. Files that are there are kept.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np

from autoeval.detectors import load_detector
from autoeval.io.coco import read_coco
from autoeval.io.images import read_image
from autoeval.runtime.files import write_json
from autoeval.runtime.progress import progress_bar
from autoeval.stability.metasets.transforms import TransformStep, apply_step
from benchmarks.export_predictions import entries

SETS = ("coco_mini", "robot_home")
CORRUPTIONS: Mapping[str, TransformStep] = MappingProxyType(
    {
        "fog_mild": TransformStep("fog", 2),
        "fog_strong": TransformStep("fog", 4),
        "noise_mild": TransformStep("gaussian_noise", 2),
        "noise_strong": TransformStep("gaussian_noise", 4),
        "blur_mild": TransformStep("defocus_blur", 2),
        "blur_strong": TransformStep("defocus_blur", 4),
        "dark_mild": TransformStep("Brightness", 0.3),
        "dark_strong": TransformStep("Brightness", 0.1),
    }
)
"""Names of versions: severities of the common corruptions, and factors of brightness."""
NO_BOXES = np.empty((0, 4))


def version(name: str, corruption: str) -> str:
    """Name a corrupted version of a set; the set itself where there is no corruption."""
    return f"{name}__{corruption}" if corruption else name


def main() -> None:
    """Run the detector over every version of every image."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("detector")
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--checkpoint")
    args = parser.parse_args()
    detector = load_detector(args.detector, checkpoint=args.checkpoint)
    for name in SETS:
        folder = args.data / "all" / name
        images = read_coco(folder / "annotations.json").images
        for corruption, step in {"": None, **CORRUPTIONS}.items():
            path = args.out / args.detector / "all" / f"{version(name, corruption)}.json"
            if path.exists():
                continue
            rows = []
            with progress_bar(len(images), path.stem) as bar:
                for image in images:
                    pixels = read_image(folder / "images" / image.file_name)
                    if step is not None:
                        rng = np.random.default_rng(int(image.image_id))
                        pixels, _, _ = apply_step(step, pixels, NO_BOXES, rng=rng)
                    (seen,) = detector.observe([pixels], [image.image_id])
                    named = image.image_id, image.file_name, detector.categories
                    rows += entries(seen.clean, *named)
                    bar.update()
            write_json(path, rows, indent=None)


if __name__ == "__main__":
    main()
