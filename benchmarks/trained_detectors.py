"""Train the detectors of the benchmarks, and write what a detector finds as COCO results.

    python -m benchmarks.trained_detectors fine-tuned DATA WEIGHTS OUT [NAME ...] [--device cuda]
    python -m benchmarks.trained_detectors second DATA WEIGHTS [--work-dir DIR]
    python -m benchmarks.trained_detectors export DETECTOR DATA OUT [--checkpoint FILE]

DATA holds COCO sets as ``<task>/<site>/annotations.json`` with ``images/`` beside. `fine-tuned`
trains as users train their own: each detector of `HOMES` and `MORE_HOMES` starts from COCO's
YOLOX-nano (WEIGHTS) and is trained on 60 % of the images of one site in its labelled categories,
about three minutes on one core. Then it runs on all sites that hold a category of its own, on the
images of `site_images`, which it was not trained on. Writes ``OUT/weights/<home>.pth`` and
``OUT/predictions/<home>/<task>/<site>.json``; what is there already is kept.
`benchmarks/fine_tuned.py` makes the tables of it.

`second` trains RetinaNet on torchvision's MobileNetV2 (WEIGHTS, of ImageNet) on halves of some
sites. Writes into the work dir the checkpoint ``retinanet_mobilenetv2.pth`` and ``held_out/``, a
data root with the same sets but for the images that were trained on and for words that the detector
does not know; of the sets under ``all`` the one that it was trained on alone. An interrupted
training goes on from its last epoch.

`export` writes ``OUT/<task>/<site>.json``, scores from .01 on, at most 300 boxes an image: what
`benchmarks/predictions.py` takes.
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
from mmengine.config import Config
from mmengine.structures import InstanceData

from autoeval.boxes import LabelledImage, as_xywh
from autoeval.detections import Detections
from autoeval.detectors import MMDetector, load_detector
from autoeval.detectors.building.category_names import coco_categories
from autoeval.detectors.building.configs import build_model, read_config
from autoeval.io.coco import read_coco
from autoeval.io.images import read_image
from autoeval.io.labels.content import LabelSet
from autoeval.runtime.files import atomic_path, write_json, write_text
from autoeval.runtime.progress import progress_bar
from benchmarks.panel import FITTED_ON, LABELLED, TASKS, WORDS, in_part

# Sites of the first detectors, whose pairs are compared (`benchmarks/fine_tuned_pairs.py`).
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
MOST_IMAGES = 60  # of a site that nobody was trained on, evenly taken
SIZE = 416
PAD = 114.0
STEPS = 140
BATCH = 6
WARM_UP = 15
RATE = 4e-4
WEIGHT_DECAY = 0.02
SMALLEST_ZOOM = 0.7  # of the augmentation; the largest is its inverse
SAME_WORD = {"vehicle": "car"}  # whose weights of the last layer a category starts with
FEWEST_LABELS = 8  # of a category, to be learned
# Pixels, boxes (N, 4) in them, and labels (N,).
TrainingImage = tuple[torch.Tensor, np.ndarray, np.ndarray]
ROOT = Path(__file__).resolve().parents[1]
CONFIG = ROOT / "configs/training/retinanet_mobilenetv2.py"
CLASSES = ("vehicle", "person")
LOWEST_SCORE = 0.01
MOST_BOXES = 300


def parse_args() -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    tuned = commands.add_parser("fine-tuned", help="YOLOX-nano trained on each of several sites")
    tuned.add_argument("data", type=Path)
    tuned.add_argument("weights", type=Path)
    tuned.add_argument("out", type=Path)
    tuned.add_argument("names", nargs="*", metavar="NAME", help="of sites; default: all")
    tuned.add_argument("--device", default="cpu")
    second = commands.add_parser("second", help="RetinaNet trained on halves of some sites")
    second.add_argument("data", type=Path)
    second.add_argument("weights", type=Path)
    second.add_argument("--work-dir", type=Path, default=Path("work_dirs/second_detector"))
    second.add_argument("--epochs", type=int, metavar="N", help="default: the config's")
    exported = commands.add_parser("export", help="what a detector finds, as COCO results")
    exported.add_argument("detector")
    exported.add_argument("data", type=Path)
    exported.add_argument("out", type=Path)
    exported.add_argument("--checkpoint")
    exported.add_argument("--size", type=int, help="longer side of its input, not its own")
    return parser.parse_args()


def main() -> None:
    """Train, run, write."""
    args = parse_args()
    if args.command == "second":
        train_second(args.data, args.weights, args.work_dir, args.epochs)
    elif args.command == "export":
        export(args.detector, args.data, args.out, args.checkpoint, args.size)
    else:
        train_on_sites(args.data, args.weights, args.out, args.names, args.device)


def train_on_sites(data: Path, weights: Path, out: Path, names: Sequence[str], device: str) -> None:
    """Train YOLOX-nano on each of `HOMES` and `MORE_HOMES`, and run it on the other sites."""
    torch.set_num_threads(1)
    for home in (*HOMES, *MORE_HOMES):
        name = Path(home).name
        if not names or name in names:
            detector = trained(data, home, weights, out / "weights", device)
            predict(detector, data, home, out / "predictions" / name)


def sites(data: Path) -> Iterator[tuple[str, LabelSet]]:
    """Read the sites, but for those of COCO's images that YOLOX itself may have seen."""
    for folder in [seed for task in TASKS for seed in sorted((data / task).glob("*"))]:
        if folder.name == LABELLED or not folder.name.startswith("coco"):
            yield folder.relative_to(data).as_posix(), read_coco(folder / "annotations.json")


def site_images(data: Path, site: str, content: LabelSet, home: str = "") -> list[int]:
    """Return which images of a site none of `HOMES` nor `home` learned; of others some, evenly."""
    n = len(content.images)
    if Path(site).name == LABELLED:
        return np.flatnonzero(in_part(data / site / "annotations.json", FITTED_ON)).tolist()
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
        loss = sum(parts.values(), start=torch.zeros((), device=device))
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
    left = round(rng.uniform(min(0, SIZE - width), max(0, SIZE - width)))
    top = round(rng.uniform(min(0, SIZE - height), max(0, SIZE - height)))
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
    area = np.prod(moved[:, 2:] - moved[:, :2], axis=1)
    seen = np.prod(cut[:, 2:] - cut[:, :2], axis=1) > np.maximum(0.3 * area, 1)
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
        images = [content.images[k] for k in chosen]
        found = found_on(detector, data / site / "images", images)
        write_json(path, found, indent=None)


def train_second(data: Path, weights: Path, work_dir: Path, epochs: int | None) -> None:
    """Write the halves, train RetinaNet on one, and export its weights."""
    config = Config.fromfile(CONFIG)
    if epochs:
        config.max_epochs = config.train_cfg.max_epochs = epochs
    split(data, config.training_sets, work_dir)
    train_stock(config, weights, work_dir)


def split(data_root: Path, training_sets: tuple[str, ...], work_dir: Path) -> None:
    """Write ``train.json``, every second image of the training sets, and the rest as data root.

    Image names in ``train.json`` are absolute; the folders of images in ``judged/`` are links.
    """
    train: dict[str, Any] = {
        "images": [],
        "annotations": [],
        "categories": [{"id": k, "name": name} for k, name in enumerate(CLASSES, start=1)],
    }
    for ann_file in sorted(data_root.glob("*/*/annotations.json")):
        name = str(ann_file.parent.relative_to(data_root))
        content = json.loads(ann_file.read_text())
        ids = [image["id"] for image in content["images"]]
        seen = set(ids[::2]) if name in training_sets else set()
        _add(train, content, seen, ann_file.parent / "images")
        if ann_file.parts[-3] == "all" and not seen:
            continue
        folder = work_dir / "held_out" / name
        write_text(folder / "annotations.json", json.dumps(_without(content, seen)))
        link = folder / "images"
        if not link.exists():
            link.symlink_to((ann_file.parent / "images").resolve(), target_is_directory=True)
    write_text(work_dir / "train.json", json.dumps(train))


def _add(train: dict[str, Any], content: dict[str, Any], seen: set, folder: Path) -> None:
    names = {category["id"]: WORDS.get(category["name"]) for category in content["categories"]}
    new_ids = {}
    for image in content["images"]:
        if image["id"] in seen:
            new_ids[image["id"]] = len(train["images"]) + 1
            path = str((folder / image["file_name"]).resolve())
            train["images"].append({**image, "id": new_ids[image["id"]], "file_name": path})
    for box in content["annotations"]:
        word = names[box["category_id"]]
        if box["image_id"] in new_ids and word:
            changed = {
                "id": len(train["annotations"]) + 1,
                "image_id": new_ids[box["image_id"]],
                "category_id": CLASSES.index(word) + 1,
            }
            train["annotations"].append({"iscrowd": 0, **box, **changed})


def _without(content: dict[str, Any], seen: set) -> dict[str, Any]:
    """Return the images that were not trained on, with the detector's words."""
    names = {category["id"]: WORDS.get(category["name"]) for category in content["categories"]}
    known = [word for word in CLASSES if word in names.values()]
    return {
        **content,
        "categories": [{"id": k, "name": word} for k, word in enumerate(known, start=1)],
        "images": [image for image in content["images"] if image["id"] not in seen],
        "annotations": [
            {**box, "category_id": known.index(word) + 1}
            for box in content["annotations"]
            if box["image_id"] not in seen and (word := names[box["category_id"]])
        ],
    }


def train_stock(config: Config, weights: Path, work_dir: Path) -> None:
    """Train with mmengine's runner from ImageNet weights, and export the result."""
    from autoeval.demo.training import export_checkpoint, summarise_losses
    from autoeval.detectors.building.checkpoints import harmless_types
    from autoeval.detectors.ops import register

    register()
    import torch
    from mmdet.utils import register_all_modules
    from mmengine.runner import Runner

    register_all_modules()
    torch.serialization.add_safe_globals(harmless_types())  # to resume: mmengine's losses
    config.work_dir = str(work_dir)
    config.train_dataloader.dataset.ann_file = str((work_dir / "train.json").resolve())
    config.resume = (work_dir / "last_checkpoint").exists()
    renamed = work_dir / "mobilenet_v2.pth"
    rename_by_position(config, weights, renamed)
    config.model.backbone.init_cfg = {"type": "Pretrained", "checkpoint": str(renamed)}
    runner = Runner.from_cfg(config)
    runner.model.to(memory_format=torch.channels_last)
    runner.train()
    log = {
        "images": len(runner.train_dataloader.dataset),
        "epochs": config.max_epochs,
        "losses": summarise_losses(Path(runner.log_dir) / "vis_data" / "scalars.json"),
    }
    target = work_dir / "retinanet_mobilenetv2.pth"
    export_checkpoint(work_dir / f"epoch_{config.max_epochs}.pth", log, target, classes=CLASSES)
    print(f"wrote {target}")


def rename_by_position(config: Config, weights: Path, target: Path) -> None:
    """Write torchvision's MobileNetV2 with mmdet's names, which have the same order."""
    import torch
    from mmdet.registry import MODELS

    given = [
        value
        for name, value in torch.load(weights, map_location="cpu", weights_only=True).items()
        if name.startswith("features")
    ]
    names = list(MODELS.build(config.model.backbone).state_dict())
    torch.save(dict(zip(names, given, strict=True)), target)


def entries(
    found: Detections, image_id: str, file_name: str, categories: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the boxes of one image as COCO results, the best first."""
    kept = found[np.argsort(-found.scores, kind="stable")][:MOST_BOXES]
    kept = kept[kept.scores >= LOWEST_SCORE]
    xywh = as_xywh(kept.boxes)
    return [
        {
            "image_id": int(image_id),
            "file_name": file_name,
            "category": categories[label],
            "bbox": [round(float(value), 3) for value in box],
            "score": round(float(score), 5),
        }
        for box, score, label in zip(xywh, kept.scores, kept.labels, strict=True)
    ]


def _sized(name: str, size: int) -> dict[str, tuple[int, int]]:
    """Return the changes of a config that resize to another size."""
    steps = read_config(name, None).test_dataloader.dataset.pipeline
    key = "test_dataloader.dataset.pipeline"
    return {f"{key}.{k}.scale": (size, size) for k, step in enumerate(steps) if "scale" in step}


def export(detector: str, data: Path, out: Path, checkpoint: str | None, size: int | None) -> None:
    """Run a detector over every image of every site."""
    options = _sized(detector, size) if size else None
    loaded = load_detector(detector, checkpoint=checkpoint, cfg_options=options)
    for folder in [seed for task in TASKS for seed in sorted((data / task).glob("*"))]:
        content = read_coco(folder / "annotations.json")
        found = found_on(loaded, folder / "images", content.images)
        write_json(out / folder.parent.name / f"{folder.name}.json", found, indent=None)


def found_on(detector: MMDetector, folder: Path, images: Sequence[LabelledImage]) -> list[dict]:
    """Return what a detector finds on the images of a folder as COCO results."""
    rows: list[dict] = []
    with progress_bar(len(images), folder.parent.name) as bar:
        for image in images:
            pixels = read_image(folder / image.file_name)
            (seen,) = detector.observe([pixels], [image.image_id])
            rows += entries(seen.clean, image.image_id, image.file_name, detector.categories)
            bar.update()
    return rows


if __name__ == "__main__":
    main()
