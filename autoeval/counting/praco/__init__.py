"""PrACo: whether a counter that is asked in words understands what it is asked for."""

from autoeval.counting.praco.data import CountedImage, CountingSet, single_class
from autoeval.counting.praco.mosaic_run import MosaicRecipe, all_pairs, draw_pairs
from autoeval.counting.praco.result import PracoResult, compare

__all__ = [
    "CountedImage",
    "CountingSet",
    "MosaicRecipe",
    "PracoResult",
    "all_pairs",
    "compare",
    "draw_pairs",
    "single_class",
]
