"""A comparison in Markdown, for the summary of a pull request."""

from __future__ import annotations

from autoeval.comparison.comparison import Comparison
from autoeval.report.tables import counted, format_cells, to_markdown
from autoeval.report.warning_lines import MOST, warning_lines
from autoeval.results.comparison import Pairwise


def comparison_markdown(result: Comparison, first: str, points: float | None = None) -> str:
    """Write the differences with their intervals, and whether a release gate lets pass.

    first: detector that must not be worse than another by `points` of 100, where these are given.
    """
    images = counted(result.n_images, "image")
    labelled = f", {result.n_labelled} of them labelled" if result.n_labelled else ""
    parts = [f"### {', '.join(result.detectors)}: {result.target} on {images}{labelled}"]
    if points is not None:
        why = result.worse_by(first, points)
        verdict = f"**failed**: {why}" if why else "**passed**"
        parts.append(
            f"Release gate ({first} worse than another by more than {points:g} points): {verdict}"
        )
    _, differences = Pairwise(result).parts()
    shown = format_cells(differences.for_people, differences.formats)
    caption = (
        f"Differences of {result.target} in points of 100, a less b, with their "
        f"{result.level:.0%} intervals. One that contains 0 may be noise."
    )
    parts += [caption, to_markdown(shown)]
    warnings = warning_lines(result.warnings, MOST)
    parts += ["```text\n" + "\n".join(warnings) + "\n```"] if warnings else []
    return "\n\n".join(parts) + "\n"
