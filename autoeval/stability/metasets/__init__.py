"""Transforms, recipes and the sample sets that they make of labelled seed sets.

Names are imported when they are used, so that recipes can be named without OpenCV.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from autoeval.stability.metasets.recipe import (
        MetaSetConfig,
        Recipe,
        draw_recipes,
        load_metaset_config,
        load_recipes,
        own_images,
        save_recipes,
    )
    from autoeval.stability.metasets.sample_set import SampleSet

_HOMES = {
    **dict.fromkeys(("MetaSetConfig", "Recipe", "draw_recipes", "load_metaset_config"), "recipe"),
    **dict.fromkeys(("load_recipes", "own_images", "save_recipes"), "recipe"),
    "SampleSet": "sample_set",
}

__all__ = [
    "MetaSetConfig",
    "Recipe",
    "SampleSet",
    "draw_recipes",
    "load_metaset_config",
    "load_recipes",
    "own_images",
    "save_recipes",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
