"""Train detectors on single sites, as users train their own, and write what they find elsewhere.

    python -m benchmarks.fine_tuned_detectors DATA WEIGHTS OUT [NAME ...] [--device cuda]

Each detector of `HOMES` and `MORE_HOMES` starts from COCO's YOLOX-nano (WEIGHTS) and is trained on
60 % of the images of one site, ``DATA/<task>/<site>``, in its labelled categories: about three
minutes on one core. Then it runs on all sites that hold a category of its own, on the images of
`site_images`, which it was not trained on. Writes ``OUT/weights/<home>.pth`` and the boxes as COCO
results, ``OUT/predictions/<home>/<task>/<site>.json``; what is there already is kept.
`benchmarks/fine_tuned.py` makes the tables of it.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from mmengine.structures import InstanceData

from autoeval.detectors import MMDetector
from autoeval.detectors.building.category_names import coco_categories
from autoeval.detectors.building.configs import build_model, read_config
from autoeval.io.coco import read_coco
from autoeval.io.images import read_image
from autoeval.io.labels.content import LabelSet
from autoeval.runtime.files import atomic_path, write_json
from autoeval.runtime.progress import progress_bar
from benchmarks.export_predictions import TASKS, entries

HOMES = (
    "vehicle/nepal_road",
    "person/campus_india_ppe",
    "two/bdd_day",
    "vehicle/trafficcam_day",
    "all/robot_home",
    "person/chem_plant_cctv",
    "vehicle/fortaleza_cctv",
    "person/construction_web",
    "vehicle/highway_top",
    "two/dashcam_india",
    "all/bottle_cup_br",
)
"""Sites of the first detectors, whose pairs are compared (`benchmarks/fine_tuned_pairs.py`)."""
MORE_HOMES = (
    "vehicle/carla_drive",
    "vehicle/dawn_fog",
    "vehicle/drone_madison",
    "vehicle/highway_id",
    "vehicle/hituav_low",
    "vehicle/trafficcam_night",
    "vehicle/web_catalogue",
    "person/cafe_overhead",
    "person/cctv_person_day",
    "person/danish_site_robot",
    "person/football_pitch",
    "person/penn_fudan",
    "two/bdd_city_people",
    "two/dawn_sand",
    "two/hituav_mixed",
)
TRAINED_SHARE = 0.6
LABELLED = "coco_mini"
MOST_IMAGES = 60  # of a site that nobody was trained on, evenly taken
SIZE, PAD = 416, 114.0
STEPS, BATCH, WARM_UP = 140, 6, 15
RATE, WEIGHT_DECAY = 4e-4, 0.02
SMALLEST_ZOOM = 0.7  # of the augmentation; the largest is its inverse
SAME_WORD = {"vehicle": "car"}  # whose weights of the last layer a category starts with
FEWEST_LABELS = 8  # of a category, to be learned

TrainingImage = tuple[torch.Tensor, np.ndarray, np.ndarray]
"""Pixels, boxes (N, 4) in them, and labels (N,)."""


def parse_args() -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("weights", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help="of sites; default: all")
    parser.add_argument("--device", default="cpu")
    return parser.parse_args()


def main() -> None:
    """Train all detectors and run them."""
    args = parse_args()
    torch.set_num_threads(1)
    for home in (*HOMES, *MORE_HOMES):
        name = Path(home).name
        if not args.names or name in args.names:
            detector = trained(args.data, home, args.weights, args.out / "weights", args.device)
            predict(detector, args.data, home, args.out / "predictions" / name)


def sites(data: Path) -> Iterator[tuple[str, LabelSet]]:
    """Read the sites, but for those of COCO's images that YOLOX itself may have seen."""
    for folder in [seed for task in TASKS for seed in sorted((data / task).glob("*"))]:
        if folder.name == LABELLED or not folder.name.startswith("coco"):
            yield folder.relative_to(data).as_posix(), read_coco(folder / "annotations.json")


def site_images(data: Path, site: str, content: LabelSet, home: str = "") -> list[int]:
    """Return which images of a site none of `HOMES` nor `home` learned; of others some, evenly."""
    n = len(content.images)
    if Path(site).name == LABELLED:
        entries = json.loads((data / site / "annotations.json").read_bytes())["images"]
        return np.flatnonzero([entry["coco_split"] == "val" for entry in entries]).tolist()
    if site in (*HOMES, home):
        return sorted(_shuffled(site, n)[round(TRAINED_SHARE * n) :])
    return np.unique(np.linspace(0, n - 1, min(n, MOST_IMAGES)).astype(int)).tolist()


def home_categories(content: LabelSet) -> tuple[str, ...]:
    """Return the categories of a site with labels enough to be learned."""
    labels = [box.category for box in content.boxes]
    return tuple(name for name in content.categories if labels.count(name) >= FEWEST_LABELS)


def _shuffled(site: str, n: int) -> list[int]:
    return np.random.default_rng(list(site.encode())).permutation(n).tolist()


def trained(data: Path, home: str, weights: Path, folder: Path, device: str) -> MMDetector:
    """Train a detector on its home, or load it."""
    content = read_coco(data / home / "annotations.json")
    categories = home_categories(content)
    options = {"model.bbox_head.num_classes": len(categories)}
    config = read_config("yolox_nano", options)
    model = build_model(config).to(device)
    path = folder / f"{Path(home).name}.pth"
    if path.exists():
        model.load_state_dict(torch.load(path, weights_only=True, map_location=device))
    else:
        state = torch.load(weights, weights_only=True)["state_dict"]
        model.load_state_dict(with_categories(state, categories))
        kept = _shuffled(home, len(content.images))[: round(TRAINED_SHARE * len(content.images))]
        train(model, training_images(data / home, content, kept, categories), home)
        folder.mkdir(parents=True, exist_ok=True)
        with atomic_path(path) as temporary:
            torch.save(model.state_dict(), temporary)
    return MMDetector(model, config, categories)


def with_categories(state: dict[str, Any], categories: Sequence[str]) -> dict[str, Any]:
    """Take the rows of categories out of the last layers for COCO's categories."""
    words = coco_categories()
    rows = [words.index(SAME_WORD.get(name, name)) for name in categories]
    return {
        name: value[rows] if "multi_level_conv_cls" in name else value
        for name, value in state.items()
    }


def training_images(
    folder: Path, content: LabelSet, kept: Sequence[int], categories: Sequence[str]
) -> list[TrainingImage]:
    """Read images at the size of the input, with boxes (N, 4) in its pixels and labels (N,)."""
    import cv2

    found = []
    for image in (content.images[k] for k in kept):
        pixels = read_image(folder / "images" / image.file_name)
        scale = SIZE / max(pixels.shape[:2])
        pixels = cv2.resize(pixels, None, fx=scale, fy=scale)
        own = [
            box
            for box in content.boxes
            if box.image_id == image.image_id and box.category in categories
        ]
        boxes = np.array([box.xywh for box in own], np.float32).reshape(-1, 4) * scale
        boxes[:, 2:] += boxes[:, :2]
        labels = np.array([categories.index(box.category) for box in own], np.int64)
        found.append((torch.from_numpy(pixels).permute(2, 0, 1), boxes, labels))
    return found


def train(model: Any, images: Sequence[TrainingImage], home: str) -> None:
    """Minimise the model's own loss; its batch norms, folded into the weights, stay as they are."""
    rng = np.random.default_rng(list(home.encode()))
    device = next(model.parameters()).device
    model.train()
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.eval()
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=WEIGHT_DECAY)
    started, losses = time.monotonic(), []
    for step in range(STEPS):
        warm, left = min(1.0, (step + 1) / WARM_UP), 1 - step / STEPS
        for group in optimizer.param_groups:
            group["lr"] = RATE * warm * left
        chosen = rng.choice(len(images), BATCH, replace=False)
        inputs, samples = zip(*(augmented(images[k], rng) for k in chosen), strict=True)
        batch = torch.stack(inputs).to(device)
        parts = model.loss(batch, [sample.to(device) for sample in samples])
        loss = sum(value for value in parts.values())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        optimizer.step()
        losses.append(loss.item())
    first, last = np.mean(losses[:WARM_UP]), np.mean(losses[-WARM_UP:])
    taken = time.monotonic() - started
    print(f"{home}: loss {first:.2f} to {last:.2f} in {taken:.0f} s", flush=True)


def augmented(example: TrainingImage, rng: np.random.Generator) -> tuple[torch.Tensor, Any]:
    """Zoom, shift, mirror and light an image; return it with its boxes as mmdet takes them."""
    from mmdet.structures import DetDataSample

    pixels, boxes, labels = example
    zoom = np.exp(rng.uniform(np.log(SMALLEST_ZOOM), -np.log(SMALLEST_ZOOM)))
    image = torch.nn.functional.interpolate(
        pixels[None].float(), scale_factor=zoom, mode="bilinear"
    )[0]
    height, width = image.shape[1:]
    left, top = (round(rng.uniform(min(0, SIZE - n), max(0, SIZE - n))) for n in (width, height))
    canvas = torch.full((3, SIZE, SIZE), PAD)
    x, y = slice(max(left, 0), left + width), slice(max(top, 0), top + height)
    part = image[:, max(-top, 0) :, max(-left, 0) :][:, : SIZE - y.start, : SIZE - x.start]
    canvas[:, y.start : y.start + part.shape[1], x.start : x.start + part.shape[2]] = part
    moved = boxes * zoom + np.array([left, top, left, top], np.float32)
    if rng.random() < 0.5:
        canvas = canvas.flip(2)
        moved = moved[:, [2, 1, 0, 3]] * [-1, 1, -1, 1] + [SIZE, 0, SIZE, 0]
    canvas = (canvas * float(rng.uniform(0.7, 1.3))).clamp(0, 255)
    cut = moved.clip(0, SIZE)
    areas = [np.prod(of[:, 2:] - of[:, :2], axis=1) for of in (cut, moved)]
    seen = areas[0] > np.maximum(0.3 * areas[1], 1)
    truth = InstanceData(
        bboxes=torch.from_numpy(cut[seen].astype(np.float32)), labels=torch.from_numpy(labels[seen])
    )
    shape = {"img_shape": (SIZE, SIZE), "ori_shape": (SIZE, SIZE), "scale_factor": (1.0, 1.0)}
    return canvas, DetDataSample(metainfo=shape, gt_instances=truth)


def predict(detector: MMDetector, data: Path, home: str, out: Path) -> None:
    """Run a detector on the sites that hold one of its categories."""
    for site, content in sites(data):
        path = out / f"{site}.json"
        if path.exists() or not set(content.categories) & set(detector.categories):
            continue
        chosen = site_images(data, site, content, home)
        found: list[dict[str, Any]] = []
        with progress_bar(len(chosen), site) as bar:
            for image in (content.images[k] for k in chosen):
                pixels = read_image(data / site / "images" / image.file_name)
                (seen,) = detector.observe([pixels], [image.image_id])
                found += entries(seen.clean, image.image_id, image.file_name, detector.categories)
                bar.update()
        write_json(path, found, indent=None)


if __name__ == "__main__":
    main()
