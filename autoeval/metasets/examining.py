"""Every source of a task read once: what a run would meet, without a detector."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from autoeval.errors import InputError
from autoeval.metasets.looking import Look, look_at
from autoeval.metasets.recipe import own_images
from autoeval.metasets.sample_set import SampleSet
from autoeval.metasets.seed_set import SeedSet
from autoeval.metasets.task import SeedSetFiles, Task

# COCO's bound between small objects and others, in square pixels.
SMALL_AREA = 32**2


@dataclass(frozen=True, eq=False)
class Examined:
    """A source as it was found.

    Parameters
    ----------
    name : str
    seed_set : SeedSet, optional
        None where its labels cannot be used.
    look : Look, optional
        None where its images were not read.
    why_not : str
        Why it cannot be used.
    """

    name: str
    seed_set: SeedSet | None = None
    look: Look | None = None
    why_not: str = ""

    def areas(self) -> np.ndarray:
        """Return the areas of its boxes, in square pixels."""
        if self.seed_set is None:
            return np.zeros(0)
        sides = [image.boxes[:, 2:] - image.boxes[:, :2] for image in self.seed_set.images]
        return np.concatenate(sides).prod(axis=1)


def load_each(task: Task) -> list[Examined]:
    """Read the labels of each source, going on where one of them cannot be used."""
    return [_loaded(task, files) for files in task.seed_sets]


def look_at_each(
    sources: list[Examined], *, advance: Callable[[int], object] = lambda n: None
) -> list[Examined]:
    """Read the images of each source whose labels can be used."""
    return [
        source
        if source.seed_set is None
        else Examined(source.name, source.seed_set, _look(source.seed_set, advance))
        for source in sources
    ]


def _loaded(task: Task, files: SeedSetFiles) -> Examined:
    try:
        return Examined(files.name, task.load_seed_set(files))
    except InputError as error:
        return Examined(files.name, why_not=str(error))


def _look(seed_set: SeedSet, advance: Callable[[int], object]) -> Look:
    samples = SampleSet(seed_set, own_images(seed_set))
    return look_at(seed_set.name, samples, advance=advance)
