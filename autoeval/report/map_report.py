"""The report of an estimator: tables, a scatter plot and a page, each also as a plain file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from autoeval.report.held_out import formats_of, method_table, source_table
from autoeval.report.page import Page
from autoeval.report.scatter import RegressionBand, plot_scatter
from autoeval.report.tables import format_cells, to_markdown
from autoeval.runtime.files import atomic_path, write_text


@dataclass(frozen=True)
class MapReport:
    """What a report shows.

    Parameters
    ----------
    title : str
    points : DataFrame
        Score table; see `plot_scatter`.
    x, y : str
        Its columns for the scatter plot.
    per_source : mapping of method to DataFrame
        Held-out results; see `source_table`. Empty where there are none.
    summaries : sequence of mapping
        See `method_table`.
    band : RegressionBand, optional
    headline : mapping, optional
        An estimate: keys ``value``, ``lower``, ``upper``, ``level``, ``guards``, ``n_images``, and
        ``x``, where it lies in the scatter plot.
    facts : mapping of str to str
        What was run.
    problems : sequence of str
        What was left out.
    """

    title: str
    points: pd.DataFrame
    x: str
    y: str
    per_source: Mapping[str, pd.DataFrame]
    summaries: Sequence[Mapping[str, Any]]
    band: RegressionBand | None = None
    headline: Mapping[str, Any] | None = None
    facts: Mapping[str, str] = field(default_factory=dict)
    problems: Sequence[str] = ()

    def write(self, folder: Path) -> list[Path]:
        """Write ``scatter.png``, ``held_out.md``, ``held_out.csv`` and ``report.html``.

        Returns
        -------
        list of Path
            The files written.
        """
        figure = self.figure()
        written = [folder / "scatter.png", folder / "report.html"]
        with atomic_path(written[0]) as temporary:
            figure.savefig(temporary, dpi=150)
        self._page(figure).write(written[1])
        if self.per_source:
            written += [folder / "held_out.md", folder / "held_out.csv"]
            write_text(written[2], self.markdown())
            with atomic_path(written[3]) as temporary:
                long = [table.assign(method=m) for m, table in self.per_source.items()]
                pd.concat(long).to_csv(temporary, index=False)
        return written

    def figure(self) -> Figure:
        """Draw the scatter plot."""
        star = None
        if self.headline is not None:
            star = (self.headline["x"], self.headline["value"], "estimate")
        axes = plot_scatter(self.points, x=self.x, y=self.y, band=self.band, highlight=star)
        axes.set_title(self.title, fontsize=11)
        figure = axes.figure
        assert isinstance(figure, Figure)
        return figure

    def markdown(self) -> str:
        """Return the held-out tables as Markdown."""
        tables = (source_table(self.per_source), method_table(self.summaries))
        cells = [to_markdown(format_cells(table, formats_of(table))) for table in tables]
        return "\n\n".join(cells) + "\n"

    def _page(self, figure: Figure) -> Page:
        page = Page(self.title)
        if self.headline is not None:
            low, high, level = (self.headline[k] for k in ("lower", "upper", "level"))
            value = f"{100 * self.headline['value']:.1f}"
            around = f"{level:.0%} interval {100 * low:.1f} to {100 * high:.1f}"
            page.add_headline(f"Estimated {self.y}", value, around if low == low else "no interval")
            page.add_headline("Images", str(self.headline["n_images"]))
            page.add_warnings(self.headline["guards"])
        page.add_figure(
            figure,
            f"{self.y} against {self.x}: a point is a sample set, ringed: the "
            "source's own images; line: regression, grey: prediction interval",
        )
        if self.per_source:
            by_source, by_method = source_table(self.per_source), method_table(self.summaries)
            caption = "Each source left out in turn, in points of 100"
            page.add_table(by_source, caption, formats=formats_of(by_source))
            caption = "Methods over all held-out sources"
            page.add_table(by_method, caption, formats=formats_of(by_method))
        else:
            page.add_text(
                "Fewer than three sources: nothing can be left out, so nothing is known "
                "of the error on a new source."
            )
        page.add_warnings(self.problems)
        facts = pd.DataFrame({"what": list(self.facts), "value": list(self.facts.values())})
        page.add_table(facts, "What was run", sortable=False)
        return page
