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
    from autoeval.metasets.sample_set import SampleSet
    from autoeval.metasets.seed_set import SeedSet, load_seed_set
    from autoeval.metasets.task import Task, load_task

_HOMES = {
    **dict.fromkeys(("MetaSetConfig", "Recipe", "draw_recipes", "load_metaset_config"), "recipe"),
    **dict.fromkeys(("load_recipes", "own_images", "save_recipes"), "recipe"),
    **dict.fromkeys(("SeedSet", "load_seed_set"), "seed_set"),
    **dict.fromkeys(("Task", "load_task"), "task"),
    "SampleSet": "sample_set",
}

__all__ = [
    "MetaSetConfig",
    "Recipe",
    "SampleSet",
    "SeedSet",
    "Task",
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
