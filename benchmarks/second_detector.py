"""Train RetinaNet on MobileNetV2 on halves of real sets, and write out the halves it never saw.

    python -m benchmarks.second_detector --data-root REAL --weights mobilenet_v2-b0353104.pth

``REAL`` holds COCO sets as ``<task>/<seed>/annotations.json`` with ``images/`` beside; the weights
are those of torchvision's MobileNetV2 (ImageNet). Writes into the work dir the checkpoint
``retinanet_mobilenetv2.pth`` and ``held_out/``, a data root with the same sets but for the images
that were trained on and for words that the detector does not know; of the sets under ``all`` the
one that it was trained on alone. An interrupted training goes on from its last epoch.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoeval.runtime.files import write_text

if TYPE_CHECKING:
    from mmengine.config import Config

ROOT = Path(__file__).resolve().parents[1]
CONFIG = ROOT / "configs/training/retinanet_mobilenetv2.py"
WORDS = {"vehicle": "vehicle", "car": "vehicle", "bus": "vehicle", "truck": "vehicle",
         "person": "person"}  # fmt: skip
CLASSES = ("vehicle", "person")


def parse_args() -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-root", type=Path, required=True, metavar="DIR")
    parser.add_argument("--weights", type=Path, required=True, metavar="FILE")
    parser.add_argument("--work-dir", type=Path, default=Path("work_dirs/second_detector"))
    parser.add_argument("--epochs", type=int, metavar="N", help="default: the config's")
    return parser.parse_args()


def main() -> None:
    """Write the halves, train, export."""
    from mmengine.config import Config

    args = parse_args()
    config = Config.fromfile(CONFIG)
    if args.epochs:
        config.max_epochs = config.train_cfg.max_epochs = args.epochs
    split(args.data_root, config.training_sets, args.work_dir)
    train(config, args.weights, args.work_dir)


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


def train(config: Config, weights: Path, work_dir: Path) -> None:
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


if __name__ == "__main__":
    main()
