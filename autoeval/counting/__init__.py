"""Measures of counting: counters, binned evaluation, PrACo and CAPTURe, each in two modes."""

from __future__ import annotations

MEANING = {
    "paper": "the formulas as printed",
    "released": "as the authors' code computes, which made the printed figures",
}


def mode_line(mode: str) -> str:
    """Say in one sentence how figures were measured.

    Parameters
    ----------
    mode : {"paper", "released"}
    """
    return f"Measured in the mode {mode}: {MEANING[mode]}."
