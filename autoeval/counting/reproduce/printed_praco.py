"""Tables 1 to 3 of PrACo from prediction files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from autoeval.counting.praco.result import PracoResult
from autoeval.counting.reproduce.praco_models import PracoModels
from autoeval.counting.reproduce.printed_grid import beside, not_as_printed
from autoeval.report.printed_beside import Beside


def praco_table(
    name: str, entry: Mapping[str, Any], models: PracoModels, *, mode: str = "paper"
) -> Beside:
    """Put the measures of models beside those in print.

    Parameters
    ----------
    name : str
        Of the table.
    entry : mapping
        The table in ``configs/papers/praco.py``.
    models : PracoModels
    mode : {"paper", "released"}
        Of the measures.
    """
    own = {
        (model, measure): value
        for model, result in models.results.items()
        for measure, value in result.measures().items()
    }
    notes = [f"{model}: {note}" for model, r in models.results.items() for note in r.notes]
    return beside(name, entry, own, marks=_marks(entry, models.results, mode), notes=notes)


def _marks(entry: Mapping[str, Any], results: Mapping[str, PracoResult], mode: str) -> str:
    counts = {
        model: len(result.images)
        for model, result in results.items()
        if len(result.images) != entry["images"]
    }
    return not_as_printed(
        *(f"{model} on {n} images ({entry['images']} in print)" for model, n in counts.items()),
        "measures as the paper defines them, not as its figures were made"
        if results and mode == "paper"
        else "",
    )
