"""A comparison in Markdown, for the summary of a pull request."""

from __future__ import annotations

from autoeval.comparison.comparison import Comparison
from autoeval.comparison.gate import Gate
from autoeval.report.tables import escaped_markdown, format_cells, to_markdown
from autoeval.results.comparison import Pairwise
from autoeval.words import MOST, counted, warning_lines


def comparison_markdown(result: Comparison, gate: Gate | None = None) -> str:
    """Write the differences with their intervals, and what a release gate says."""
    images = counted(result.n_images, "image")
    labelled = f", {result.n_labelled} of them labelled" if result.n_labelled else ""
    names = escaped_markdown(", ".join(result.detectors))
    parts = [f"### {names}: {result.target} on {images}{labelled}"]
    if gate is not None:
        first, *losses = str(gate).splitlines()
        parts.append(f"**{escaped_markdown(first)}**")
        parts.append("\n".join(f"- {escaped_markdown(line.strip())}" for line in losses))
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
