"""A dry run over a task as text and JSON: its sites, and what a run would take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri, stdtrit

from autoeval.io.tasks.inspection import SMALL_AREA, Examined, Look, copies_across, n_near_copies
from autoeval.model.regression import MIN_SOURCES
from autoeval.report.page import format_cells, to_terminal
from autoeval.runtime.progress import duration
from autoeval.words import counted, listed

LEVEL = 0.9
AIMS = (0.05, 0.1)  # half-widths of which the wanted errors are named
FEW_IMAGES = 50


@dataclass(frozen=True)
class RunSize:
    """The size of a run.

    Parameters
    ----------
    n_groups : int
        Groups of the sites that can be used.
    n_sets : int
        Sample sets.
    n_observed : int
        Images that the detector runs on, the new ones among them.
    n_read : int
        Images that were read here.
    read_s : float
        Seconds that this took.
    rate : float, optional
        Images a second with the detector.
    """

    n_groups: int
    n_sets: int
    n_observed: int
    n_read: int
    read_s: float
    rate: float | None = None

    @property
    def read_rate(self) -> float | None:
        """Images that were read here in a second; None where none was read."""
        return self.n_read / self.read_s if self.read_s > 0 and self.n_read else None


def check_text(sites: Sequence[Examined], new: Look | None, size: RunSize) -> str:
    """Return what the terminal shows: the sites, what is wrong with them, and what a run takes.

    Parameters
    ----------
    sites : sequence of Examined
        The labelled sources of a task.
    new : Look, optional
        The images to estimate on, where they are given.
    size : RunSize
        Of the run to come.
    """
    formats = {"small": "{:.0%}", "brightness": "{:.0f}", "boxes": "{:.0f}", "empty": "{:.0f}"}
    table = site_table(sites, new)
    usable = to_terminal(format_cells(table, formats)) if len(table) else "no site can be used"
    faults = findings(sites, new) or ["nothing"]
    run = [
        f"A run observes {counted(size.n_observed, 'image')}: "
        f"{counted(size.n_sets, 'sample set')} of {counted(size.n_groups, 'group')}, and the new "
        "images. Each is seen once as it is, and again in each repeat.",
        _time_text(size),
        interval_forecast(size.n_groups),
    ]
    lines = [usable, "", "found:", *(f"  {line}" for line in faults), "", *run]
    return "\n".join(lines)


def check_values(sites: Sequence[Examined], new: Look | None, size: RunSize) -> dict[str, Any]:
    """Return what `check_text` shows, as plain values for JSON.

    Parameters
    ----------
    sites : sequence of Examined
        The labelled sources of a task.
    new : Look, optional
        The images to estimate on, where they are given.
    size : RunSize
        Of the run to come.

    Returns
    -------
    dict
        ``sources`` (rows of `site_table`), ``findings``, ``n_groups``, ``n_sample_sets``,
        ``n_images_to_observe``, ``read_images_per_s``, ``hours`` (None without a rate) and
        ``interval`` (a sentence).
    """
    return {
        "sources": site_table(sites, new).to_dict("records"),
        "findings": findings(sites, new),
        "n_groups": size.n_groups,
        "n_sample_sets": size.n_sets,
        "n_images_to_observe": size.n_observed,
        "read_images_per_s": size.read_rate,
        "hours": size.n_observed / size.rate / 3600 if size.rate else None,
        "interval": interval_forecast(size.n_groups),
    }


def site_table(sites: Sequence[Examined], new: Look | None) -> pd.DataFrame:
    """Describe the sites that can be used, and the new images.

    Parameters
    ----------
    sites : sequence of Examined
        The labelled sources of a task; those that cannot be used are left out.
    new : Look, optional
        The images to estimate on, in the last row.

    Returns
    -------
    DataFrame
        One row a site: ``source``, the numbers of ``images``, of ``unreadable`` ones and of
        ``boxes``, ``small`` (share of boxes with an area under `SMALL_AREA`, in [0, 1]), the
        numbers of images that are ``empty``, ``alike`` (near copies) and ``dark``, and the mean
        ``brightness``, 0 to 255; NaN without labels or images.
    """
    rows = [_row(site) for site in sites if site.look is not None]
    if new is not None:
        rows.append(_row(Examined("(new images)", look=new)))
    return pd.DataFrame(rows)


def findings(sites: Sequence[Examined], new: Look | None) -> list[str]:
    """Name what is wrong with sites and new images, one sentence each.

    What prevents a run comes first.

    Parameters
    ----------
    sites : sequence of Examined
        The labelled sources of a task.
    new : Look, optional
        The images to estimate on; their copies among the sources are named, too.
    """
    seen = [look for look in (*(site.look for site in sites), new) if look is not None]
    return [
        *(f"{s.name}: cannot be used: {s.why_not}" for s in sites if s.why_not),
        *(f"{s.name}: {finding}" for s in sites for finding in _of_labels(s)),
        *(f"{look.name}: {finding}" for look in seen for finding in _of_images(look)),
        *copies_across(seen),
    ]


def _time_text(size: RunSize) -> str:
    if size.rate:
        takes = duration(size.n_observed / size.rate)
        return f"At {size.rate:g} images a second that takes {takes}."
    read = size.read_rate
    least = f" Reading alone takes {duration(size.n_observed / read)} here." if read else ""
    return f"How long that takes depends on the detector: give its rate with --rate.{least}"


def interval_forecast(n_groups: int) -> str:
    """State how wide an interval is for this number of groups, by the error on groups left out.

    The factor is that of Student's t, t(m - 1) times the root of the mean squared error, which
    `source_interval` has where groups are too few for the jackknife+: before a run there is no
    error of each group, which that needs.

    Parameters
    ----------
    n_groups : int
        Groups of sites that can be used, m.

    Examples
    --------
    >>> interval_forecast(2)
    'Fewer than 3 groups: there will be no interval.'
    """
    if n_groups < MIN_SOURCES:
        return f"Fewer than {MIN_SOURCES} groups: there will be no interval."
    factor = float(stdtrit(n_groups - 1, (1 + LEVEL) / 2))
    ideal = float(ndtri((1 + LEVEL) / 2))
    needed = " and ".join(
        f"±{100 * aim:.0f} points needs errors of {100 * aim / factor:.1f}" for aim in AIMS
    )
    return (
        f"With {n_groups} groups the {LEVEL:.0%} interval is about ±{factor:.2f} times the "
        f"typical error on a group left out (±{ideal:.2f} with very many): {needed}."
    )


def _row(site: Examined) -> dict[str, Any]:
    """Describe a site that can be used.

    Returns
    -------
    dict
        ``source``, numbers of ``images``, of ``unreadable`` ones and of ``boxes``, ``small`` (share
        of boxes with an area under `SMALL_AREA`), numbers of images that are ``empty``, ``alike``
        and ``dark``, and the mean ``brightness``, 0 to 255; NaN without labels or images.
    """
    look, seed_set = site.look, site.seed_set
    assert look is not None
    areas = site.areas()
    return {
        "source": site.name,
        "images": len(look.image_ids),
        "unreadable": len(look.unreadable),
        "boxes": seed_set.n_boxes if seed_set else np.nan,
        "small": float((areas < SMALL_AREA).mean()) if len(areas) else np.nan,
        "empty": sum(not len(im.boxes) for im in seed_set.images) if seed_set else np.nan,
        "alike": n_near_copies(look),
        "dark": len(look.dark),
        "brightness": float(look.brightness.mean()) if len(look.brightness) else np.nan,
    }


def _of_labels(site: Examined) -> Iterator[str]:
    if site.seed_set is None:
        return
    yield from site.seed_set.warnings
    if not site.seed_set.n_boxes:
        yield "no box of the task's categories, so it has no mAP and will be left out"
    absent = set(range(len(site.seed_set.categories))) - {
        int(label) for image in site.seed_set.images for label in image.labels
    }
    if site.seed_set.n_boxes and absent:
        names = [site.seed_set.categories[k] for k in sorted(absent)]
        yield f"no box of {listed(names)}"


def _of_images(look: Look) -> Iterator[str]:
    if look.unreadable:
        yield f"images that cannot be used: {len(look.unreadable)} ({listed(look.unreadable, 3)})"
    if len(look.image_ids) < FEW_IMAGES:
        images = counted(len(look.image_ids), "image")
        yield f"only {images}: what is measured on so few varies by chance"
    if look.dark:
        yield f"dark images, under 20 of 255 on average: {len(look.dark)} ({listed(look.dark, 3)})"
