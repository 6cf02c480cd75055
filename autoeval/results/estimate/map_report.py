"""The report of a fit, of an estimate, or of both: which sections it has, and in which order."""

from __future__ import annotations

from autoeval.estimation.estimator import MapEstimator
from autoeval.estimation.fitting import Fit
from autoeval.report.numerals import counted
from autoeval.report.sections import Report
from autoeval.results.estimate.answer import Answer, star
from autoeval.results.estimate.by_category import ByCategory
from autoeval.results.estimate.doubts import LeftOut, ReasonsForDoubt
from autoeval.results.estimate.new_images import Observed
from autoeval.results.estimate.plotted_scores import LEFT_OUT, scores_to_plot
from autoeval.results.estimate.score_scatter import ScoreScatter
from autoeval.results.estimate.unseen_sources import AtAGlance, UnseenSources
from autoeval.results.estimate.unstable_images import UnstableImages
from autoeval.results.estimate.what_was_run import WhatWasRun, facts, time_table
from autoeval.targets import find_target


def map_report(
    title: str,
    estimator: MapEstimator,
    *,
    detector: str = "",
    fit: Fit | None = None,
    observed: Observed | None = None,
) -> Report:
    """Compose what an estimator has to say, of itself and of unlabelled images.

    Parameters
    ----------
    title : str
        Such as ``"yolox_nano on vehicle"``.
    estimator : MapEstimator
        Fitted.
    detector : str
        Its name, shown among what was run.
    fit : Fit, optional
        How the estimator came about; without it nothing is held out.
    observed : Observed, optional
        What was seen in unlabelled images; without it there is no estimate.

    Returns
    -------
    Report
        ``write`` makes the page and its files, ``text`` is for the terminal, ``to_dict`` for JSON.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = [("a", .5), ("b", .6), ("c", .8)]
    >>> kinds = [("sample", .1), ("seed", 0.)]
    >>> table = pd.DataFrame(
    ...     [
    ...         dict(source=s, sample_set=s + k, kind=k, transforms="", repeat=0, n_images=60,
    ...              bos=v - d, mAP=v - d)
    ...         for s, v in rows for k, d in kinds
    ...     ]
    ... )
    >>> report = map_report("a table of mine", MapEstimator("bos").fit_rows(table))
    >>> report.text()[:58]
    'The estimator missed the mAP of its 3 sources by 0.0 (poin'
    """
    target = find_target(estimator.target)
    held_out = fit.held_out if fit else ()
    estimate = observed.estimate if observed else None
    at = star(estimate, observed.row, LEFT_OUT) if observed and estimate else None
    plotted = scores_to_plot(estimator)
    times = time_table(fit.table if fit else None, observed.row if observed else None)
    sections = [
        Answer(estimate),
        ReasonsForDoubt(estimate, held_out),
        LeftOut(fit.problems if fit else (), observed.row["unreadable"] if observed else ""),
        AtAGlance(held_out),
        ScoreScatter(title, plotted, target, at),
        UnseenSources(held_out, _known_error(estimator)),
        ByCategory(estimate.per_category if estimate else {}, target),
    ]
    if observed:
        sections.append(UnstableImages(observed.table(), observed.thumbnails()))
    sections.append(WhatWasRun(facts(estimator, detector, observed), plotted, target, times))
    return Report(title, sections)


def _known_error(estimator: MapEstimator) -> str:
    """Say what an estimator alone tells of its error on a new source."""
    n_sources = len(estimator.regression_.sources_)
    if not len(estimator.regression_.residuals_):
        return (
            f"{counted(n_sources, 'source')}: too few to leave one out, so the error on a new "
            "source is not known."
        )
    target = find_target(estimator.target)
    error = target.text(float(estimator.regression_.residuals_.mean()))
    return (
        f"The estimator missed the {target.name} of its {n_sources} sources by {error} "
        f"({target.unit}) on average when each was left out; the report of its fit compares it "
        "with other methods."
    )
