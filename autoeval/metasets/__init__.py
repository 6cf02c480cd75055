"""Labelled seed sets, transforms, recipes and the sample sets made from them.

Names are imported when they are used, so that tasks can be read without OpenCV.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from autoeval.metasets.recipe import (
        MetaSetConfig,
        Recipe,
        draw_recipes,
        load_metaset_config,
        load_recipes,
        own_images,
        save_recipes,
    )
    from autoeval.metasets.sample_set import Sample, SampleSet
    from autoeval.metasets.seed_set import ImageRecord, SeedSet, load_seed_set
    from autoeval.metasets.task import Task, load_task
    from autoeval.metasets.transforms import CORRUPTIONS, MILD, TransformStep

_HOMES = {
    "CORRUPTIONS": "transforms",
    "ImageRecord": "seed_set",
    "MILD": "transforms",
    "MetaSetConfig": "recipe",
    "Recipe": "recipe",
    "Sample": "sample_set",
    "SampleSet": "sample_set",
    "SeedSet": "seed_set",
    "Task": "task",
    "TransformStep": "transforms",
    "draw_recipes": "recipe",
    "load_metaset_config": "recipe",
    "load_recipes": "recipe",
    "load_seed_set": "seed_set",
    "load_task": "task",
    "own_images": "recipe",
    "save_recipes": "recipe",
}

__all__ = [
    "CORRUPTIONS",
    "MILD",
    "ImageRecord",
    "MetaSetConfig",
    "Recipe",
    "Sample",
    "SampleSet",
    "SeedSet",
    "Task",
    "TransformStep",
    "draw_recipes",
    "load_metaset_config",
    "load_recipes",
    "load_seed_set",
    "load_task",
    "own_images",
    "save_recipes",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
