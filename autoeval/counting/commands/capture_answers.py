"""Score the reading of counts out of free text on a table of answers that a person has read."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autoeval.runtime.files import PathLike


def score_reading(cases: PathLike | None = None) -> None:
    """Score the reading of counts out of free text on a table of answers that a person has read.

    Parameters
    ----------
    cases : path-like, optional
        JSON list of {"kind", "text", "value"}, null for no answer (default: shipped).
    """
    from pathlib import Path

    from autoeval.counting.capture.answers import extract_count
    from autoeval.counting.capture.capture_measures import read_cases, score_extractor
    from autoeval.io.documents import shipped_config
    from autoeval.report.text import format_cells, to_markdown

    path = shipped_config("counting", "capture", "answer_cases.json")
    table, errors = score_extractor(extract_count, read_cases(Path(cases) if cases else path))
    shown = format_cells(table.rename_axis("kind").reset_index(), {"accuracy": "{:.1f}"})
    print(to_markdown(shown))
    for error in errors:
        print(error)
