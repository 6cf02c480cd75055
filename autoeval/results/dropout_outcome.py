"""What a dropout search has to tell: on the terminal and as files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from autoeval.estimation.dropout_search.dropout_file import write_dropout_config
from autoeval.estimation.dropout_search.search import SearchResult
from autoeval.estimation.dropout_search.workbench import Workbench
from autoeval.report.tables import format_cells, to_markdown, to_terminal
from autoeval.results.dropout_map import plot_dropout_search
from autoeval.runtime.files import write_text
from autoeval.runtime.writers import write_figure, write_table

SUMMARY_FORMATS = {
    "r2": "{:.3f}",
    "r": "{:.3f}",
    "of naive %": "{:.1f}",
    "weighted %": "{:.1f}",
    "of one clean %": "{:.1f}",
    "weighted of one clean %": "{:.1f}",
}
TABLE_FORMATS = {"rate": "{:g}", "r2": "{:.4f}", "r": "{:.4f}", "share": "{:.3f}"}
LEGEND = """\
Executions count stem, each of the four stages, and neck with head, over all images. Naive: every
dropout measured by itself, with a clean pass and its perturbed passes of the whole network; "of one
clean": the same with a single clean pass for all of them. Weighted: by multiply-adds of each part.\
"""


@dataclass(frozen=True)
class DropoutOutcome:
    """The results of one run of ``search-dropout``.

    Parameters
    ----------
    detector : str
    task : str
    bench : Workbench
    results : sequence of SearchResult
        The first one's choice is written as the configuration.
    """

    detector: str
    task: str
    bench: Workbench
    results: Sequence[SearchResult]

    def text(self, written: Sequence[Path]) -> str:
        """Return what the terminal shows."""
        table = to_terminal(format_cells(self._summary(), SUMMARY_FORMATS))
        files = "\n".join(f"  {path}" for path in written)
        return f"{self._sizes()}\n\n{table}\n\n{LEGEND}\n\nwritten:\n{files}"

    def write(self, folder: Path, config: Path) -> list[Path]:
        """Write the table and the heat map of each strategy, a summary, and the configuration."""
        written = []
        for result in self.results:
            written += self._write_table(result, folder)
            path = folder / f"{result.strategy}.png"
            figure = plot_dropout_search(
                result.table, score=self.bench.score, target=self.bench.target
            )
            written.append(write_figure(path, figure, dpi=110))
        summary = to_markdown(format_cells(self._summary(), SUMMARY_FORMATS))
        write_text(folder / "summary.md", f"{self._sizes()}\n\n{summary}\n\n{LEGEND}\n")
        write_dropout_config(config, self.results[0].choice.best, self._found())
        return [*written, folder / "summary.md", config]

    def _write_table(self, result: SearchResult, folder: Path) -> list[Path]:
        paths = [folder / f"{result.strategy}.{kind}" for kind in ("parquet", "csv", "md")]
        for path in paths[:2]:
            write_table(path, result.table)
        write_text(paths[2], to_markdown(format_cells(result.table, TABLE_FORMATS)) + "\n")
        return paths

    def _summary(self) -> pd.DataFrame:
        rows = []
        for summary in (result.summary() for result in self.results):
            named = {name: summary[name] for name in ("strategy", "position", "stages")}
            named |= {name: summary[name] for name in ("rate", "r2", "r", "executions", "naive")}
            shares = (
                "share",
                "share_weighted",
                "share_of_shared_clean",
                "share_weighted_of_shared_clean",
            )
            titles = list(SUMMARY_FORMATS)[2:]
            rows.append(named | {t: 100 * summary[s] for t, s in zip(titles, shares, strict=True)})
        return pd.DataFrame(rows)

    def _sizes(self) -> str:
        bench = self.bench
        used = bench.usable()
        sources = {bench.sample_sets[number].columns["source"] for number in used}
        return (
            f"{self.detector} on {self.task}: R² between {bench.score} and {bench.target} over "
            f"{len(used)} sample sets of {len(sources)} sources, {bench.sizes[used].sum()} images, "
            f"{len(bench.specs)} dropouts"
        )

    def _found(self) -> dict:
        first, bench = self.results[0], self.bench
        return {
            "detector": self.detector,
            "fingerprint": bench.observer.detector.fingerprint,
            "task": self.task,
            "strategy": first.strategy,
            "score": bench.score,
            "target": bench.target,
            "r2": round(first.choice.r2, 4),
            "n_sample_sets": len(bench.usable()),
            "n_images": int(bench.sizes[bench.usable()].sum()),
        }
