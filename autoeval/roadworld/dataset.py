"""Pictures of an environment with their labels, and their data set on disk.

`make_picture` is one image with its boxes; `write_environment`, called by
`autoeval.roadworld.environments_task`, renders many into a folder with COCO annotations.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from scipy.ndimage import find_objects

from autoeval.errors import InputError
from autoeval.roadworld.air import precipitation, sense
from autoeval.roadworld.environments import ENVIRONMENTS, SEARCH_ENVIRONMENTS
from autoeval.roadworld.rendering import Rendering, render
from autoeval.roadworld.scene import Scene, draw_scene
from autoeval.runtime.files import PathLike, atomic_path, write_text
from autoeval.runtime.progress import progress_bar

CATEGORY = "vehicle"
JPEG_QUALITY = 95
NO_PIXELS = {"__init__", "environments_task"}
"""Modules that do not change what an image looks like."""
Entry = dict[str, Any]
MIN_VISIBLE = 0.3
"""A vehicle is labelled when at least this share of the pixels it covered is still seen ..."""
MIN_SIDE = 6.0
"""... and its box is at least this many pixels wide and high."""
PIXEL = 1.5
"""A side of the projected box this close to the pixels seen, in pixels, counts as in view."""


def write_environment(
    root: PathLike, name: str, n_images: int, seed: int = 0, *, pool: Executor | None = None
) -> Path:
    """Render the first images of an environment into a folder.

    It holds ``annotations.json`` (COCO, one category, ``vehicle``) and ``images/``. Images that an
    earlier, interrupted or smaller call left there are kept, provided that the same seed and the
    same renderer made them.

    Parameters
    ----------
    root : path-like
        The folder is ``root / name``.
    name : str
        Of an environment in `ENVIRONMENTS` or `SEARCH_ENVIRONMENTS`.
    n_images : int
        How many.
    seed : int
        Of all images.
    pool : Executor, optional
        Its processes render; this process by default.

    Returns
    -------
    Path
        The folder.

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
    missing = [index for index in range(n_images) if index not in known]
    if missing:  # stopped half-way, these labels would be taken for those of the new images
        (folder / "annotations.json").unlink(missing_ok=True)
    entry_of = partial(_write_image, folder, name, seed=seed)
    rendered = iter(pool.map(entry_of, missing) if pool else map(entry_of, missing))
    with progress_bar(n_images, f"rendering {name}") as bar, journal.open("w") as lines:
        entries = []
        for index in range(n_images):
            entry = known[index] if index in known else next(rendered)
            entries.append(entry)
            lines.write(json.dumps({"made": made, "entry": entry}) + "\n")
            lines.flush()
            bar.update()
    write_text(folder / "annotations.json", json.dumps(_to_coco(made, entries)))
    journal.unlink()
    return folder


@cache
def renderer_digest() -> str:
    """Return a short hash of the renderer's sources: images of different hashes do not mix.

    Comments and docstrings count, too; modules of `NO_PIXELS` do not.
    """
    sources = sorted(Path(__file__).parent.glob("*.py"))
    chosen = [path.read_bytes() for path in sources if path.stem not in NO_PIXELS]
    return hashlib.sha256(b"".join(chosen)).hexdigest()[:12]


def _write_image(folder: Path, name: str, index: int, *, seed: int) -> Entry:
    """Render one image and write it; return its entry, with boxes as xyxy in pixels."""
    picture = make_picture(name, index, seed=seed)
    path = folder / "images" / f"{index:05d}.jpg"
    with atomic_path(path) as temporary:
        cv2.imwrite(str(temporary), picture.image, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])
    height, width = picture.image.shape[:2]
    boxes = [[round(float(side), 2) for side in box] for box in picture.boxes]
    return {"id": index, "file_name": path.name, "height": height, "width": width, "boxes": boxes}


def _read_known(folder: Path, journal: Path, made: dict[str, Any]) -> dict[int, Entry]:
    """Return the entries of images that are there, by their number, of an earlier call.

    folder: of the environment
    journal: what a call that did not end has left
    made: environment, seed and renderer that they must be of
    """
    entries = _from_coco(folder / "annotations.json", made) + _from_journal(journal, made)
    return {e["id"]: e for e in entries if (folder / "images" / e["file_name"]).exists()}


def _from_journal(journal: Path, made: dict[str, Any]) -> list[Entry]:
    """Read the entries of a call that did not end."""
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
    """Read the entries of a call that ended."""
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
    """Return the COCO document of some entries, with what made them as its ``info``."""
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


@dataclass(frozen=True, eq=False)
class Picture:
    """An image with its labels.

    Parameters
    ----------
    image : ndarray of shape (H, W, 3), uint8
        BGR.
    boxes : ndarray of shape (N, 4), float64
        Of its vehicles, xyxy, pixels.
    kinds : tuple of str
        Their models, see `MODELS`.
    """

    image: np.ndarray
    boxes: np.ndarray
    kinds: tuple[str, ...]


def make_picture(environment: str, index: int, *, seed: int = 0) -> Picture:
    """Render one image of an environment; no other image has a say in it.

    Parameters
    ----------
    environment : str
        Name in `ENVIRONMENTS` or `SEARCH_ENVIRONMENTS`.
    index : int
        Number of the image, from 0.
    seed : int
        Of all images.

    Returns
    -------
    Picture

    Raises
    ------
    InputError
        If there is no such environment.

    Examples
    --------
    >>> make_picture("day_street", 3).image.shape
    (192, 320, 3)
    """
    known = ENVIRONMENTS | SEARCH_ENVIRONMENTS
    if environment not in known:
        raise InputError(f"No environment '{environment}'; choose from {', '.join(known)}.")
    settings = known[environment]
    rng = np.random.default_rng([zlib.crc32(environment.encode()), seed, index])
    scene = draw_scene(settings, rng)
    rendering = render(scene)
    image = precipitation(rendering.image, settings.weather, rng)
    image = sense(image, settings.sensor, rng)
    boxes, rows = visible_boxes(scene, rendering)
    return Picture(image, boxes, tuple(scene.vehicles[i].kind for i in rows))


def projected_box(scene: Scene, index: int) -> np.ndarray:
    """Return the box (4,) around the projected vertices of a vehicle, clipped to the image.

    Parameters
    ----------
    scene : Scene
        With the vehicle.
    index : int
        Of the vehicle.

    Returns
    -------
    ndarray of shape (4,)
        xyxy, pixels.
    """
    camera = scene.camera
    pixels, _ = camera.project(scene.vehicles[index].panels.points)
    low, high = pixels.min((0, 1)), pixels.max((0, 1))
    limits = [camera.width, camera.lines]
    return np.clip(np.concatenate([low, high]), 0, limits * 2)


def visible_boxes(scene: Scene, rendering: Rendering) -> tuple[np.ndarray, np.ndarray]:
    """Label a rendered scene.

    Each side of a box is that of the projected vehicle where that side is in view; where something
    nearer hides it, it is the outermost pixel still seen in ``rendering.owner``. A vehicle of which
    less than `MIN_VISIBLE` of the drawn pixels is seen, or whose box is smaller than `MIN_SIDE`, is
    not labelled.

    Parameters
    ----------
    scene : Scene
        That was rendered.
    rendering : Rendering
        Of it.

    Returns
    -------
    tuple of ndarray of shape (N, 4) and (N,)
        Boxes, xyxy in pixels, and the index of each one's vehicle.
    """
    seen = np.bincount(rendering.owner.ravel(), minlength=len(scene.vehicles) + 1)[1:]
    boxes, index = [], []
    for i, area in enumerate(find_objects(rendering.owner, len(scene.vehicles))):
        if area is None or seen[i] < MIN_VISIBLE * rendering.drawn[i]:
            continue
        pixels = np.array([area[1].start, area[0].start, area[1].stop, area[0].stop], float)
        whole = projected_box(scene, i)
        box = np.where(np.abs(whole - pixels) <= PIXEL, whole, pixels)
        if (box[2:] - box[:2]).min() >= MIN_SIDE:
            boxes.append(box)
            index.append(i)
    return np.array(boxes, float).reshape(-1, 4), np.array(index, np.int64)
