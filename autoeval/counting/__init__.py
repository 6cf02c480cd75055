"""Measures of counting: counters, binned evaluation, PrACo and CAPTURe, each in two modes."""

from __future__ import annotations

DEFAULT_MODE = "paper"
MEANING = {
    "paper": "the formulas as printed",
    "released": "as the authors' code computes, which made the printed figures",
}
MODES = tuple(MEANING)


def mode_line(mode: str) -> str:
    """Say in one sentence how figures were measured.

    Parameters
    ----------
    mode : {"paper", "released"}
    """
    return f"Measured in the mode {mode}: {MEANING[mode]}."
