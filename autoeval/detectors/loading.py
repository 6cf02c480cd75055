"""Building detectors: from a known name, or from a config file and a checkpoint.

`load_detector` goes through ``building/``: config, model, weights, categories; then the detector is
tried on an image. `DetectorSpec` calls it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from mmengine.config import Config

from autoeval.detections import FRAMEWORK
from autoeval.detectors.adapters import usable_device
from autoeval.detectors.building.category_names import find_categories
from autoeval.detectors.building.checkpoints import find_checkpoint, load_weights, read_checkpoint
from autoeval.detectors.building.configs import build_model, deployed_weights, read_config
from autoeval.detectors.detector import MMDetector
from autoeval.errors import InputError, first_line
from autoeval.words import listed

HEIGHT = 480
WIDTH = 640
BLOCK = 40
# What of a config is read, of which options therefore have an effect.
PARTS = (
    "model",
    "data_preprocessor",
    "test_dataloader",
    "default_scope",
    "detector",
    "train_dataloader",
)


def load_detector(
    name_or_config: str | os.PathLike[str],
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    device: str = "cpu",
    cfg_options: Mapping[str, Any] | None = None,
    trust_checkpoint: bool = False,
    classes: Sequence[str] = (),
    precision: str = FRAMEWORK,
) -> MMDetector:
    """Load a detector with its weights, and try it on a made-up image.

    Parameters
    ----------
    name_or_config : str or path-like
        A known name (see `autoeval.detectors.building.aliases.detector_names`), the path of an
        mmdet config file, or that of one that mmdet brings along (``mmdet::retinanet/...``).
    checkpoint : str or path-like, optional
        File or address of the weights. By default the official ones of a known detector, which are
        downloaded when first used.
    device : str
        As torch names it.
    cfg_options : mapping, optional
        Changes to the config, for example ``{"model.test_cfg.score_thr": 0.01}``.
    trust_checkpoint : bool
        Unpickle the checkpoint in full; see
        `autoeval.detectors.building.checkpoints.read_checkpoint`.
    classes : sequence of str
        What the labels stand for; by default what checkpoint or config say, see
        `autoeval.detectors.building.category_names.find_categories`.
    precision : {"framework", "single", "half"}
        In which the network computes; see `autoeval.detectors.predicting.in_precision`.

    Raises
    ------
    InputError
        If a file is missing or unreadable, an option has no effect, the config does not build, the
        checkpoint does not fit it, the categories are not known, the device cannot be used, or the
        detector fails on the trial image.
    """
    chosen = usable_device(device)
    idle = [name for name in cfg_options or {} if name.partition(".")[0] not in PARTS]
    if idle:
        raise InputError(
            f"Expected --cfg-options of {listed(PARTS)} but got {listed(idle)}, on which no box "
            "depends: for example model.test_cfg.score_thr=.3, or, for another size, "
            "test_dataloader.dataset.pipeline.1.scale."
        )
    config = read_config(name_or_config, cfg_options)
    path = find_checkpoint(_source(name_or_config, config, checkpoint))
    content = read_checkpoint(path, trust=trust_checkpoint)
    model = build_model(config)
    load_weights(model, deployed_weights(content["state_dict"], config), path)
    categories = find_categories(model, config, content["meta"], classes)
    detector = MMDetector(model.to(chosen), config, categories, precision=precision)
    try_once(detector)
    return detector


def _source(
    name_or_config: str | os.PathLike[str],
    config: Config,
    checkpoint: str | os.PathLike[str] | None,
) -> str:
    """Return where the weights are from: those given, or the official ones of a known detector.

    Raises
    ------
    InputError
        If there are none.
    """
    if checkpoint is not None:
        return os.fspath(checkpoint)
    official = config.get("detector", {}).get("checkpoint")
    if official is None:
        raise InputError(
            f"No published checkpoint is known for {Path(name_or_config).stem}: pass one with "
            "--checkpoint FILE."
        )
    return official


def try_once(detector: MMDetector) -> None:
    """Run a detector on an image of coloured blocks.

    Parameters
    ----------
    detector : MMDetector
        That is tried.

    Raises
    ------
    InputError
        If it fails, with what to check.
    """
    try:
        detector.observe([blocks()], ["trial"])
    except InputError:
        raise
    except torch.OutOfMemoryError as error:
        raise InputError(
            f"{type(detector.model).__name__} and one image of its input size do not fit into the "
            f"memory of {detector.device}: free some, or choose another --device."
        ) from error
    except Exception as error:  # pipelines and heads are programs: they fail in any way
        raise InputError(
            f"{type(detector.model).__name__} does not run with {detector.config.filename}: on a "
            f"trial image {type(error).__name__}: {first_line(error)}. Check `test_dataloader` and "
            "`model.test_cfg` against a config of mmdet's for this detector."
        ) from error


def blocks() -> np.ndarray:
    """Draw an image (480, 640, 3), uint8, of blocks of random colours, always the same."""
    shape = (HEIGHT // BLOCK, WIDTH // BLOCK, 3)
    colours = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
    return colours.repeat(BLOCK, 0).repeat(BLOCK, 1)
