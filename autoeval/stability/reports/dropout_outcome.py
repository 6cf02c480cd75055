"""The result of a dropout search: terminal, files and a map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from autoeval.report.page import format_cells, to_markdown, to_terminal
from autoeval.runtime.files import write_figure, write_table, write_text
from autoeval.stability.dropout_search.search import SearchResult
from autoeval.stability.dropout_search.workbench import Workbench
from autoeval.stability.network.forward.dropout_spec import write_dropout_config
from autoeval.stability.passes.presets import scored_settings

NAMED = ("strategy", "position", "stages", "rate", "r2", "r", "executions", "naive")
SHARES = {
    "of naive %": "share",
    "weighted %": "share_weighted",
    "of one clean %": "share_of_shared_clean",
    "weighted of one clean %": "share_weighted_of_shared_clean",
}
SUMMARY_FORMATS = dict.fromkeys(("r2", "r"), "{:.3f}") | dict.fromkeys(SHARES, "{:.1f}")
TABLE_FORMATS = {"rate": "{:g}", "r2": "{:.4f}", "r": "{:.4f}", "share": "{:.3f}"}
LEGEND = """\
Executions count stem, each of the four stages, and neck with head, over all images. Naive: every
dropout measured by itself, with a clean pass and its perturbed passes of the whole network; "of one
clean": the same with a single clean pass for all of them. Weighted: by multiply-adds of each part.\
"""


@dataclass(frozen=True)
class DropoutOutcome:
    """The results of one run of ``search-dropout``; the first's choice is the configuration.

    Parameters
    ----------
    detector, task : str
        Their names.
    bench : Workbench
        The sample sets, and what was measured on them.
    results : sequence of SearchResult
        One for each strategy.
    """

    detector: str
    task: str
    bench: Workbench
    results: Sequence[SearchResult]

    def text(self, written: Sequence[Path]) -> str:
        """Return what the terminal shows.

        Parameters
        ----------
        written : sequence of Path
            Files to name.
        """
        table = to_terminal(format_cells(self._summary(), SUMMARY_FORMATS))
        files = "\n".join(f"  {path}" for path in written)
        return f"{self._sizes()}\n\n{table}\n\n{LEGEND}\n\nwritten:\n{files}"

    def write(self, folder: Path, config: Path) -> list[Path]:
        """Write the table and the heat map of each strategy, a summary, and the configuration.

        Parameters
        ----------
        folder : Path
            Where all but the configuration goes.
        config : Path
            The file with the dropout that the first strategy chose.

        Returns
        -------
        list of Path
            The files.
        """
        written = []
        for result in self.results:
            for kind in ("parquet", "csv"):
                path = folder / f"{result.strategy}.{kind}"
                write_table(path, result.table)
                written.append(path)
            path = folder / f"{result.strategy}.md"
            write_text(path, to_markdown(format_cells(result.table, TABLE_FORMATS)) + "\n")
            written.append(path)
            path = folder / f"{result.strategy}.png"
            figure = plot_dropout_search(
                result.table, score=self.bench.score, target=self.bench.target
            )
            written.append(write_figure(path, figure, dpi=110))
        summary = to_markdown(format_cells(self._summary(), SUMMARY_FORMATS))
        write_text(folder / "summary.md", f"{self._sizes()}\n\n{summary}\n\n{LEGEND}\n")
        write_dropout_config(config, self.results[0].choice.best, self._search())
        return [*written, folder / "summary.md", config]

    def _summary(self) -> pd.DataFrame:
        summaries = [result.summary for result in self.results]
        shares = {
            title: [100 * summary[name] for summary in summaries] for title, name in SHARES.items()
        }
        return pd.DataFrame(summaries, columns=list(NAMED)).assign(**shares)

    def _sizes(self) -> str:
        bench = self.bench
        used = bench.usable()
        sources = {bench.sample_sets[number].columns["source"] for number in used}
        return (
            f"{self.detector} on {self.task}: R² between {bench.score} and {bench.target} over "
            f"{len(used)} sample sets of {len(sources)} sources, {bench.sizes[used].sum()} images, "
            f"{len(bench.specs)} dropouts"
        )

    def _search(self) -> dict:
        first, bench = self.results[0], self.bench
        named = list(scored_settings(bench.observer).stages)
        return {
            "detector": self.detector,
            "fingerprint": bench.observer.detector.fingerprint,
            **({"named_stages": named} if named else {}),
            "task": self.task,
            "strategy": first.strategy,
            "score": bench.score,
            "target": bench.target,
            "r2": round(first.choice.r2, 4),
            "sources": sorted(
                {bench.sample_sets[number].columns["source"] for number in bench.usable()}
            ),
            "n_sample_sets": len(bench.usable()),
            "n_images": int(bench.sizes[bench.usable()].sum()),
        }


def plot_dropout_search(table: pd.DataFrame, *, score: str = "bos", target: str = "mAP") -> Figure:
    """Draw the result of a dropout search (Yang et al. 2024, figure 3 a and b).

    Parameters
    ----------
    table : DataFrame
        See `SearchResult.table`.
    score, target : str
        Names for the titles.
    """
    figure = Figure(figsize=(11, 8.5), layout="constrained")
    axes = figure.subplot_mosaic([["map", "map"], ["a", "b"]], height_ratios=[1.6, 1])
    best = table.iloc[0]
    grid = table.pivot(index="stages", columns="rate", values="r2")
    grid = grid.loc[sorted(grid.index, key=lambda stages: (len(stages), stages))]
    shares = table.pivot(index="stages", columns="rate", values="share").reindex(grid.index)
    _draw_map(axes["map"], grid, shares.to_numpy(), best)
    axes["map"].set_title(f"R² between {score} and {target} over sample sets")
    _draw_cut(axes["a"], grid[best["rate"]], best["stages"])
    axes["a"].set(xlabel="dropped stages", title=f"(a) at rate {best['rate']:g}")
    axes["a"].tick_params(axis="x", rotation=60)
    _draw_cut(axes["b"], grid.loc[best["stages"]], best["rate"])
    axes["b"].set(xlabel="rate", title=f"(b) at stages [{best['stages']}]")
    axes["b"].tick_params(axis="x", rotation=60)
    return figure


def _draw_map(ax: Axes, grid: pd.DataFrame, shares: np.ndarray, best: pd.Series) -> None:
    image = ax.imshow(grid, aspect="auto", cmap="viridis", vmin=0, vmax=1)
    ax.figure.colorbar(image, ax=ax, label="R²", pad=0.01)
    ax.set_xticks(range(grid.shape[1]), [f"{rate:g}" for rate in grid.columns])
    ax.set_yticks(range(grid.shape[0]), [f"[{stages}]" for stages in grid.index])
    ax.set(xlabel="rate", ylabel="dropped stages")
    rows, columns = np.nonzero(shares < 1)
    ax.scatter(columns, rows, s=6, color="white", lw=0)
    at = grid.columns.get_loc(best["rate"]), grid.index.get_loc(best["stages"])
    corner = (at[0] - 0.5, at[1] - 0.5)
    ax.add_patch(Rectangle(corner, 1, 1, fill=False, ec="red", lw=2.5))


def _draw_cut(ax: Axes, values: pd.Series, at: object) -> None:
    names = [f"{name:g}" if isinstance(name, float) else f"[{name}]" for name in values.index]
    colors = ["tab:red" if name == at else "tab:blue" for name in values.index]
    ax.bar(names, values, color=colors)
    ax.set(ylim=(0, 1), ylabel="R²")
    ax.grid(axis="y", alpha=0.25)
