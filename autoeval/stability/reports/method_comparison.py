"""Errors of methods on sources left out, their means and significance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from autoeval.accuracy.measures import Target, find_target
from autoeval.report.fit import METHOD_FORMATS, method_rows
from autoeval.report.page import format_cells, to_markdown
from autoeval.runtime.files import write_table, write_text
from autoeval.stability.methods.leave_one_out import BenchResult, bench
from autoeval.stability.methods.score_rows import of_category, of_labelled_sources


@dataclass(frozen=True)
class MethodComparison:
    """Every method on every score table.

    Parameters
    ----------
    text : str
        As Markdown.
    tables : mapping of str to DataFrame
        The `_bench_table` of each score table.
    """

    text: str
    tables: Mapping[str, pd.DataFrame]

    def write(self, folder: Path) -> list[Path]:
        """Write ``bench.md`` and a CSV file for each table; return them.

        Parameters
        ----------
        folder : Path
            Made if it is missing.
        """
        write_text(folder / "bench.md", self.text)
        written = [write_table(folder / f"{name}.csv", t) for name, t in self.tables.items()]
        return [folder / "bench.md", *written]


def compare_methods(
    scores: Mapping[str, pd.DataFrame],
    methods: Sequence[str],
    *,
    target: str = "mAP",
    level: float = 0.9,
) -> MethodComparison:
    """Cross-validate over groups of sources, for every method and every score table.

    Parameters
    ----------
    scores : mapping of str to DataFrame
        Score tables by name.
    methods : sequence of str
        See `make_method`.
    target : str
        Column of the accuracy; that of a category is estimated by its own scores.
    level : float
        Nominal coverage of the intervals.
    """
    described = find_target(target)
    parts, results, tables = [], [], {}
    for name, table in scores.items():
        rows, plain = of_category(table, target)
        result = bench(rows, methods, target=plain, level=level)
        evaluated = of_labelled_sources(rows, plain)
        text, tables[name] = _part(name, evaluated, result, described)
        parts.append(text)
        results.append(result)
    shared = [m for m in results[0].results if all(m in result.results for result in results)]
    if len(scores) > 1 and shared:
        parts.append(_overall(results, shared, described, level))
    return MethodComparison("\n\n".join(parts) + "\n", tables)


def _bench_table(result: BenchResult, target: Target) -> pd.DataFrame:
    """Lay methods out, one row each, the lowest mean error first."""
    held = list(result.results.values())
    whole = method_rows([method.summary() for method in held], target)
    whole = whole.drop(columns=["score R²", "score ρ", "coverage %"])
    errors = [method.per_source.set_index("source")["error"] for method in held]
    by_source = pd.DataFrame([dict(target.scale * by_method) for by_method in errors])
    coverage = [100 * result.coverage[method.method] for method in held]
    whole.insert(len(whole.columns) - 1, "coverage %", coverage)
    p_values = result.p_values()
    whole["p"] = [p_values[method.method] for method in held]
    table = pd.concat([whole[["method"]], by_source, whole.drop(columns="method")], axis=1)
    return table.sort_values("mean abs. error", kind="stable", ignore_index=True)


def _part(
    name: str, table: pd.DataFrame, result: BenchResult, target: Target
) -> tuple[str, pd.DataFrame]:
    cells = _bench_table(result, target)
    formats = {name: target.format for name in cells if name != "method"}
    formats |= {**METHOD_FORMATS, "p": "{:.3f}"}
    repeats = table["repeat"].nunique()
    sets = table[table["repeat"] == table["repeat"].min()].groupby("kind").size()
    head = (
        f"## {name}: held-out error of {target.title}\n\n"
        f"{table['source'].nunique()} sources, {sets.get('sample', 0)} sample sets, {repeats} "
        "dropout repeats. By source: mean absolute error over the repeats. Coverage: share of "
        "(source, repeat) inside the interval. p: sign-flip test, paired by group of "
        f"sources, against the best published score, `{result.baseline}`."
    )
    absent = [f"- `{method}`: {reason}" for method, reason in result.absent.items()]
    missing = ["Not evaluated:\n\n" + "\n".join(absent)] if absent else []
    table_text = to_markdown(format_cells(cells, formats))
    return "\n\n".join([head, table_text, *missing]), cells


def _overall(
    results: Sequence[BenchResult], shared: Sequence[str], target: Target, level: float
) -> str:
    """Pool coverage and error over all tables, for the methods that all of them have.

    Each group counts once in the error, as in each table.
    """
    rows = []
    for method in shared:
        counts = np.array([len(result.errors(method)) for result in results])
        coverage = np.array([result.coverage[method] for result in results])
        known = np.isfinite(coverage)  # three sources give no interval
        inside = np.average(coverage[known], weights=counts[known]) if known.any() else np.nan
        errors = np.concatenate([result.by_group(method) for result in results])
        rows.append(
            {
                "method": method,
                "mean abs. error": target.scale * np.nanmean(errors),
                "coverage %": 100 * inside,
                "held-out sources": int(counts.sum()),
            }
        )
    table = pd.DataFrame(rows).sort_values("mean abs. error", kind="stable")
    cells = format_cells(table, {"mean abs. error": target.format, "coverage %": "{:.0f}"})
    return f"## All tables together (nominal coverage {level:.0%})\n\n{to_markdown(cells)}"
