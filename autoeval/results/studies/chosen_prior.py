"""Which scores and which prior: what was chosen without each detector, and what it is worth."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from textwrap import fill

import pandas as pd
from matplotlib.figure import Figure

from autoeval.report.sections import Part
from autoeval.report.study_report import StudyReport
from autoeval.runtime.progress import progress_bar
from autoeval.studies.choosing import (
    START,
    STEPS,
    Choice,
    Evaluated,
    check_families,
    mean_loss,
    nested,
    with_option,
)

ALL = "none left out"
FIGURES = ("error", "by_pair", "half_width", "coverage")
ABOUT = (
    "Every evaluation leaves out the families that it evaluates. Options are taken one after the "
    "other, each time the one with the least weighted interval score (Bracher et al. 2021), "
    "relative to that of a first guess. What is chosen on the other detectors is evaluated on the "
    "one that was left out; its figures are means over ways and categories, in points, coverage in "
    "per cent."
)


def choose_report(
    tables: Mapping[str, pd.DataFrame],
    steps: Mapping[str, Sequence] = STEPS,
    *,
    draws: int = 2,
    seed: int = 0,
) -> StudyReport:
    """Choose scores and prior without each detector, evaluate them on it, and choose on all.

    Raises
    ------
    InputError
        If a table holds places of fewer than three families.
    """
    check_families(tables)
    with progress_bar(None, "settings choices", unit="choice") as bar:
        choices, evaluated = nested(tables, steps=steps, advance=bar.update, draws=draws, seed=seed)
        options = pd.DataFrame(_options(tables, choices[""], evaluated, steps))
    chosen = pd.DataFrame([_chosen(name or ALL, choice, steps) for name, choice in choices.items()])
    worth = pd.DataFrame(_worth(tables, choices, evaluated))
    parts = [
        Part("choose", chosen, chosen),
        Part("choose_worth", worth, _points(worth)),
        Part("choose_options", options, options.round(3)),
    ]
    title = "Scores and prior, chosen on some detectors and evaluated on another"
    return StudyReport("choose", title, ABOUT, _figure(options), parts)


def _chosen(left_out: str, choice: Choice, steps: Mapping[str, Sequence]) -> dict[str, str]:
    return {"left out": left_out, **{step: _told(choice, step) for step in steps}}


def _told(choice: Choice, step: str) -> str:
    value = choice.features if step == "features" else getattr(choice.prior, step)
    return ", ".join(map(str, value)) if isinstance(value, tuple) else f"{value:g}"


def _worth(
    tables: Mapping[str, pd.DataFrame], choices: Mapping[str, Choice], evaluated: Evaluated
) -> Iterator[dict]:
    """Yield the figures of each detector by the first guess, by what others chose and by all."""
    base = evaluated(START)
    for detector in tables:
        for by, choice in (
            ("the first guess", START),
            ("chosen without it", choices.get(detector)),
            ("chosen on all", choices[""]),
        ):
            if choice is None:
                continue
            table = evaluated(choice)
            own = table[table["detector"] == detector]
            loss = mean_loss(table, base, [detector])
            yield {"detector": detector, "by": by, "loss": loss, **own[list(FIGURES)].mean()}


def _options(
    tables: Mapping[str, pd.DataFrame],
    best: Choice,
    evaluated: Callable[[Choice], pd.DataFrame],
    steps: Mapping[str, Sequence],
) -> Iterator[dict]:
    """Yield the loss of every option beside the best choice, all else being chosen."""
    base = evaluated(best)
    for step, options in steps.items():
        for option in options:
            choice = with_option(best, step, option)
            table = evaluated(choice)
            losses = {name: mean_loss(table, base, [name]) for name in tables}
            yield {"step": step, "option": _told(choice, step), **losses}


def _points(worth: pd.DataFrame) -> pd.DataFrame:
    scaled = worth.assign(**{name: (100 * worth[name]).round(1) for name in FIGURES})
    return scaled.assign(loss=worth["loss"].round(3)).rename(columns=lambda c: c.replace("_", " "))


def _figure(options: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(9, 0.26 * len(options) + 1), layout="constrained")
    axes = figure.subplots()
    names = [fill(name, 60) for name in options["step"] + ": " + options["option"]]
    for detector in options.columns.drop(["step", "option"]):
        axes.plot(options[detector], range(len(options)), "o", ms=4, label=detector)
    axes.set_yticks(range(len(options)), names, fontsize=7)
    axes.axvline(1, color="0.4", lw=1)
    axes.invert_yaxis()
    axes.set_xlabel("loss, relative (less is better)")
    axes.legend()
    return figure
