"""Building detectors: from a known name, or from a config file and a checkpoint."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from mmengine.config import Config

from autoeval.detectors import ops
from autoeval.detectors.aliases import find_config
from autoeval.detectors.categories import find_categories
from autoeval.detectors.checkpoints import find_checkpoint, read_checkpoint
from autoeval.detectors.detector import Detector
from autoeval.detectors.weights import load_weights
from autoeval.errors import InputError

if TYPE_CHECKING:
    from mmdet.models.detectors import BaseDetector


def load_detector(
    name_or_config: str | os.PathLike[str],
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    device: str = "cpu",
    cfg_options: Mapping[str, Any] | None = None,
    trust_checkpoint: bool = False,
) -> Detector:
    """Load a detector with its weights.

    Parameters
    ----------
    name_or_config : str or path-like
        A known name (see `autoeval.detectors.aliases.detector_names`) or the path of an mmdet
        config file.
    checkpoint : str or path-like, optional
        File or address of the weights. By default the official ones of a known detector, which are
        downloaded when first used.
    device : str
        As torch names it.
    cfg_options : mapping, optional
        Changes to the config, for example ``{"model.test_cfg.score_thr": 0.01}``.
    trust_checkpoint : bool
        Unpickle the checkpoint in full; see `autoeval.detectors.checkpoints.read_checkpoint`.

    Raises
    ------
    InputError
        If a file is missing or unreadable, the config does not build, the checkpoint does not fit
        it, or the device cannot be used.
    """
    chosen = _device(device)
    config = read_config(name_or_config, cfg_options)
    path = find_checkpoint(_source(name_or_config, config, checkpoint))
    content = read_checkpoint(path, trust=trust_checkpoint)
    model = build_model(config)
    load_weights(model, content["state_dict"], path)
    return Detector(model.to(chosen), config, find_categories(model, config, content["meta"]))


def read_config(
    name_or_config: str | os.PathLike[str], cfg_options: Mapping[str, Any] | None = None
) -> Config:
    """Read the config of a known detector or a config file, with changes.

    Raises
    ------
    InputError
        If it is missing, cannot be run, or has no model with a backbone.
    """
    path = find_config(str(name_or_config))
    try:
        config = Config.fromfile(path)
        config.merge_from_dict(dict(cfg_options or {}))
        config.model.backbone.init_cfg = None
    except Exception as error:  # the file is a program: it can fail in any way
        raise InputError(f"Cannot use {path} as a detector's config: {error}") from error
    return config


def build_model(config: Config) -> BaseDetector:
    """Build the model of a config with random weights.

    Raises
    ------
    InputError
        If mmdet cannot build it.
    """
    ops.register()
    import mmdet.models  # noqa: F401  (fills the registry)
    from mmdet.registry import MODELS
    from mmengine.model.utils import revert_sync_batchnorm
    from mmengine.registry import init_default_scope

    init_default_scope(config.get("default_scope", "mmdet"))
    try:
        return _mend(revert_sync_batchnorm(MODELS.build(config.model)))
    except (KeyError, TypeError, ValueError, AttributeError, AssertionError) as error:
        raise InputError(
            f"mmdet cannot build the detector of {config.filename}: {error}"
        ) from error


def _mend(model: BaseDetector) -> BaseDetector:
    """Give mmdet 3.3's SSD head the attribute that it reads and never sets."""
    from mmdet.models import SSDHead

    head = getattr(model, "bbox_head", None)
    if isinstance(head, SSDHead) and not hasattr(head, "loss_cls"):
        head.loss_cls = None
    return model


def _source(
    name_or_config: str | os.PathLike[str],
    config: Config,
    checkpoint: str | os.PathLike[str] | None,
) -> str:
    if checkpoint is not None:
        return os.fspath(checkpoint)
    official = config.get("detector", {}).get("checkpoint")
    if official is None:
        raise InputError(
            f"No published checkpoint is known for {Path(name_or_config).stem}: pass one with "
            "--checkpoint FILE."
        )
    return official


def _device(name: str) -> torch.device:
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise InputError(f"Cannot use device {name!r}: {error}") from error
    return device
