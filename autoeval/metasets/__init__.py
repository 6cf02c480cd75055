"""Labelled seed sets, transforms, recipes and the sample sets made from them."""

from autoeval.metasets.config import MetaSetConfig, load_metaset_config
from autoeval.metasets.recipe import Recipe, draw_recipes, load_recipes, own_images, save_recipes
from autoeval.metasets.sample_set import Sample, SampleSet
from autoeval.metasets.seed_set import ImageRecord, SeedSet, load_seed_set
from autoeval.metasets.task import Task, load_task
from autoeval.metasets.transforms import CORRUPTIONS, MILD, TransformStep

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
