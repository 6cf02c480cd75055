"""Whether stock configs of MMDetection train without compiled ops and without torchvision.

Trains each config with mmengine's runner on a few images of a COCO set, forward and backward
through the operators that stand in for mmcv's, and prints the mean loss of the first and of the
last tenth of the iterations, and the mean size of the weights that give deformable convolutions
their offsets: they begin at 0, so what they are came back through the operator.

    python -m stock_training --annotations COCO.json --images DIR

Model, augmentation and optimiser are the config's. Changed are the data, the size of the images,
the clipping of gradients, and the schedule, which is short, at the learning rate of the batch. The
config's ``torchvision://`` weights come from torch's hub cache or are downloaded there;
``--random`` puts random ones in their place.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from mmengine.config import Config

from autoeval.detectors import ops
from autoeval.detectors.building.checkpoints import PREFIXES, find_address, register_model_zoo

CONFIGS = (
    "retinanet/retinanet_r18_fpn_1x_coco.py",
    "dcn/faster-rcnn_r50-dconv-c3-c5_fpn_1x_coco.py",
    "vfnet/vfnet_r50-mdconv-c3-c5_fpn_ms-2x_coco.py",
)
SIZE = (192, 128)
BATCH = 2
OFFSETS = "conv_offset.weight"


def main() -> None:
    """Train all configs and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--annotations", required=True, metavar="FILE")
    parser.add_argument("--images", required=True, metavar="DIR")
    parser.add_argument("--n-images", type=int, default=16, metavar="N")
    parser.add_argument("--iterations", type=int, default=60, metavar="N")
    parser.add_argument("--random", action="store_true", help="random weights of the backbone")
    args = parser.parse_args()
    for path in CONFIGS:
        with TemporaryDirectory() as folder:
            config = short(
                path,
                Path(folder),
                args.annotations,
                args.images,
                n=args.n_images,
                iterations=args.iterations,
            )
            if args.random:
                put_random_weights(config, Path(folder))
            print(_line(path, train(config), max(args.iterations // 10, 1)), flush=True)


def short(
    path: str, folder: Path, annotations: str, images: str, *, n: int, iterations: int
) -> Config:
    """Read a stock config and let it train briefly on the first images of a COCO set."""
    ops.register()
    from autoeval.detectors.building.configs import find_config_file

    config = Config.fromfile(find_config_file(f"mmdet::{path}"))
    config.work_dir = str(folder)
    config.visualizer.name = str(folder)  # mmengine keeps one of each name, with its files
    _set_data(config, annotations, images, n)
    _set_schedule(config, iterations)
    for name in [name for name in config if name.startswith(("val_", "test_"))]:
        config[name] = None
    return config


def _set_data(config: Config, annotations: str, images: str, n: int) -> None:
    loader = config.train_dataloader
    loader.update(batch_size=BATCH, num_workers=0, persistent_workers=False)
    content = json.loads(Path(annotations).read_text())
    loader.dataset.update(
        ann_file=str(Path(annotations).resolve()),
        data_root="",
        data_prefix={"img": str(Path(images).resolve())},
        indices=n,
        metainfo={"classes": tuple(each["name"] for each in content["categories"])},
    )
    for step in loader.dataset.pipeline:
        if "Resize" in step.type:
            step.scale = [SIZE, SIZE] if step.type == "RandomResize" else SIZE


def _set_schedule(config: Config, iterations: int) -> None:
    """Warm up over a tenth, then stay; the learning rate goes by the batch, as mmdet scales it."""
    config.train_cfg = {"type": "IterBasedTrainLoop", "max_iters": iterations}
    config.train_dataloader.sampler = {"type": "InfiniteSampler", "shuffle": True}
    config.param_scheduler = [
        {"type": "LinearLR", "start_factor": 0.1, "by_epoch": False, "end": iterations // 10}
    ]
    config.auto_scale_lr = {"enable": True, "base_batch_size": 16}
    config.optim_wrapper.clip_grad = {"max_norm": 35}
    config.default_hooks.logger.interval = 1
    config.log_processor = {"type": "LogProcessor", "window_size": 1, "by_epoch": False}
    config.default_hooks.checkpoint = {"type": "CheckpointHook", "interval": 10 * iterations}
    config.randomness = {"seed": 0}
    config.log_level = "WARNING"


def put_random_weights(config: Config, folder: Path) -> None:
    """Save random weights where torch's hub keeps the file that the backbone asks for."""
    from mmdet.registry import MODELS
    from mmdet.utils import register_all_modules

    register_all_modules()
    asked = config.model.backbone.init_cfg.checkpoint
    if not asked.startswith(PREFIXES):
        raise ValueError(f"Expected weights of torchvision's in {config.filename}, got {asked}.")
    torch.manual_seed(0)
    plain = {**config.model.backbone, "init_cfg": None, "dcn": None}
    backbone = MODELS.build({**plain, "stage_with_dcn": (False,) * 4})
    settle(backbone)
    torch.hub.set_dir(str(folder))
    place = folder / "checkpoints" / Path(find_address(asked)).name
    place.parent.mkdir(parents=True)
    torch.save(backbone.state_dict(), place)


def settle(backbone: Any) -> None:
    """Give batch norms the statistics of noise, so that signals keep their size."""
    norms = [each for each in backbone.modules() if isinstance(each, torch.nn.BatchNorm2d)]
    backbone.eval()
    for norm in norms:
        norm.training, norm.momentum = True, 1.0
    with torch.no_grad():
        backbone(torch.randn(2, 3, SIZE[1], SIZE[0]))


def train(config: Config) -> dict[str, Any]:
    """Train with mmengine's runner; return the losses of all iterations and the offsets."""
    register_model_zoo()
    from mmdet.utils import register_all_modules
    from mmengine.runner import Runner

    register_all_modules()
    runner = Runner.from_cfg(config)
    model = runner.train()
    lines = (Path(runner.log_dir) / "vis_data/scalars.json").read_text().splitlines()
    offsets = [value for name, value in model.named_parameters() if name.endswith(OFFSETS)]
    moved = torch.cat([each.detach().abs().flatten() for each in offsets]) if offsets else None
    return {
        "losses": [json.loads(line)["loss"] for line in lines],
        "offsets": None if moved is None else float(moved.mean()),
    }


def _line(path: str, outcome: dict[str, Any], part: int) -> str:
    first, last = (
        sum(each) / part for each in (outcome["losses"][:part], outcome["losses"][-part:])
    )
    offsets = "none" if outcome["offsets"] is None else f"{outcome['offsets']:.1e}"
    return f"{path}: loss {first:.2f} to {last:.2f}, offsets {offsets}"


if __name__ == "__main__":
    main()
