"""Compare all methods on score tables: one row a method, one column a source, and a paired test."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from autoeval.errors import InputError

if TYPE_CHECKING:
    from autoeval.runtime.files import PathLike


def bench(
    scores: Sequence[PathLike],
    *,
    method: Sequence[str] = (),
    target: str = "mAP",
    level: float = 0.9,
    work_dir: PathLike = "work_dirs/bench",
) -> None:
    """Compare all methods on score tables: one row a method, one column a source, a paired test.

    Compares by leave-one-group-out cross-validation.

    Parameters
    ----------
    scores : sequence of path-like
        Work dirs of estimate-map, or their scores.parquet.
    method : sequence of str
        Methods (default: all).
    target : str
        What is estimated, such as mAP50, or mAP/car by the scores of that category.
    level : float
        Nominal coverage of the intervals.
    work_dir : path-like
        For bench.md and a CSV file a table.
    """
    from autoeval.report.page import written_files
    from autoeval.stability.methods import compared_methods
    from autoeval.stability.methods.score_rows import read_scores
    from autoeval.stability.reports.method_comparison import compare_methods

    paths = [Path(path) for path in scores]
    places = [path.resolve() for path in paths]  # "." has no name
    files = [at / "scores.parquet" if at.is_dir() else at for at in places]
    names = [at.name if at.is_dir() else f"{at.parent.name}_{at.stem}" for at in places]
    if len(set(names)) < len(names):  # folders of one name in several
        names = ["_".join(path.with_suffix("").parts).lstrip("/_") for path in paths]
    if min(len(set(files)), len(set(names))) < len(paths):
        raise InputError(f"The same score table was given twice: {', '.join(map(str, paths))}.")
    tables = {name: read_scores(path) for name, path in zip(names, paths, strict=True)}
    methods = list(method) or list(compared_methods())
    comparison = compare_methods(tables, methods, target=target, level=level)
    print(f"{comparison.text}\n{written_files(comparison.write(Path(work_dir)))}")
