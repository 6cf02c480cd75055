"""Which of a paper's data sets are there, and where the others are had."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from autoeval.metasets.examining import Examined, load_each
from autoeval.metasets.seed_set import SeedSet
from autoeval.metasets.task import Task
from autoeval.report.page import Page
from autoeval.report.sections import Section


@dataclass(frozen=True)
class AtHand(Section):
    """The sources of a task.

    Parameters
    ----------
    task : Task
    sources : sequence of Examined
    downloads : mapping of str to str
        Where people get each source.
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

    def marks(self, instead: str = "", differs: str = "") -> str:
        """Say in what figures of these sources, by another detector, are not those in print."""
        parts = [f"own figures are those of {instead}"] if instead else []
        parts += [differs] if differs else []
        if self.missing:
            parts.append(f"{len(self.seed_sets)} of {len(self.sources)} sources")
        return f"NOT AS PRINTED: {', '.join(parts)}" if parts else ""

    def lines(self) -> list[str]:
        """Say of each source what there is, and of a missing one where it is had."""
        there = [
            f"{s.name}: {len(s.images)} images, {s.n_boxes} boxes"
            + "".join(f"; {problem}" for problem in s.problems)
            for s in self.seed_sets
        ]
        lost = [
            f"{s.name}: missing ({s.why_not}) Get it from {self.downloads.get(s.name, 'its home')}"
            for s in self.missing
        ]
        return [*there, *lost]

    def text(self) -> str:
        """Return the lines with a heading."""
        found = f"{self.task.name}: {len(self.seed_sets)} of {len(self.sources)} sources at hand"
        return "\n".join([found, *(f"  {line}" for line in self.lines())])

    def show(self, page: Page) -> None:
        """Add the lines to a page."""
        page.add_heading(f"Data of {self.task.name}")
        page.add_text(*self.lines())

    def to_dict(self) -> dict[str, Any]:
        """Return the lines."""
        return {f"data_{self.task.name}": self.lines()}


def data_at_hand(
    task: Task, downloads: Mapping[str, str], *, max_images: int | None = None
) -> AtHand:
    """Read the labels of all sources that are there.

    Parameters
    ----------
    task : Task
    downloads : mapping of str to str
    max_images : int, optional
        Keep at most as many images of each source, at equal distances.
    """
    sources = [
        source
        if source.seed_set is None
        else replace(source, seed_set=_thinned(source.seed_set, max_images))
        for source in load_each(task)
    ]
    return AtHand(task, sources, downloads)


def _thinned(seed_set: SeedSet, most: int | None) -> SeedSet:
    n = len(seed_set.images)
    if most is None or n <= most:
        return seed_set
    kept = np.linspace(0, n - 1, most).round().astype(int)
    note = f"{most} of {n} images, at equal distances"
    return replace(
        seed_set,
        images=tuple(seed_set.images[k] for k in kept),
        problems=(*seed_set.problems, note),
    )
