"""The report of an estimate: one page, and each of its parts as plain files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from autoeval.report.parts import Part
from autoeval.report.scatter import RegressionBand, plot_scatter
from autoeval.report.thumbnails import LEGEND, contact_sheet
from autoeval.results.held_out import formats_of, method_table, source_table
from autoeval.results.map_page import map_page
from autoeval.runtime.files import atomic_path
from autoeval.targets import Target


@dataclass(frozen=True)
class MapReport:
    """What a report shows.

    Parameters
    ----------
    title : str
    points : DataFrame
        One row a sample set; see `ScatterChart`.
    scores : sequence of str
        Its columns to plot the target against, the most important one first.
    target : Target
        What is estimated.
    per_source : mapping of method to DataFrame
        Held-out results, the method in use first; see `source_table`. Empty where there are none.
    summaries : sequence of mapping
        See `method_table`; in the order of `per_source`.
    why_not_held_out : str
        Why `per_source` is empty.
    lines : mapping of str to RegressionBand
        See `ScatterChart`.
    about_scores : sequence of str
        Sentences that explain some of the scores and their lines.
    headline : mapping, optional
        An estimate: keys ``value``, ``lower``, ``upper``, ``level``, ``interval_method``, ``std``,
        ``method``, ``guards``, ``n_images``, and the scores of those images; ``sampling_std``,
        ``source_lower``, ``source_upper`` where they are known.
    categories : DataFrame, optional
        Estimate of each category: ``category``, ``estimate``, ``lower``, ``upper``.
    unstable : DataFrame, optional
        The least stable images: ``image``, ``stability``, ``boxes``, ``boxes with dropout``.
    thumbnails : sequence of (ndarray of shape (H, W, 3) uint8 BGR, str)
        The same images with their boxes drawn, and captions.
    times : DataFrame, optional
        Where the time went.
    facts : mapping of str to str
        What was run.
    problems : sequence of str
        What was left out.
    """

    title: str
    points: pd.DataFrame
    scores: Sequence[str]
    target: Target
    per_source: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    summaries: Sequence[Mapping[str, Any]] = ()
    why_not_held_out: str = ""
    lines: Mapping[str, RegressionBand] = field(default_factory=dict)
    about_scores: Sequence[str] = ()
    headline: Mapping[str, Any] | None = None
    categories: pd.DataFrame | None = None
    unstable: pd.DataFrame | None = None
    thumbnails: Sequence[tuple[np.ndarray, str]] = ()
    times: pd.DataFrame | None = None
    facts: Mapping[str, str] = field(default_factory=dict)
    problems: Sequence[str] = ()

    def write(self, page: Path) -> list[Path]:
        """Write the page, and its parts into a folder of the page's name without the suffix.

        Parameters
        ----------
        page : Path
            Such as ``report.html``.

        Returns
        -------
        list of Path
            The page, the folder.
        """
        folder = page.with_suffix("")
        for part in self.parts():
            part.write(folder)
        for name, figure in self.figures():
            with atomic_path(folder / f"{name}.png") as temporary:
                figure.savefig(temporary, dpi=150)
        map_page(self, {part.name: part for part in self.parts()}).write(page)
        return [page, folder]

    def figures(self) -> Iterator[tuple[str, Figure]]:
        """Draw the scatter plot of the first score, and the least stable images where known."""
        star = None
        if self.headline is not None:
            at = self.headline.get(self.scores[0], np.nan)
            star = (at, self.headline["value"], "estimate")
        axes = plot_scatter(
            self.points,
            x=self.scores[0],
            target=self.target,
            band=self.lines.get(self.scores[0]),
            highlight=star,
        )
        axes.set_title(self.title, fontsize=11, parse_math=False)
        figure = axes.figure
        assert isinstance(figure, Figure)
        yield "scatter", figure
        if self.thumbnails:
            yield "least_stable", contact_sheet(self.thumbnails, f"Least stable images; {LEGEND}")

    def parts(self) -> list[Part]:
        """Return the tables that there are."""
        what = pd.DataFrame({"what": list(self.facts), "value": list(self.facts.values())})
        parts = [self._sample_sets(), Part("what_was_run", what)]
        if self.per_source:
            parts += self._held_out()
        if self.categories is not None:
            parts.append(self._categories(self.categories))
        if self.unstable is not None:
            parts.append(Part("least_stable", self.unstable, formats={"stability": "{:.3f}"}))
        if self.times is not None:
            spec = {name: "{:.1f}" for name in self.times if name not in ("stage", "images")}
            parts.append(Part("times", self.times, formats=spec))
        return parts

    def _sample_sets(self) -> Part:
        score, target = self.scores[0], self.target
        columns = ["source", "sample_set", "transforms", "n_images", score]
        shown = self.points[columns].copy()
        shown[f"true {target.name}"] = target.scale * self.points[target.name]
        shown["transforms"] = shown["transforms"].replace("", "its own images")
        names = {"sample_set": "recipe", "n_images": "images"}
        spec = {score: "{:.4g}", "images": "{:.0f}", f"true {target.name}": target.format}
        return Part("sample_sets", self.points, shown.rename(columns=names), spec)

    def _held_out(self) -> list[Part]:
        target = self.target
        by_source, by_method = held_out_tables(self.per_source, self.summaries, target)
        long = pd.concat([table.assign(method=m) for m, table in self.per_source.items()])
        summaries = pd.DataFrame(list(self.summaries))
        return [
            Part("methods", summaries, by_method, formats_of(by_method, digits=target.digits)),
            Part("held_out", long, by_source, formats_of(by_source, digits=target.digits)),
        ]

    def _categories(self, categories: pd.DataFrame) -> Part:
        shown = pd.DataFrame({"category": categories["category"].astype(str)})
        numbers = ("estimate", "lower", "upper")
        for name in numbers:
            shown[name] = self.target.scale * categories[name].astype(float)
        spec = dict.fromkeys(numbers, self.target.format)
        return Part("categories", categories, shown, spec)


def held_out_tables(
    per_source: Mapping[str, pd.DataFrame], summaries: Sequence[Mapping[str, Any]], target: Target
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Lay out a `source_table` and a `method_table` in the unit of a target."""
    by_source = source_table(
        per_source, target=target.name, scale=target.scale, digits=target.digits
    )
    return by_source, method_table(summaries, scale=target.scale)
