"""What `autoeval estimate` prints and writes, and what labels of some of the images add."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from autoeval.commands.next_step import ESTIMATOR, after_estimate
from autoeval.errors import InputError
from autoeval.labels import PLAN

if TYPE_CHECKING:
    from autoeval.commands.command_line import Given
    from autoeval.estimation.estimate import Estimate
    from autoeval.estimation.estimator import AccuracyEstimator
    from autoeval.labels.labelled_estimate import LabelledEstimate
    from autoeval.report.page import Page
    from autoeval.runtime.files import PathLike


@contextmanager
def around(given: Given) -> Iterator[None]:
    """Refuse, before a detector is run, labels that are not there or that a plan drew."""
    labels, words = given.values["labels"], given.values["words"]
    if words and not labels:
        raise InputError("--words goes with --labels: give that, too, or leave it out.")
    if labels and not Path(labels).exists():
        raise InputError(f"No labels {labels}: check the path.")
    folder = Path(labels or "").parent
    if labels and (folder / PLAN).exists():
        raise InputError(
            f"{labels} lies in the folder of a plan, which did not draw images at random: "
            f"`autoeval label estimate --plan {folder} --labels {labels}` reads it as drawn."
        )
    yield


def show(
    estimate: Estimate,
    given: Given,
    *,
    labels: str | None = None,
    words: Mapping[str, str] | None = None,
    export: str | None = None,
    work_dir: PathLike = "work_dirs/estimate",
    json: bool = False,
    verbose: bool = False,
) -> int:
    """Print an estimate with its interval, and write its page.

    Parameters
    ----------
    labels : path-like, optional
        Labels of some of the images, COCO, YOLO or VOC, taken as a simple random draw of the images
        (see `label plan`).
    words : mapping of str to str, optional
        Words of the labels that count, where they are not those of the estimator, as
        WORD=CATEGORY,...
    export : path-like, optional
        Folder for CSV of the estimate and the images, and COCO results with both.
    json : bool
        Print the result as JSON.
    verbose : bool
        Print everything.
    """
    from autoeval.api.estimator_paths import load_estimator
    from autoeval.api.site_functions import FIT_HERE
    from autoeval.report.estimate import (
        estimate_page,
        estimate_text,
        estimate_values,
        site_curve,
    )
    from autoeval.report.estimate import export as export_to
    from autoeval.report.text import print_result

    folder, typed = Path(work_dir), given.values
    fits_here = typed["fit_labels"] is not None
    path = folder / FIT_HERE if fits_here else typed["estimator"] or ESTIMATOR
    estimator = load_estimator(path).for_target(estimate.target)
    facts = site_facts(given, estimator, estimator=path, labels=labels)
    title = f"Estimate on {Path(typed['predictions'] or typed['images']).name}"
    of_fit = () if fits_here else estimator.looks_.warnings
    draw: Callable[[], Page]
    if labels:
        from autoeval.report.labels import unplanned_page, unplanned_text, unplanned_values

        labelled = _with_labels(estimator, estimate, labels, words, given)
        text = unplanned_text(labelled, estimate, estimator, verbose=verbose, of_fit=of_fit)
        values = unplanned_values(labelled, estimate, estimator, facts)
        draw = partial(unplanned_page, title, labelled, estimate, estimator, facts)
        step = ""
    else:
        curve = site_curve(estimate, estimator)
        text = estimate_text(estimate, estimator, curve=curve, verbose=verbose, of_fit=of_fit)
        values = estimate_values(estimate, estimator, curve=curve, about=facts)
        draw = partial(estimate_page, title, estimator, estimate, curve=curve, about=facts)
        step = after_estimate(given, path, estimator, estimate)
    print_result(
        text,
        values,
        folder,
        draw,
        as_json=json,
        more=lambda: export_to(Path(export), estimate) if export else [],
        next_step=("images to label", step),
    )
    if fits_here and not typed["trained_here"] and not json:
        print("\nwas the detector trained on images like the labelled ones? add --trained-here")
    return 0


def site_facts(given: Given, fitted: AccuracyEstimator, **more: object) -> dict[str, str]:
    """Return what the page of a site says of what was typed; see `autoeval.report.text.about`."""
    from autoeval.report.text import about

    typed, spec = given.values, fitted.loading_.get("detector") or {}
    return about(
        given.command_line,
        images=typed["images"],
        predictions=typed["predictions"],
        detector=typed["detector"] or spec.get("name"),
        checkpoint=typed["checkpoint"] or spec.get("checkpoint"),
        **more,
    )


def _with_labels(
    estimator: AccuracyEstimator,
    estimate: Estimate,
    labels: str,
    words: Mapping[str, str] | None,
    given: Given,
) -> LabelledEstimate:
    """Estimate from labels that no plan drew, as a simple random sample."""
    from autoeval.estimation.given import read_labels
    from autoeval.estimation.label_planning import Draw, plan_estimated
    from autoeval.labels.labelled_estimate import estimate_with_labels

    content, score_thr = read_labels(labels, given.values["img_dir"]), given.values["score_thr"]
    assert estimate.site is not None
    if len(content.images) >= len(
        estimate.site
    ):  # where all images have labels, nothing has to be predicted of any
        plan = plan_estimated(estimator, estimate, Draw(1, predicted=False))
        labelled = estimate_with_labels(
            plan, content, words=words, planned=False, score_thr=score_thr
        )
        if labelled.n_labelled == labelled.n_pool:
            return labelled
    plan = plan_estimated(estimator, estimate, Draw(1))
    return estimate_with_labels(plan, content, words=words, planned=False, score_thr=score_thr)
