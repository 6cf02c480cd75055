"""Compare all methods on score tables: one row a method, one column a source, and a paired test.

Takes work dirs of estimate-map (or their scores.parquet); every source is left out in turn.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from autoeval.estimation.bench import Bench
    from autoeval.targets import Target


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    from autoeval.estimation.methods import compared_methods

    parser.add_argument("scores", nargs="+", type=Path, metavar="SCORES", help="work dir or file")
    parser.add_argument(
        "--method", nargs="+", metavar="NAME", default=list(compared_methods()), help="default: all"
    )
    parser.add_argument("--target", default="mAP", metavar="NAME", help="such as mAP50 or mAP/car")
    parser.add_argument("--level", type=float, default=0.9, help="of the intervals (%(default)s)")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("work_dirs/bench"),
        metavar="DIR",
        help="for bench.md and a CSV file a table (%(default)s)",
    )


def run(args: argparse.Namespace) -> int:
    """Judge every method on every table; print and write."""
    from autoeval.estimation.bench import bench
    from autoeval.runtime.files import write_text
    from autoeval.runtime.writers import write_table
    from autoeval.studies.score_columns import read_scores
    from autoeval.targets import find_target

    target = find_target(args.target)
    tables = {_name(path): read_scores(path) for path in args.scores}
    parts, results = [], []
    for name, table in tables.items():
        result = bench(table, args.method, target=target.name, level=args.level)
        text, cells = _part(name, table, result, target)
        parts.append(text)
        results.append(result)
        write_table(args.out / f"{name}.csv", cells)
    if len(tables) > 1:
        parts.append(_overall(results, target, args.level))
    text = "\n\n".join(parts) + "\n"
    write_text(args.out / "bench.md", text)
    print(text)
    print(f"written: {args.out / 'bench.md'} and {len(tables)} CSV files")
    return 0


def _name(path: Path) -> str:
    return path.name if path.is_dir() else f"{path.parent.name}_{path.stem}"


def _part(
    name: str, table: pd.DataFrame, result: Bench, target: Target
) -> tuple[str, pd.DataFrame]:
    from autoeval.report.tables import format_cells, to_markdown
    from autoeval.results.bench_table import bench_formats, bench_table

    errors = {
        method: dict(zip(held.per_source["source"], held.per_source["error"], strict=True))
        for method, held in result.results.items()
    }
    summaries = {method: held.summary() for method, held in result.results.items()}
    cells = bench_table(errors, summaries, result.coverage, result.p_values(), scale=target.scale)
    formats = bench_formats(cells, digits=target.digits)
    repeats = table["repeat"].nunique()
    sets = table[table["repeat"] == table["repeat"].min()].groupby("kind").size()
    head = (
        f"## {name}: held-out error of {target.title}\n\n"
        f"{table['source'].nunique()} sources, {sets.get('sample', 0)} sample sets, {repeats} "
        "dropout repeats. By source: mean absolute error over the repeats. Coverage: share of "
        "(source, repeat) inside the interval. p: exact sign-flip test, paired by source, against "
        f"the best published score, `{result.baseline}`."
    )
    absent = [f"- `{method}`: {reason}" for method, reason in result.absent.items()]
    missing = ["Not judged:\n\n" + "\n".join(absent)] if absent else []
    table_text = to_markdown(format_cells(cells, formats))
    return "\n\n".join([head, table_text, *missing]), cells


def _overall(results: Sequence[Bench], target: Target, level: float) -> str:
    """Pool coverage and error over all tables, for the methods that all of them have."""
    import numpy as np
    import pandas as pd

    from autoeval.report.tables import format_cells, to_markdown

    shared = [m for m in results[0].results if all(m in result.results for result in results)]
    rows = []
    for method in shared:
        counts = np.array([len(result.errors(method)) for result in results])
        coverage = np.array([result.coverage[method] for result in results])
        errors = np.concatenate([result.errors(method) for result in results])
        rows.append(
            {
                "method": method,
                "mean abs. error": target.scale * np.nanmean(errors),
                "coverage %": 100 * np.average(coverage, weights=counts),
                "held-out sources": int(counts.sum()),
            }
        )
    table = pd.DataFrame(rows).sort_values("mean abs. error", kind="stable")
    cells = format_cells(table, {"mean abs. error": target.format, "coverage %": "{:.0f}"})
    return f"## All tables together (nominal coverage {level:.0%})\n\n{to_markdown(cells)}"
