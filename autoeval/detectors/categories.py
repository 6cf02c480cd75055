"""Which category each label of a detector stands for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mmengine.config import Config
from torch import nn

from autoeval.errors import InputError


def coco_categories() -> tuple[str, ...]:
    """Return the 80 categories of COCO in the order of the official checkpoints' labels."""
    from mmdet.datasets import CocoDataset

    return tuple(CocoDataset.METAINFO["classes"])


def find_categories(model: nn.Module, config: Config, meta: Mapping[str, Any]) -> tuple[str, ...]:
    """Find the categories of a detector.

    The checkpoint's own list comes first, then the one in the config's test data set, then COCO's
    where the head has 80 classes.

    Parameters
    ----------
    model : Module
        The detector.
    config : Config
        Its configuration.
    meta : mapping
        ``meta`` of the checkpoint.

    Raises
    ------
    InputError
        If there is no list, or its length is not the number of classes of the head.
    """
    n_classes = count_classes(model)
    found = _from_checkpoint(meta) or _from_config(config)
    if not found and n_classes == len(coco_categories()):
        found = coco_categories()
    if not found or (n_classes is not None and len(found) != n_classes):
        raise InputError(
            f"The detector's head has {n_classes} classes, but its checkpoint or config lists "
            f"{len(found)} categories. Write the right ones into the config: "
            "test_dataloader = dict(dataset=dict(metainfo=dict(classes=(...))))."
        )
    return found


def count_classes(model: nn.Module) -> int | None:
    """Return the number of classes of the head that gives the boxes, None where it does not say."""
    head = getattr(getattr(model, "roi_head", model), "bbox_head", None)
    if isinstance(head, nn.ModuleList):
        head = head[-1]
    return getattr(head, "num_classes", None)


def _from_checkpoint(meta: Mapping[str, Any]) -> tuple[str, ...]:
    dataset = {str(key).lower(): value for key, value in meta.get("dataset_meta", {}).items()}
    return _names(dataset.get("classes") or meta.get("CLASSES"))


def _from_config(config: Config) -> tuple[str, ...]:
    dataset = (config.get("test_dataloader") or {}).get("dataset") or {}
    return _names((dataset.get("metainfo") or {}).get("classes"))


def _names(classes: Any) -> tuple[str, ...]:
    """Return names as a tuple; a single category may come as a bare string."""
    return (classes,) if isinstance(classes, str) else tuple(classes or ())
