"""Sample sets: the images and labels that a recipe makes from a seed set, one at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from autoeval.errors import InputError
from autoeval.io.tasks.labelled_samples import Sample, SeedSetSamples, read_record
from autoeval.io.tasks.seed_set import SeedSet, named_rng
from autoeval.io.wording import listed

if TYPE_CHECKING:
    from autoeval.stability.metasets.recipe import Recipe


class SampleSet(SeedSetSamples):
    """The images and labels a recipe makes; each is made when asked for, always the same.

    `records` are the images before they are transformed, in the recipe's order.
    """

    def __init__(self, seed_set: SeedSet, recipe: Recipe) -> None:
        if recipe.seed_set != seed_set.name:
            raise InputError(
                f"The recipe is of seed set {recipe.seed_set!r}, not {seed_set.name!r}."
            )
        present = {record.image_id for record in seed_set.images}
        missing = [image_id for image_id in recipe.image_ids if image_id not in present]
        if missing:
            raise InputError(
                f"Recipe {recipe.recipe_id} names {len(missing)} images that seed set "
                f"{seed_set.name!r} lacks (ids {listed(missing)}). Was the seed set changed?"
            )
        super().__init__(seed_set, recipe.image_ids)
        self.recipe = recipe

    @property
    def transformed(self) -> bool:
        """Whether the recipe changes its images."""
        return bool(self.recipe.steps)

    def __getitem__(self, index: int) -> Sample:
        """Make one image with its labels, or raise `UnreadableImageError` of it alone."""
        if not self.transformed:
            return super().__getitem__(index)
        from autoeval.stability.metasets.transforms import apply_step

        record = self.records[index]
        image, boxes = read_record(record), record.boxes
        kept = np.arange(len(boxes))
        for number, step in enumerate(self.recipe.steps):
            rng = named_rng(self.recipe.seed, record.image_id, number)
            visible = self.recipe.min_visibility
            image, boxes, left = apply_step(step, image, boxes, rng=rng, min_visibility=visible)
            kept = kept[left]
        return Sample(record.image_id, image, boxes, record.labels[kept], record.iscrowd[kept])

    def unread(self, index: int) -> Sample:
        """Return an image without pixels; with steps, where its labels go depends on the pixels."""
        if self.transformed:
            raise ValueError(f"Recipe {self.recipe.recipe_id} changes its images: read them.")
        return super().unread(index)
