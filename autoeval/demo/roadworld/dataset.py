"""An environment on disk: images and COCO annotations."""

from __future__ import annotations

import hashlib
import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import cv2

from autoeval.demo.roadworld.picture import make_picture
from autoeval.runtime.files import atomic_path, write_text
from autoeval.runtime.progress import progress_bar

CATEGORY = "vehicle"
JPEG_QUALITY = 95
NO_PIXELS = {"__init__", "dataset", "detector_page", "training"}
"""Modules that do not change what an image looks like."""

Entry = dict[str, Any]


def write_environment(
    root: str | os.PathLike[str], name: str, n_images: int, seed: int = 0
) -> Path:
    """Render the first ``n_images`` images of an environment into a folder.

    Images that an earlier, interrupted or smaller call left there are kept, provided that the same
    seed and the same renderer made them.

    Parameters
    ----------
    root : path
        Folder of all environments.
    name : str
        A key of `ENVIRONMENTS`.
    n_images : int
        Number of images.
    seed : int, default 0
        Seed of the environment's images.

    Returns
    -------
    Path
        ``root / name``, which holds ``annotations.json`` (COCO, one category, ``vehicle``) and
        ``images/``.

    Raises
    ------
    InputError
        If there is no such environment.
    """
    folder = Path(root) / name
    journal = folder / "annotations.partial.jsonl"
    made = {"environment": name, "seed": seed, "renderer": renderer_digest()}
    known = _read_known(folder, journal, made)
    folder.mkdir(parents=True, exist_ok=True)
    with progress_bar(n_images, f"rendering {name}") as bar, journal.open("w") as lines:
        entries = []
        for index in range(n_images):
            entry = known.get(index) or _write_image(folder, name, index, seed)
            entries.append(entry)
            lines.write(json.dumps({"made": made, "entry": entry}) + "\n")
            lines.flush()
            bar.update()
    write_text(folder / "annotations.json", json.dumps(_to_coco(made, entries)))
    journal.unlink()
    return folder


@cache
def renderer_digest() -> str:
    """Return a short hash of the renderer's sources: images of different hashes do not mix."""
    sources = sorted(Path(__file__).parent.glob("*.py"))
    chosen = [path.read_bytes() for path in sources if path.stem not in NO_PIXELS]
    return hashlib.sha256(b"".join(chosen)).hexdigest()[:12]


def _write_image(folder: Path, name: str, index: int, seed: int) -> Entry:
    picture = make_picture(name, index, seed=seed)
    path = folder / "images" / f"{index:05d}.jpg"
    with atomic_path(path) as temporary:
        cv2.imwrite(str(temporary), picture.image, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])
    height, width = picture.image.shape[:2]
    boxes = [[round(float(side), 2) for side in box] for box in picture.boxes]
    return {"id": index, "file_name": path.name, "height": height, "width": width, "boxes": boxes}


def _read_known(folder: Path, journal: Path, made: dict[str, Any]) -> dict[int, Entry]:
    entries = _from_coco(folder / "annotations.json", made) + _from_journal(journal, made)
    return {e["id"]: e for e in entries if (folder / "images" / e["file_name"]).exists()}


def _from_journal(journal: Path, made: dict[str, Any]) -> list[Entry]:
    entries = []
    for line in journal.read_text().splitlines() if journal.exists() else []:
        try:
            row = json.loads(line)
        except ValueError:
            break  # the kill came in the middle of this line
        if row["made"] == made:
            entries.append(row["entry"])
    return entries


def _from_coco(path: Path, made: dict[str, Any]) -> list[Entry]:
    if not path.exists():
        return []
    coco = json.loads(path.read_text())
    if coco["info"] != made:
        return []
    entries = {image["id"]: image | {"boxes": []} for image in coco["images"]}
    for row in coco["annotations"]:
        x, y, w, h = row["bbox"]
        entries[row["image_id"]]["boxes"].append([x, y, round(x + w, 2), round(y + h, 2)])
    return list(entries.values())


def _to_coco(made: dict[str, Any], entries: list[Entry]) -> dict[str, Any]:
    images = [{k: v for k, v in entry.items() if k != "boxes"} for entry in entries]
    annotations: list[dict[str, Any]] = []
    for entry in entries:
        for x1, y1, x2, y2 in entry["boxes"]:
            w, h = round(x2 - x1, 2), round(y2 - y1, 2)
            annotations.append({"id": len(annotations) + 1, "image_id": entry["id"],
                                "category_id": 1, "bbox": [x1, y1, w, h],
                                "area": round(w * h, 2), "iscrowd": 0})  # fmt: skip
    categories = [{"id": 1, "name": CATEGORY}]
    return {"info": made, "images": images, "annotations": annotations, "categories": categories}
