"""What a PrACo run leaves: page, figures, tables for each model, and text for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from autoeval.counting.filed_page import merged_notes
from autoeval.counting.journal import folder_name
from autoeval.counting.praco.comparing import compare, intervals_of
from autoeval.counting.praco.data import CountingSet
from autoeval.counting.praco.evaluation_page import Panels, notes_on, plus_plus_page, praco_page
from autoeval.counting.praco.evaluation_page import table_of_measures as plus_plus_measures
from autoeval.counting.praco.plus_plus import PlusPlusResult
from autoeval.counting.praco.result import (
    FORMATS,
    PracoResult,
    class_table,
    image_table,
    measures_table,
)
from autoeval.report.tables import format_cells, to_terminal
from autoeval.runtime.writers import write_table


def write_outcome(
    folder: Path,
    results: Sequence[PracoResult],
    counting_set: CountingSet,
    panels: Panels,
    *,
    n_resamples: int = 1000,
) -> str:
    """Write ``report.html`` with its figures and tables, and the tables of each model."""
    notes = data_notes(counting_set)
    for result in results:
        own = folder / folder_name(result.name)
        write_table(own / "per_image.csv", image_table(result))
        write_table(own / "per_class.csv", class_table(result).reset_index())
    praco_page(
        results,
        counting_set,
        intervals={r.name: intervals_of(r, n_resamples=n_resamples) for r in results},
        differences=compare(results, n_resamples=n_resamples),
        panels=panels,
        notes=notes,
    ).write_all(folder)
    said = [*notes, *merged_notes((r.name, r.notes) for r in results)]
    return _text(format_cells(measures_table(results), FORMATS), said)


def write_plus_plus(
    folder: Path,
    results: Sequence[PlusPlusResult],
    counting_set: CountingSet,
    *,
    n_resamples: int = 1000,
) -> str:
    """Do the same for PrACo++; the parameters are those of `write_outcome`."""
    notes = [*data_notes(counting_set), *notes_on(counting_set, results[0].mode)]
    for result in results:
        own = folder / folder_name(result.name)
        write_table(own / "per_image.csv", result.by_image.reset_index())
        write_table(own / "per_class.csv", result.by_class())
        if result.localised is not None:
            write_table(own / "localised.csv", result.localised)
    plus_plus_page(
        results,
        counting_set,
        intervals={r.name: intervals_of(r, n_resamples=n_resamples) for r in results},
        differences=compare(results, n_resamples=n_resamples),
        notes=notes,
    ).write_all(folder)
    said = [*notes, *merged_notes((r.name, r.notes) for r in results)]
    columns = plus_plus_measures(results).set_index("model").T
    columns = columns.rename_axis("measure", axis=0).reset_index()
    return _text(format_cells(columns, {r.name: "{:.3f}" for r in results}), said)


def data_notes(counting_set: CountingSet) -> list[str]:
    """Say what was left out of a set, and why."""
    reasons = pd.Series(dict(counting_set.excluded), dtype=object)
    excluded = [
        f"excluded, {reason}: {len(ids)} images ({', '.join(map(str, ids[:5]))}"
        + (", ...)" if len(ids) > 5 else ")")
        for reason, ids in reasons.groupby(reasons).groups.items()
    ]
    return [*counting_set.problems, *excluded]


def _text(table: pd.DataFrame, notes: Sequence[str]) -> str:
    return "\n".join([to_terminal(table), *(f"note: {note}" for note in notes)])
