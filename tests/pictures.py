"""Pictures, COCO sets and seed sets for tests."""

import json
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np

from autoeval.io.tasks.seed_set import ImageRecord, SeedSet


def picture(height: int = 40, width: int = 60, seed: int = 0) -> np.ndarray:
    """Smooth colours, so that JPEG keeps them well."""
    rough = np.random.default_rng(seed).integers(0, 256, (4, 6, 3), dtype=np.uint8)
    return cv2.resize(rough, (width, height), interpolation=cv2.INTER_CUBIC)


def textured(height: int = 40, width: int = 60, seed: int = 0) -> np.ndarray:
    """Colours that vary at every scale, from the picture's size down to a pixel."""
    rng = np.random.default_rng(seed)
    rough = [rng.normal(0, 25, (2**level + 1, 2**level + 1, 3)) for level in range(1, 8)]
    layers = [cv2.resize(r, (width, height), interpolation=cv2.INTER_CUBIC) for r in rough]
    return np.clip(120 + sum(layers), 0, 255).astype(np.uint8)


def seed_set(n_images: int = 300, name: str = "street", every: int | None = None) -> SeedSet:
    """Images that nobody reads, of which each `every`-th holds a box."""
    records = []
    for k in range(n_images):
        n = int(every is not None and k % every == 0)
        arrays = np.zeros((n, 4)), np.zeros(n, np.int64), np.zeros(n, bool)
        records.append(ImageRecord(str(k), Path(f"{k}.jpg"), 10, 10, *arrays))
    return SeedSet(name, ("vehicle",), tuple(records))


def write_coco_set(
    folder: Path,
    boxes=((1, "car", 5, 5, 10, 10),),
    *,
    n_images: int = 3,
    categories=("car", "person"),
    size=(40, 60),
    name: str = "set",
    change: Callable[[dict], None] = lambda document: None,
) -> tuple[Path, Path]:
    """Write a COCO data set: boxes are (image id, category, x, y, w, h[, iscrowd])."""
    img_dir = folder / name / "images"
    img_dir.mkdir(parents=True)
    images = []
    for image_id in range(1, n_images + 1):
        cv2.imwrite(str(img_dir / f"{image_id}.png"), picture(*size, seed=image_id))
        sides = dict(height=size[0], width=size[1])
        images.append(dict(id=image_id, file_name=f"{image_id}.png", **sides))
    document = dict(
        images=images,
        categories=[dict(id=10 + i, name=text) for i, text in enumerate(categories)],
        annotations=[
            dict(id=number, image_id=image_id, category_id=10 + categories.index(category))
            | dict(bbox=list(rest[:4]), iscrowd=int(rest[4]) if len(rest) > 4 else 0)
            for number, (image_id, category, *rest) in enumerate(boxes)
        ],
    )
    change(document)
    ann_file = folder / name / "annotations.json"
    ann_file.write_text(json.dumps(document))
    return ann_file, img_dir


def write_files(folder: Path, files: dict[str, str], *, size=(20, 40)) -> Path:
    """Write text files and dark images (by their suffix) into a folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix in (".png", ".jpg"):
            cv2.imwrite(str(path), np.zeros((*size, 3), np.uint8))
        else:
            path.write_text(content)
    return folder
