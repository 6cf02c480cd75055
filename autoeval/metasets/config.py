"""Configuration files of meta-sets and tasks."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from typing import Any

from autoeval.data.config_file import read_config
from autoeval.errors import InputError
from autoeval.metasets.transforms import MILD


@dataclass(frozen=True)
class MetaSetConfig:
    """The options of `draw_recipes` that define a kind of meta-set; the paper's by default.

    Parameters
    ----------
    transforms : tuple of str
        Names of the transforms to draw from.
    n_sets, n_images, n_transforms : int
        Sample sets for each seed set, images for each sample set, transforms for each.
    per_image : bool
        Whether magnitudes are drawn for each image.
    in_turn : bool
        Whether sample sets take one transform each, in turn, with one magnitude after the other.
    same_images : bool
        Whether all sample sets have the same images, drawn once.
    with_objects : bool
        Whether only images that hold a labelled object are drawn.
    min_visibility : float
        Boxes with less than this share of their area left in the image are dropped.
    """

    transforms: tuple[str, ...] = MILD
    n_sets: int = 50
    n_images: int = 250
    n_transforms: int = 3
    per_image: bool = False
    in_turn: bool = False
    same_images: bool = False
    with_objects: bool = False
    min_visibility: float = 0.25


def load_metaset_config(
    path: str | os.PathLike[str] | None = None, **changes: Any
) -> MetaSetConfig:
    """Read a meta-set's configuration.

    Parameters
    ----------
    path : path-like, optional
        mmengine configuration file such as `configs/metasets/mild.py`; the paper's meta-set by
        default.
    **changes
        Fields of `MetaSetConfig` that override the file, unless they are None.

    Raises
    ------
    InputError
        If the file is missing or holds something else.
    """
    options = {} if path is None else read_config(path)
    known = {field.name for field in fields(MetaSetConfig)}
    unknown = sorted(set(options) - known)
    if unknown:
        raise InputError(f"{path}: no option {unknown[0]!r} here, only {', '.join(sorted(known))}.")
    options.update({name: value for name, value in changes.items() if value is not None})
    if "transforms" in options:
        options["transforms"] = tuple(options["transforms"])
    return MetaSetConfig(**options)
