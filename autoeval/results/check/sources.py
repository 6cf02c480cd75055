"""The sources of a task as a table, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from autoeval.data.wording import listed
from autoeval.metasets.copies import copies_across, n_alike
from autoeval.metasets.examining import SMALL_AREA, Examined
from autoeval.metasets.looking import Look
from autoeval.report.sections import Section
from autoeval.report.tables import format_cells, to_terminal

FEW_IMAGES = 50


@dataclass(frozen=True)
class Sources(Section):
    """What was found in each source and in the new images.

    Parameters
    ----------
    sources : sequence of Examined
    new : Look, optional
        The new images.
    """

    sources: Sequence[Examined]
    new: Look | None = None

    def table(self) -> pd.DataFrame:
        """Describe what can be used, one row a source, the new images last."""
        rows = [_row(source) for source in self.sources if source.look is not None]
        if self.new is not None:
            rows.append(_row(Examined("(new images)", look=self.new)))
        return pd.DataFrame(rows)

    def findings(self) -> list[str]:
        """Name what is wrong, one sentence each, what prevents a run first."""
        looks = [source.look for source in self.sources if source.look is not None]
        if self.new is not None:
            looks.append(self.new)
        wrong = [f"{s.name}: cannot be used: {s.why_not}" for s in self.sources if s.why_not]
        own = [f"{s.name}: {found}" for s in self.sources for found in _of_labels(s)]
        seen = [f"{look.name}: {found}" for look in looks for found in _of_images(look)]
        return [*wrong, *own, *seen, *copies_across(looks)]

    def text(self) -> str:
        """Return the table with the findings below it."""
        formats = {"small": "{:.0%}", "brightness": "{:.0f}", "boxes": "{:.0f}", "empty": "{:.0f}"}
        table = self.table()
        usable = "no source can be used"
        if len(table):
            usable = to_terminal(format_cells(table, formats))
        findings = self.findings() or ["nothing"]
        return "\n".join([usable, "", "found:", *(f"  {line}" for line in findings)])

    def to_dict(self) -> dict[str, Any]:
        """Return the table and the findings."""
        rows = self.table().astype(object)
        return {
            "sources": rows.where(rows.notna(), None).to_dict("records"),
            "findings": self.findings(),
        }


def _row(source: Examined) -> dict[str, Any]:
    look, seed_set = source.look, source.seed_set
    assert look is not None
    areas = source.areas()
    return {
        "source": source.name,
        "images": len(look.image_ids),
        "unreadable": len(look.unreadable),
        "boxes": seed_set.n_boxes if seed_set else np.nan,
        "small": float((areas < SMALL_AREA).mean()) if len(areas) else np.nan,
        "empty": sum(not len(im.boxes) for im in seed_set.images) if seed_set else np.nan,
        "alike": n_alike(look),
        "dark": len(look.dark),
        "brightness": float(look.brightness.mean()) if len(look.brightness) else np.nan,
    }


def _of_labels(source: Examined) -> Iterator[str]:
    if source.seed_set is None:
        return
    yield from source.seed_set.problems
    if not source.seed_set.n_boxes:
        yield "no box of the task's categories, so it has no mAP and will be left out"
    absent = set(range(len(source.seed_set.categories))) - {
        int(label) for image in source.seed_set.images for label in image.labels
    }
    if source.seed_set.n_boxes and absent:
        names = [source.seed_set.categories[k] for k in sorted(absent)]
        yield f"no box of {listed(names)}"


def _of_images(look: Look) -> Iterator[str]:
    if look.unreadable:
        yield f"images that cannot be used: {len(look.unreadable)} ({listed(look.unreadable, 3)})"
    if len(look.image_ids) < FEW_IMAGES:
        yield f"only {len(look.image_ids)} images: what is measured on them varies by chance"
    if look.dark:
        yield f"dark images, under 20 of 255 on average: {len(look.dark)} ({listed(look.dark, 3)})"
