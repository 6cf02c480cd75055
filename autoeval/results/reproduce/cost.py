"""What it takes to make a paper's tables, before it is done."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from autoeval.metasets.config import MetaSetConfig
from autoeval.metasets.recipe import draw_recipes, own_images
from autoeval.metasets.seed_set import SeedSet
from autoeval.report.numerals import counted
from autoeval.report.page import Page
from autoeval.report.sections import Section
from autoeval.runtime.forecast import duration


@dataclass(frozen=True)
class Cost(Section):
    """Images to observe, passes of the detector, and hours.

    Parameters
    ----------
    n_images : mapping of str to int
        Images to observe for each run, a detector on a task.
    repeats : mapping of str to int
        Perturbed passes an image of each run.
    rates : mapping of str to float
        Images a second of each run, as measured on a few of its images; NaN where they were not.
    """

    n_images: Mapping[str, int]
    repeats: Mapping[str, int]
    rates: Mapping[str, float]

    def hours(self, run: str) -> float:
        """Return the hours of a run at its rate."""
        return self.n_images[run] / self.rates.get(run, math.nan) / 3600

    def lines(self) -> list[str]:
        """Say it, one sentence a run."""
        return [self._line(run) for run in self.n_images]

    def text(self) -> str:
        """Return the lines."""
        return "\n".join(self.lines())

    def show(self, page: Page) -> None:
        """Add the lines to a page."""
        page.add_heading("Cost")
        page.add_text(*self.lines())

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers."""
        return {
            "cost": [
                {"run": run, "images": n, "passes": self._passes(run), "hours": self._known(run)}
                for run, n in self.n_images.items()
            ]
        }

    def _passes(self, run: str) -> int:
        return self.n_images[run] * (1 + self.repeats[run])

    def _line(self, run: str) -> str:
        images = counted(self.n_images[run], "image")
        passes = f"{run}: {images}, {self._passes(run)} passes of the network"
        if self._known(run) is None:
            return f"{passes}; the rate was not measured"
        took = duration(3600 * self.hours(run))
        rate = self.rates[run]
        return f"{passes}, {took} at {rate:{'.2g' if rate < 10 else '.0f'}} images a second"

    def _known(self, run: str) -> float | None:
        return self.hours(run) if math.isfinite(self.hours(run)) else None


def images_to_observe(seed_sets: Sequence[SeedSet], meta_set: MetaSetConfig | None) -> int:
    """Count the images of a run: own images of the sources, and those of their sample sets.

    Parameters
    ----------
    seed_sets : sequence of SeedSet
        Of more own images than `own_images` draws, these alone count.
    meta_set : MetaSetConfig, optional
        Without one, own images alone.
    """
    own = sum(len(own_images(s).image_ids) for s in seed_sets)
    if meta_set is None:
        return own
    drawn = (recipe for s in seed_sets for recipe in draw_recipes(s, **asdict(meta_set)))
    return own + sum(len(r.image_ids) for r in drawn)
