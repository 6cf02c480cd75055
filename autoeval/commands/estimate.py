"""What `autoeval fit`, `estimate`, `threshold` and `detect` print and write."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoeval.errors import InputError
from autoeval.labels import PLAN
from autoeval.runtime.files import alone_in, is_json
from autoeval.words import refuse_given

if TYPE_CHECKING:
    from autoeval.boxes import Boxes
    from autoeval.commands.command_line import Invocation
    from autoeval.estimation.estimate import Estimate
    from autoeval.estimation.estimator import AccuracyEstimator
    from autoeval.estimation.threshold_choice import ThresholdChoice
    from autoeval.runtime.files import PathLike

ESTIMATOR = Path("work_dirs/fit/estimator.parquet")  # of a fit, and by default of an estimate
LABELS = Path("work_dirs/labels")  # of a plan, by default
N_LABELS = 20  # images that a plan draws by default
OWN = ("estimator", "work_dir", "seed")
"""Options of `label plan` that every printed command of it has of its own."""


def show_fit(
    estimator: AccuracyEstimator,
    invocation: Invocation,
    *,
    work_dir: PathLike = "work_dirs/fit",
    json: bool = False,
    verbose: bool = False,
) -> int:
    """Print how accurate a fit is on what it has not seen, and write its page.

    Parameters
    ----------
    json : bool
        Print the result as JSON.
    verbose : bool
        Print everything.
    """
    from autoeval.api.fit_functions import seen_in_training, write_fit_outputs
    from autoeval.report.fit import fit_page, fit_text, fit_values
    from autoeval.report.page import PAGE, about, print_result, written_files

    folder, typed = Path(work_dir), invocation.values
    result = estimator.fit_result_
    assert result is not None
    if typed["labels"] and typed["detector"]:
        warnings = tuple(seen_in_training(estimator, typed["labels"], typed["img_dir"]))
        result = replace(result, warnings=(*result.warnings, *warnings))
        estimator = replace(estimator, fit_result_=result)
    facts = about(
        invocation.command_line,
        labels=typed["labels"],
        task=typed["task"],
        joined=", ".join(typed["join"]),
        predictions=typed["predictions"],
        detector=typed["detector"],
        checkpoint=typed["checkpoint"],
    )
    title = f"Joined: {', '.join(Path(path).name for path in typed['join'])}"
    if not typed["join"]:
        boxes = Path(typed["predictions"] or typed["detector"])
        title = f"{boxes.name} on {Path(typed['labels'] or typed['task']).name}"
    name = typed["detector"] or ""
    values = fit_values(estimator, detector=name, about=facts)
    print_result(fit_text(estimator, verbose=verbose), values, as_json=json)
    with alone_in(folder):
        # again: another fit may have written its own into this folder since
        write_fit_outputs(estimator, folder)
        page = fit_page(title, estimator, detector=name, about=facts)
        written = [*result.files, *page.write(folder / PAGE, values)]
    if not json:
        from_files = estimator.loading_.get("detector") is None
        step = after_fit(invocation, folder, from_files=from_files)
        print(f"\n{written_files(written, 'new images', step)}")
    return 0


def after_fit(invocation: Invocation, folder: Path, *, from_files: bool) -> str:
    """Return the command that estimates new images by what a fit wrote; capitals stand for files.

    A fit whose reference detector was given by its boxes needs these of the new images, too.

    Parameters
    ----------
    invocation : Invocation
        What was typed.
    folder : Path
        What the fit wrote.
    from_files : bool
        Whether it read predictions.
    """
    from autoeval.api.options import OF_REFERENCE

    path = folder / ESTIMATOR.name
    # words and numbers of categories are known from the fit, the order of columns is not
    of_files = [
        word for name in ("columns", "incomplete") for word in invocation.words.get(name, ())
    ]
    boxes = ["--predictions", "NEW.json", *of_files] if from_files else []
    named = ["--estimator", path] if path != ESTIMATOR else []
    reference = [word for name in OF_REFERENCE for word in invocation.words.get(name, ())]
    if reference:
        from autoeval.io.predictions.formats import SUFFIXES

        if from_files or reference[1].endswith(SUFFIXES) or Path(reference[1]).is_dir():
            names = invocation.words.get("reference_names", ())
            reference = ["--reference", "REFERENCE.json", *names]
    words = ["autoeval", "estimate", *boxes, "--images", "IMAGES", *named, *reference]
    return shlex.join(map(str, words))


@contextmanager
def around_estimate(invocation: Invocation) -> Iterator[dict[str, Any]]:
    """Refuse, before a detector is run, labels that are not there or that a plan drew.

    Where labels are given, `--img-dir` may be the folder of their images alone; without any, that
    of the images of `--fit-labels`.

    Parameters
    ----------
    invocation : Invocation
        What was typed.

    Raises
    ------
    InputError
        If the labels are missing or those of a plan, or an option is for labels and there are none.
    """
    typed = invocation.values
    labels = typed["labels"]
    of_images = typed["predictions"] is not None or is_json(Path(typed["images"] or ""))
    if not labels:
        refuse_given({"words": typed["words"] or None}, "goes with --labels")
        if not of_images and typed["fit_labels"] is None:
            reason = "goes with --labels, or with a COCO JSON as --images, or with --fit-labels"
            refuse_given({"img_dir": typed["img_dir"]}, reason)
    if labels and not Path(labels).exists():
        raise InputError(f"No labels {labels}: check the path.")
    if labels:
        from autoeval.estimation.given import refuse_planned

        refuse_planned(labels, "label estimate")
    yield {} if of_images or not labels else {"img_dir": None}


def show_estimate(
    estimate: Estimate,
    invocation: Invocation,
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
    from autoeval.api.options import load_estimator
    from autoeval.api.site_functions import FIT_HERE
    from autoeval.report.estimate import estimate_page, estimate_text, estimate_values
    from autoeval.report.estimate import export as export_to
    from autoeval.report.page import PAGE, about, print_result, written_files

    folder, typed = Path(work_dir), invocation.values
    fits_here = typed["fit_labels"] is not None
    path = folder / FIT_HERE if fits_here else typed["estimator"] or ESTIMATOR
    # as `autoeval.estimate` has loaded it, or saved its fit
    estimator = load_estimator(path, typed["target"], typed["score_thr"], typed["iou"])
    facts = about(
        invocation.command_line,
        spec=estimator.loading_.get("detector"),
        images=typed["images"],
        predictions=typed["predictions"],
        detector=typed["detector"],
        checkpoint=typed["checkpoint"],
        estimator=path,
        labels=labels,
    )
    title = f"Estimate on {Path(typed['predictions'] or typed['images']).name}"
    shown: dict[str, Any] = {"verbose": verbose}
    shown["of_fit"] = () if fits_here else estimator.known_looks().warnings
    step = ""
    if labels:
        from autoeval.report.labels import unplanned_page, unplanned_text, unplanned_values

        labelled = estimator.estimate_with_labels(
            estimate, labels, img_dir=typed["img_dir"], words=words, score_thr=typed["score_thr"]
        )
        values = unplanned_values(labelled, estimate, estimator, facts)
        print_result(unplanned_text(labelled, estimate, estimator, **shown), values, as_json=json)
        page = unplanned_page(title, labelled, estimate, estimator, facts)
    else:
        values = estimate_values(estimate, estimator, about=facts)
        print_result(estimate_text(estimate, estimator, **shown), values, as_json=json)
        page = estimate_page(title, estimator, estimate, about=facts)
        step = after_estimate(invocation, path, estimator, estimate)
    written = page.write(folder / PAGE, values)
    written += export_to(Path(export), estimate) if export else []
    if not json:
        print(f"\n{written_files(written, 'images to label', step)}")
        if fits_here and not typed["trained_here"]:
            print("\nwas the detector trained on images like the labelled ones? add --trained-here")
    return 0


def after_estimate(
    invocation: Invocation, path: PathLike, estimator: AccuracyEstimator, estimate: Estimate
) -> str:
    """Return the command that plans labels for the same images, or nothing.

    There is none where the interval needs no labels, where the images came from standard input,
    and where a plan would be refused: it needs what was fitted on enough labelled boxes, and a
    target that labels measure.

    Parameters
    ----------
    invocation : Invocation
        What was typed.
    path : path-like
        Of the estimator.
    estimator : AccuracyEstimator
        That the estimate is by.
    estimate : Estimate
        At a new site.
    """
    from autoeval.accuracy.measures import OperatingPoint
    from autoeval.io.image_lists import STANDARD_INPUT
    from autoeval.labels.values import LEVELS

    measured = estimator.target in LEVELS or OperatingPoint.of(estimator.target) is not None
    if estimator.assistance_ is None or not measured:
        return ""
    typed = invocation.values
    if not estimate.width_warning or typed["images"] == STANDARD_INPUT:
        return ""
    n = min(N_LABELS, estimate.n_images)
    words = ["autoeval", "label", "plan", "--estimator", path]
    of_images = typed["predictions"] is not None or is_json(typed["images"] or "")
    of_fit = typed["fit_labels"] is not None and not of_images
    words += repeated_for_plan(invocation, ["img_dir"] if of_fit else [])
    folder = LABELS
    if LABELS.is_dir():  # it is the folder of this plan, or of another one
        from autoeval.estimation.label_planning import check_plan
        from autoeval.labels.plan_folder import EMPTY, load_plan

        if (LABELS / PLAN).exists():
            try:
                plan = load_plan(LABELS)
                check_plan(plan, estimate, LABELS)
                folder = LABELS if plan.n <= n else unused_folder(LABELS)
            except InputError:
                folder = unused_folder(LABELS)
        elif (LABELS / EMPTY).exists():
            folder = unused_folder(LABELS)
    words += ["--work-dir", folder] if folder != LABELS else []
    return shlex.join(map(str, [*words, *(["--n", n] if n < N_LABELS else [])]))


def repeated_for_plan(invocation: Invocation, but: Collection[str] = ()) -> list[str]:
    """Return the options that were typed and that `label plan` has, too, with their words.

    Parameters
    ----------
    invocation : Invocation
        What was typed.
    but : collection of str
        Parameters that the printed command has of its own, besides `OWN`.
    """
    from autoeval.api.site_functions import plan_labels
    from autoeval.commands.command_line import function_parameters

    shared = function_parameters(plan_labels).keys() - {*OWN, *but}
    typed = invocation.words.items()
    return [word for name, of_option in typed if name in shared for word in of_option]


def unused_folder(folder: Path) -> Path:
    """Return a folder; where it is there, the first ``FOLDER_2``, ``FOLDER_3`` ... that is not.

    Parameters
    ----------
    folder : Path
        The folder.
    """
    names = (folder if k == 1 else folder.with_name(f"{folder.name}_{k}") for k in count(1))
    return next(path for path in names if not path.exists())


def show_threshold(
    choice: ThresholdChoice,
    invocation: Invocation,
    *,
    work_dir: PathLike = "work_dirs/threshold",
    json: bool = False,
    verbose: bool = False,
) -> int:
    """Print the threshold with the curve that it was chosen from, and write its page.

    Parameters
    ----------
    json : bool
        Print the result as JSON.
    verbose : bool
        Print everything.
    """
    from autoeval.api.options import load_estimator
    from autoeval.report.page import PAGE, about, print_result, written_files
    from autoeval.report.threshold import choice_page, choice_text, choice_values

    typed = invocation.values
    names = ("images", "predictions", "labels", "plan", "estimator", "detector")
    facts = about(invocation.command_line, **{name: typed[name] for name in names})
    fitted = typed["estimator"] and load_estimator(typed["estimator"])
    of_fit = fitted.known_looks().warnings if fitted else ()
    values = choice_values(choice, facts)
    print_result(choice_text(choice, verbose=verbose, of_fit=of_fit), values, as_json=json)
    written = choice_page(choice, facts).write(Path(work_dir) / PAGE, values)
    if not json:
        print(f"\n{written_files(written)}")
    return 0


def show_detect(
    boxes: Boxes, invocation: Invocation, *, work_dir: PathLike = "work_dirs/detect"
) -> int:
    """Count the boxes and the images, and name what could not be read.

    Parameters
    ----------
    boxes : Boxes
        What `autoeval.detect` returned.
    invocation : Invocation
        Its values; ``output`` is the file that was written.
    work_dir : path-like
        Not read: the option is that of `autoeval.detect`.
    """
    from autoeval.words import counted, listed

    n_images = len(boxes.images)
    n_empty = n_images - len({*boxes.image.tolist()})
    scores = f", scores {boxes.floor:.3g} to {boxes.scores.max():.3g}" if len(boxes) else ""
    print(
        f"{counted(len(boxes), 'box', 'boxes')} on {counted(n_images, 'image')}, "
        f"{n_empty} of them without a box{scores}"
    )
    lost = boxes.run.unreadable if boxes.run else ()
    if lost:
        print(f"{len(lost)} of {n_images + len(lost)} images could not be read: {listed(lost, 10)}")
    output = invocation.values["output"]
    print(f"written: {output}")
    predictions = f"--predictions {shlex.quote(str(output))}"
    print(f"\nnext step, of labelled images:\n  autoeval fit --labels LABELS {predictions}")
    print(f"next step, of new images:\n  autoeval estimate {predictions}")
    return 0
