"""The data sets of a paper that are at hand, and what a run costs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from autoeval.io.tasks.inspection import Examined, load_each
from autoeval.io.tasks.seed_set import SeedSet, thinned
from autoeval.io.tasks.task import Task
from autoeval.report.compared_with_print import not_as_printed
from autoeval.report.page import Block, Heading, Text
from autoeval.runtime.progress import duration
from autoeval.stability.metasets.recipe import MetaSetConfig, draw_recipes, own_images
from autoeval.words import counted


@dataclass(frozen=True)
class AvailableData:
    """The sources of a task, and where people get each.

    Parameters
    ----------
    task : Task
        Of the paper.
    sources : sequence of Examined
        Each with its labels, or why they cannot be read.
    downloads : mapping of str to str
        Address of each.
    """

    task: Task
    sources: Sequence[Examined]
    downloads: Mapping[str, str]

    @property
    def seed_sets(self) -> list[SeedSet]:
        """Those that can be read."""
        return [source.seed_set for source in self.sources if source.seed_set is not None]

    @property
    def missing(self) -> list[Examined]:
        """Those that cannot."""
        return [source for source in self.sources if source.seed_set is None]

    def marks(self, differs: str = "") -> str:
        """Say in what figures of these sources are not those in print.

        Parameters
        ----------
        differs : str
            In what else ours is not what was printed.
        """
        n, n_there = len(self.sources), len(self.seed_sets)
        return not_as_printed(differs, f"{n_there} of {n} sources" if n_there < n else "")

    def lines(self) -> list[str]:
        """Say of each source what there is, and of a missing one where it is had."""
        present = [
            f"{s.name}: {len(s.images)} images, {s.n_boxes} boxes"
            + "".join(f"; {warning}" for warning in s.warnings)
            for s in self.seed_sets
        ]
        lost = [
            f"{s.name}: missing ({s.why_not}) Get it from {self.downloads.get(s.name, 'its home')}"
            for s in self.missing
        ]
        return [*present, *lost]

    def text(self) -> str:
        summary = f"{self.task.name}: {len(self.seed_sets)} of {len(self.sources)} sources at hand"
        return "\n".join([summary, *(f"  {line}" for line in self.lines())])

    def blocks(self) -> list[Block]:
        return [Heading(f"Data of {self.task.name}"), *map(Text, self.lines())]

    def to_dict(self) -> dict[str, Any]:
        return {f"data_{self.task.name}": self.lines()}


def find_available(
    task: Task, downloads: Mapping[str, str], *, max_images: int | None
) -> AvailableData:
    """Read the labels of all sources that are there.

    Parameters
    ----------
    task : Task
        Of the paper.
    downloads : mapping of str to str
        Address of each source.
    max_images : int or None
        Images to keep of each source; all by default.
    """
    sources = [_thinned(source, max_images) for source in load_each(task)]
    return AvailableData(task, sources, downloads)


def _thinned(source: Examined, most: int | None) -> Examined:
    seed_set = source.seed_set
    return source if seed_set is None else replace(source, seed_set=thinned(seed_set, most))


class RunCost(NamedTuple):
    """What one run costs.

    Parameters
    ----------
    n_images : int
        Images to observe.
    repeats : int
        Perturbed passes of each image.
    rate : float
        Images a second as measured; NaN where it was not.
    """

    n_images: int
    repeats: int
    rate: float

    @property
    def passes(self) -> int:
        """Passes of the network."""
        return self.n_images * (1 + self.repeats)

    @property
    def hours(self) -> float | None:
        """At its rate; None where that was not measured."""
        hours = self.n_images / self.rate / 3600
        return hours if math.isfinite(hours) else None


@dataclass(frozen=True)
class Cost:
    """What runs cost, each a detector on a task.

    Parameters
    ----------
    runs : mapping of str to RunCost
        By name.
    """

    runs: Mapping[str, RunCost]

    def text(self) -> str:
        return "\n".join(self.lines())

    def blocks(self) -> list[Block]:
        return [Heading("Cost"), *map(Text, self.lines())]

    def to_dict(self) -> dict[str, Any]:
        return {
            "cost": [
                {"run": name, "images": run.n_images, "passes": run.passes, "hours": run.hours}
                for name, run in self.runs.items()
            ]
        }

    def lines(self) -> list[str]:
        """Say it, one sentence a run."""
        lines = []
        for name, run in self.runs.items():
            line = f"{name}: {counted(run.n_images, 'image')}, {run.passes} passes of the network"
            if run.hours is None:
                lines.append(f"{line}; the rate was not measured")
            else:
                shown = f"{run.rate:{'.2g' if run.rate < 10 else '.0f'}} images a second"
                lines.append(f"{line}, {duration(3600 * run.hours)} at {shown}")
        return lines


def images_to_observe(seed_sets: Sequence[SeedSet], meta_set: MetaSetConfig | None) -> int:
    """Count the images of a run: own images of the sources, and those of their sample sets.

    Parameters
    ----------
    seed_sets : sequence of SeedSet
        The sources.
    meta_set : MetaSetConfig or None
        How their sample sets are drawn; None for own images alone.
    """
    n_seed_images = sum(len(own_images(s).image_ids) for s in seed_sets)
    if meta_set is None:
        return n_seed_images
    drawn = (recipe for s in seed_sets for recipe in draw_recipes(s, meta_set))
    return n_seed_images + sum(len(r.image_ids) for r in drawn)
