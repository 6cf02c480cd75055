"""Recipes, small enough to read and compare, and the sample sets that they make of a seed set.

`draw_recipes` draws the recipes of a meta-set (`MetaSetConfig`), `SampleSet` makes the images of
one when they are read. Recipes are kept as ``recipes.json``; images need not be.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from autoeval.errors import InputError
from autoeval.io.tasks.seed_set import (
    MOST_IMAGES,
    Sample,
    SeedSet,
    SeedSetSamples,
    draw_images,
    named_rng,
    own_image_ids,
    read_record,
)
from autoeval.runtime.files import PathLike, read_config, write_text
from autoeval.stability.metasets.transforms import MILD, TransformStep, get_transform
from autoeval.words import listed

ALSO = {tuple: (list,), float: (int,)}  # types of a file's values beside those of the defaults


@dataclass(frozen=True)
class Recipe:
    """How to make a sample set from a seed set.

    Parameters
    ----------
    seed_set : str
        Name of the seed set.
    image_ids : tuple of str
        Its images, in this order.
    steps : tuple of TransformStep
        Transforms, applied in this order; none gives the seed set's own images.
    seed : int
        Of everything drawn while the images are made.
    min_visibility : float
        Boxes with less than this share of their area left in the image are dropped; areas to ignore
        only where nothing is left of them.

    Examples
    --------
    >>> recipe = Recipe("gate", ("a", "b"), (TransformStep("Rotate", 5.0),), seed=1)
    >>> Recipe.from_dict(recipe.to_dict()) == recipe
    True
    """

    seed_set: str
    image_ids: tuple[str, ...]
    steps: tuple[TransformStep, ...]
    seed: int
    min_visibility: float = 0.25

    @property
    def recipe_id(self) -> str:
        """Short hash of the content: equal recipes have equal ids on every machine."""
        return hashlib.sha256(_line(self).encode()).hexdigest()[:12]

    def to_dict(self) -> dict[str, Any]:
        """Describe the recipe in types that JSON knows."""
        return {
            "seed_set": self.seed_set,
            "seed": self.seed,
            "min_visibility": self.min_visibility,
            "steps": [[step.name, step.magnitude] for step in self.steps],
            "image_ids": list(self.image_ids),
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Recipe:
        """Make a recipe from what `to_dict` returned.

        Parameters
        ----------
        content : dict
            What `to_dict` returned.

        Raises
        ------
        InputError
            If it is something else, or a transform is unknown.
        """
        try:
            steps = tuple(
                TransformStep(str(name), None if magnitude is None else float(magnitude))
                for name, magnitude in content["steps"]
            )
            recipe = cls(
                str(content["seed_set"]),
                tuple(str(image_id) for image_id in content["image_ids"]),
                steps,
                int(content["seed"]),
                float(content["min_visibility"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"Not a recipe ({error!r}): {str(content)[:120]}") from error
        for step in steps:
            get_transform(step.name)
        return recipe


@dataclass(frozen=True)
class MetaSetConfig:
    """What defines a kind of meta-set; the paper's by default.

    Parameters
    ----------
    transforms : tuple of str
        Names of transforms to draw from.
    n_sets : int
        Sample sets of each seed set.
    n_images : int
        Images of each sample set.
    n_transforms : int
        Different transforms of each sample set, at least one: a recipe without any is of the seed
        set's own images.
    per_image : bool
        Draw magnitudes for each image instead of once.
    in_turn : bool
        Take one transform each in turn, rather than at random.
    same_images : bool
        Draw the images once for all sample sets.
    with_objects : bool
        Draw only images that hold a labelled object, not just areas to ignore.
    min_visibility : float
        See `Recipe`.
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

    def check(self) -> None:
        """Raise `InputError` where a number is out of its range or a transform is unknown."""
        for name in self.transforms:
            get_transform(name)
        if self.n_sets < 1 or self.n_images < 1:
            raise InputError(
                f"n_sets and n_images must be at least 1, got {self.n_sets} and {self.n_images}."
            )
        n_different = len(set(self.transforms))
        if not 1 <= self.n_transforms <= n_different:
            raise InputError(
                f"n_transforms must be between 1 and {n_different}, the number of different "
                f"transforms to draw from, got {self.n_transforms}."
            )
        if not 0 <= self.min_visibility <= 1:
            raise InputError(f"min_visibility must be between 0 and 1, got {self.min_visibility}.")
        if self.in_turn and self.n_transforms != 1:
            raise InputError(f"Transforms in turn need n_transforms = 1, got {self.n_transforms}.")


PAPER = MetaSetConfig()


def draw_recipes(
    seed_set: SeedSet, config: MetaSetConfig = PAPER, *, seed: int = 0
) -> list[Recipe]:
    """Draw the recipes of a seed set's sample sets (BoS, section 5.4), by default the paper's.

    The first sample sets do not depend on how many follow: every draw derives from `seed`, the seed
    set's name and the number of the sample set. Images are drawn without replacement, all of them
    where there are fewer than `n_images`. With `in_turn`, any n sample sets in a row hold each of n
    transforms once, and n times m of them hold each of its m magnitudes.

    Parameters
    ----------
    seed_set : SeedSet
        Labelled images.
    config : MetaSetConfig
        Kind of the meta-set.
    seed : int
        Of the draws.

    Raises
    ------
    InputError
        As `MetaSetConfig.check`, or if no image is left to draw from.
    """
    config.check()
    images = [i for i in seed_set.images if not (config.with_objects and i.iscrowd.all())]
    if not images:
        raise InputError(
            f"Expected images of {seed_set.name!r} with labelled objects to draw from, but none of "
            f"its {len(seed_set.images)} has one: check its mapping of categories."
        )
    name, transforms = seed_set.name, tuple(dict.fromkeys(config.transforms))
    shared = draw_images(images, config.n_images, named_rng(seed, name, "same images"))
    recipes = []
    for index in range(config.n_sets):
        rng = named_rng(seed, name, index)
        image_ids = shared if config.same_images else draw_images(images, config.n_images, rng)
        if config.in_turn:
            steps = [_step_in_turn(transforms, index, named_rng(seed, name, "in turn"))]
        else:
            chosen = rng.choice(len(transforms), config.n_transforms, replace=False)
            drawn = (get_transform(transforms[i]) for i in chosen)
            steps = [TransformStep(transform.name, transform.draw(rng)) for transform in drawn]
        if config.per_image:
            steps = [TransformStep(step.name, None) for step in steps]
        own_seed = int(rng.integers(2**31))
        recipes.append(Recipe(name, image_ids, tuple(steps), own_seed, config.min_visibility))
    return recipes


def own_images(seed_set: SeedSet, *, n_images: int = MOST_IMAGES, seed: int = 0) -> Recipe:
    """Make the recipe of a seed set's own, untransformed images (BoS, section 4.1).

    Parameters
    ----------
    seed_set : SeedSet
        Labelled images.
    n_images : int
        Where it has more, so many are drawn without replacement.
    seed : int
        Of the draw.
    """
    image_ids = own_image_ids(seed_set, n_images=n_images, seed=seed)
    return Recipe(seed_set.name, image_ids, (), seed)


def save_recipes(path: PathLike, recipes: Iterable[Recipe]) -> None:
    """Write recipes as JSON, one a line, atomically.

    Parameters
    ----------
    path : path-like
        The file.
    recipes : iterable of Recipe
        In their order.
    """
    lines = ",\n".join(_line(recipe) for recipe in recipes)
    write_text(path, f'{{"recipes": [\n{lines}\n]}}\n')


def load_recipes(path: PathLike) -> list[Recipe]:
    """Read recipes that `save_recipes` wrote.

    Parameters
    ----------
    path : path-like
        The file.

    Raises
    ------
    InputError
        If it cannot be read, or holds something else.
    """
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))["recipes"]
    except OSError as error:
        raise InputError(f"Cannot read recipes from {path}: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} holds no recipes: {error!r}.") from error
    return [Recipe.from_dict(entry) for entry in content]


def _step_in_turn(transforms: Sequence[str], index: int, rng: np.random.Generator) -> TransformStep:
    order, offset = rng.permutation(len(transforms)), int(rng.integers(2**31))
    turn, place = divmod(index, len(transforms))
    transform = get_transform(transforms[order[place]])
    # Neighbours are a magnitude apart, so that a few sample sets hold each magnitude already.
    magnitude = transform.magnitude((offset + place + turn) % transform.n_magnitudes)
    return TransformStep(transform.name, magnitude)


def _line(recipe: Recipe) -> str:
    return json.dumps(recipe.to_dict(), separators=(",", ":"))


def load_metaset_config(
    path: PathLike | None = None,
    *,
    n_sets: int | None = None,
    n_images: int | None = None,
    n_transforms: int | None = None,
) -> MetaSetConfig:
    """Read a meta-set's configuration, such as `configs/metasets/mild.py`; by default the paper's.

    Parameters
    ----------
    path : path-like, optional
        A Python file with fields of `MetaSetConfig`.
    n_sets, n_images, n_transforms : int, optional
        In place of the numbers of the file.

    Raises
    ------
    InputError
        If the file cannot be read, has another option, or one of another type than its default.
    """
    known = [field.name for field in fields(MetaSetConfig)]
    options: dict[str, Any] = {} if path is None else read_config(path, known)
    for name, value in options.items():
        default = getattr(PAPER, name)
        if type(value) not in (type(default), *ALSO.get(type(default), ())):
            raise InputError(
                f"Expected {name} in {path} in the form of {default!r} but got {value!r}."
            )
        options[name] = type(default)(value)
    numbers = {"n_sets": n_sets, "n_images": n_images, "n_transforms": n_transforms}
    options |= {name: number for name, number in numbers.items() if number is not None}
    return MetaSetConfig(**options)


def sample_set_sizes(
    seed_sets: Iterable[SeedSet],
    path: PathLike | None,
    *,
    n_sets: int | None,
    n_images: int | None,
) -> list[int]:
    """Return the number of images of each sample set that a configuration makes of seed sets.

    Parameters
    ----------
    seed_sets : iterable of SeedSet
        Labelled sources.
    path : path-like, optional
        See `load_metaset_config`.
    n_sets, n_images : int, optional
        See `load_metaset_config`.

    Raises
    ------
    InputError
        See `load_metaset_config` and `draw_recipes`.
    """
    config = load_metaset_config(path, n_sets=n_sets, n_images=n_images)
    recipes = (draw_recipes(seed_set, config) for seed_set in seed_sets)
    return [len(recipe.image_ids) for set_recipes in recipes for recipe in set_recipes]


class SampleSet(SeedSetSamples):
    """The images and labels a recipe makes; each is made when it is read, always the same.

    Parameters
    ----------
    seed_set : SeedSet
        That the recipe is of.
    recipe : Recipe
        How the images are made.

    Attributes
    ----------
    records : sequence
        The images before they are transformed, in the recipe's order.

    Raises
    ------
    InputError
        If the recipe is of another seed set, or names images that this one lacks.
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
            visible = np.where(record.iscrowd[kept], 0, self.recipe.min_visibility)
            image, boxes, left = apply_step(step, image, boxes, rng=rng, min_visibility=visible)
            kept = kept[left]
        return Sample(record.image_id, image, boxes, record.labels[kept], record.iscrowd[kept])

    def unread(self, index: int) -> Sample:
        """Return an image without pixels.

        Parameters
        ----------
        index : int
            Position of the image.

        Raises
        ------
        ValueError
            If the recipe has steps: where labels go then depends on the pixels.
        """
        if self.transformed:
            raise ValueError(f"Recipe {self.recipe.recipe_id} changes its images: read them.")
        return super().unread(index)
