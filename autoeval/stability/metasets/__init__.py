"""Transforms, recipes and the sample sets that they make of labelled seed sets."""

from autoeval.stability.metasets.recipe import (
    MetaSetConfig,
    Recipe,
    SampleSet,
    draw_recipes,
    load_metaset_config,
    load_recipes,
    own_images,
    save_recipes,
)

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
