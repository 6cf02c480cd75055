"""A dry run over a task: its sources, and what a run would take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri, stdtrit

from autoeval.io.tasks.inspection import SMALL_AREA, Examined, Look, copies_across, n_alike
from autoeval.io.wording import listed
from autoeval.model.regression import MIN_SOURCES
from autoeval.report.sections import Section
from autoeval.report.tables import format_cells, to_terminal
from autoeval.words import counted

LEVEL = 0.9
_AIMS = (0.05, 0.1)
FEW_IMAGES = 50


@dataclass(frozen=True)
class Plan(Section):
    """The size of a run.

    `n_groups` groups of the sources can be used; the detector runs on `n_observed` images, the
    new ones among them; `n_read` images were read here in `read_s` seconds; `rate` is in images a
    second with the detector.
    """

    n_groups: int
    n_sets: int
    n_observed: int
    n_read: int
    read_s: float
    rate: float | None = None

    def text(self) -> str:
        return "\n".join([self._size(), self._time(), _interval_at_best(self.n_groups)])

    def to_dict(self) -> dict[str, Any]:
        return {
            "n_groups": self.n_groups,
            "n_sample_sets": self.n_sets,
            "n_images_to_observe": self.n_observed,
            "read_images_per_s": self._read_rate(),
            "hours": self.n_observed / self.rate / 3600 if self.rate else None,
            "interval": _interval_at_best(self.n_groups),
        }

    def _read_rate(self) -> float | None:
        return self.n_read / self.read_s if self.read_s > 0 and self.n_read else None

    def _size(self) -> str:
        groups = counted(self.n_groups, "group")
        return (
            f"A run observes {counted(self.n_observed, 'image')}: "
            f"{counted(self.n_sets, 'sample set')} of {groups}, and the new images. "
            "Each is seen once as it is, and again in each repeat."
        )

    def _time(self) -> str:
        if self.rate:
            takes = _duration(self.n_observed / self.rate)
            return f"At {self.rate:g} images a second that takes {takes}."
        read = self._read_rate()
        least = f" Reading alone takes {_duration(self.n_observed / read)} here." if read else ""
        return f"How long that takes is the detector's matter: give its rate with --rate.{least}"


def _interval_at_best(n_groups: int) -> str:
    """Return the width of an interval by group, and the error on groups left out.

    It is ±t(m - 1) times the root of the mean squared error where groups are too few for the
    jackknife+, which needs the largest errors themselves; see `source_interval`.

    >>> _interval_at_best(2)
    'Fewer than 3 groups: there will be no interval.'
    """
    if n_groups < MIN_SOURCES:
        return f"Fewer than {MIN_SOURCES} groups: there will be no interval."
    factor = float(stdtrit(n_groups - 1, (1 + LEVEL) / 2))
    ideal = float(ndtri((1 + LEVEL) / 2))
    needed = " and ".join(
        f"±{100 * aim:.0f} points needs errors of {100 * aim / factor:.1f}" for aim in _AIMS
    )
    return (
        f"With {n_groups} groups the {LEVEL:.0%} interval is about ±{factor:.2f} times the "
        f"typical error on a group left out (±{ideal:.2f} with very many): {needed}."
    )


def _duration(seconds: float) -> str:
    for unit, length in (("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.0f} seconds"


@dataclass(frozen=True)
class Sources(Section):
    """What was found in each source and in the new images."""

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
        looks = [source.look for source in self.sources] + [self.new]
        seen = [look for look in looks if look is not None]
        return [
            *(f"{s.name}: cannot be used: {s.why_not}" for s in self.sources if s.why_not),
            *(f"{s.name}: {finding}" for s in self.sources for finding in _of_labels(s)),
            *(f"{look.name}: {finding}" for look in seen for finding in _of_images(look)),
            *copies_across(seen),
        ]

    def text(self) -> str:
        formats = {"small": "{:.0%}", "brightness": "{:.0f}", "boxes": "{:.0f}", "empty": "{:.0f}"}
        table = self.table()
        usable = "no source can be used"
        if len(table):
            usable = to_terminal(format_cells(table, formats))
        findings = self.findings() or ["nothing"]
        return "\n".join([usable, "", "found:", *(f"  {line}" for line in findings)])

    def to_dict(self) -> dict[str, Any]:
        return {"sources": self.table().to_dict("records"), "findings": self.findings()}


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
    yield from source.seed_set.warnings
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
