"""Count in images with any counter, measure counts, and compare runs on one page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from typing_extensions import Unpack

from autoeval.counting import mode_line
from autoeval.counting.commands.common_options import (
    CounterOptions,
    check_asking,
    check_positive,
    load_counters,
)
from autoeval.errors import InputError
from autoeval.words import refuse_given

if TYPE_CHECKING:
    from autoeval.counting.binning import CountBins
    from autoeval.counting.predictions import CountPredictions
    from autoeval.runtime.files import PathLike


FAILURE = 1


def count_in_images(
    *,
    counter: Sequence[PathLike],
    images: Any,
    every: str | None = None,
    prompt: str = "objects",
    batch_size: int | None = None,
    work_dir: PathLike = "counts",
    **asking: Unpack[CounterOptions],
) -> int:
    """Count in every image with any counter, and write predictions for `autoeval count evaluate`.

    Results are kept one by one in DIR/COUNTER: the same command goes on where it was stopped, and
    asks again only what failed, and images whose files changed. Writes predictions.csv (id, pred,
    status) and, where the counter says where it counts, points.json.

    Parameters
    ----------
    counter : sequence of path-like
        Counter's config, such as configs/counting/praco/yolox_nano.py, or FILE.py:NAME, a function
        NAME(image, prompt); repeatable.
    images : path-like
        A folder, a COCO JSON, a video, a list of paths or a pattern.
    every : str, optional
        Frames of videos: 2s, or 10 for every tenth.
    prompt : str
        What to count: a class, or the prompt of a language model; counters of one kind of object
        pass it over.
    batch_size : int, optional
        Images at once, of counters that take several (default: 8).
    work_dir : path-like
        Where to write.
    **asking
        See `CounterOptions`.

    Returns
    -------
    int
        1 where an image failed.
    """
    from autoeval.counting.prompting import (
        BATCH_SIZE,
        IMAGE_KEY,
        CellJournal,
        PromptedCounter,
        check_same_run,
        count_images,
        folder_name,
        write_counts,
    )
    from autoeval.io.find_images import find_images
    from autoeval.words import listed

    check_asking(asking)
    check_positive(batch_size=batch_size)
    listing = find_images(images, every=every)
    for note in listing.skipped:
        print(f"note: {note}")
    listed_images, failures = listing.images[: asking.get("limit")], 0
    loaded = load_counters(counter, asking)
    for model, settings in loaded:
        folder = Path(work_dir) / folder_name(model.name)
        check_same_run(folder / "run.json", {**settings, "prompt": prompt})
        journal = CellJournal(folder / "answers.jsonl", IMAGE_KEY)
        size = BATCH_SIZE if batch_size is None else batch_size
        prompted = PromptedCounter(model, workers=asking.get("workers") or 1, batch_size=size)
        table = count_images(prompted, listed_images, prompt, journal)
        files = write_counts(folder, table)
        status = table["status"]
        failures_here = table[status.str.startswith("failed")]
        failed = failures_here["id"].tolist()
        print(
            f"{model.name}: {table['pred'].sum():g} objects in {(status == 'ok').sum()} of "
            f"{len(table)} images, {(status == 'skipped').sum()} skipped, {len(failed)} failed"
            + (f" ({listed(failed)})" if failed else "")
        )
        for reason, n in failures_here["status"].value_counts().head(3).items():
            print(f"  {n} {reason}")
        print("\n".join(f"  {path}" for path in files))
        failures += len(failed)
    if failures:
        print(f"{failures} images failed; the same command counts them again.")
    return FAILURE if failures else 0


def evaluate(
    predictions: Sequence[PathLike],
    *,
    truth: PathLike | None = None,
    bins: PathLike | None = None,
    bins_name: str | None = None,
    fit_bins: Sequence[PathLike] | None = None,
    binning: Literal["released", "paper", "poisson", "blocks"] | None = None,
    gamma: float | str | None = None,
    mode: Literal["paper", "released"] = "paper",
    category: str | None = None,
    images: PathLike | None = None,
    match_distance: Sequence[float] = (),
    rescale: bool = False,
    separate: bool = False,
    n_resamples: int = 1000,
    seed: int = 0,
    json: bool = False,
    work_dir: PathLike = "count_evaluation",
) -> None:
    """Measure how well counts agree with the truth: by bin of the true count, pooled, and overall.

    Several files make a comparison on the images that all of them answered, unless they are
    --separate. Images are joined by name, with or without folders and suffix. Prints the table and
    writes CSV, JSON, figures and report.html into the folder --work-dir.

    Parameters
    ----------
    predictions : sequence of path-like
        CSV or Parquet with id,target,pred (or id,target-pred,target,pred without a header; or
        id,pred where --truth is given), JSON of predicted points by image id, or a folder of
        density maps IMAGE.npy; places are measured as well where the truth has points.
    truth : path-like, optional
        True counts, points or boxes.
    bins : path-like, optional
        JSON with the edges of the bins, or published ones: nwpu, ucf, sta, stb, jhu.
    bins_name : str, optional
        Which of several lists in the file of --bins.
    fit_bins : sequence of path-like, optional
        Training counts to bin, all files together: id,count, points or COCO boxes.
    binning : str, optional
        How to bin (default: released).
    gamma : float or str, optional
        Prior of the binning, in (0, 1), or cv for cross-validation (default: 0.6).
    mode : str
        Measure by the formulas as printed, or as the authors' code does; true counts outside the
        bins have bins of their own, or are dropped.
    category : str, optional
        Which category of COCO boxes to count (default: all).
    images : path-like, optional
        Folder of the images, whose sizes GAME needs.
    match_distance : sequence of float
        Largest distance of a predicted point from a true one, in pixels (default: 4 and 8).
    rescale : bool
        Bring predicted points from images of another size into the truth's pixels.
    separate : bool
        The files are of different data sets: side by side instead of image by image.
    n_resamples : int
        Of the bootstrap.
    seed : int
        Of the draws.
    json : bool
        Print the result as JSON.
    work_dir : path-like
        Where to write.
    """
    import numpy as np

    from autoeval.counting.binning import PUBLISHED_GAMMA
    from autoeval.counting.evaluation.evaluation_report import CountReport
    from autoeval.counting.evaluation.inputs import check_category, choose_bins, read_inputs
    from autoeval.counting.evaluation.localisation import DISTANCES
    from autoeval.counting.evaluation.model_measures import compare_models, evaluate_counts
    from autoeval.report.page import PAGE

    if bins is None:
        refuse_given({"bins_name": bins_name}, "goes with --bins: give that, too.")
    else:
        fitted = {"fit_bins": fit_bins, "binning": binning, "gamma": gamma}
        refuse_given(fitted, "is about bins that are fitted, and --bins gives them: leave one out.")
    if len(predictions) < 2:
        refuse_given({"separate": separate}, "is about several files of predictions.")
    wrong = [distance for distance in match_distance if not 0 < distance < math.inf]
    if wrong:
        raise InputError(f"Expected --match-distance above 0 pixels but got {wrong[0]:g}.")
    prior = PUBLISHED_GAMMA if gamma is None else _gamma(gamma)
    trained = [Path(path) for path in fit_bins] if fit_bins else None
    true = None if truth is None else Path(truth)
    check_category(category, [*([true] if true else []), *(trained or [])])
    paths = [Path(path) for path in predictions]
    inputs = read_inputs(paths, true, category=category, separate=separate)
    places = inputs.places(
        distances=match_distance or DISTANCES,
        images=None if images is None else Path(images),
        rescale=rescale,
    )
    of_places = {"match_distance": match_distance, "rescale": rescale}
    if not (places and inputs.points):
        of_places |= {} if places else {"images": images}
        refuse_given(of_places, "is about predicted and true points, which are not both there.")
    compared = len(inputs.models) > 1 and not separate
    counted = np.all([m.answered for m in inputs.models], axis=0) if compared else None
    draws = {"n_resamples": n_resamples, "seed": seed}

    def bins_of(model: CountPredictions) -> CountBins:
        return choose_bins(
            model,
            bins=None if bins is None else str(bins),
            bins_name=bins_name,
            fit_on=trained,
            category=category,
            binning=binning or "released",
            gamma=prior,
        )

    # data sets that are separate have bins of their own true counts, where none are given
    if separate and bins is None and trained is None:
        bins_of_each = [bins_of(model) for model in inputs.models]
    else:
        bins_of_each = [bins_of(inputs.models[0])] * len(inputs.models)
    evaluations = [
        evaluate_counts(model, model_bins, mode=mode, counted=counted, **draws)
        for model, model_bins in zip(inputs.models, bins_of_each, strict=True)
    ]
    comparison = compare_models(evaluations, **draws) if compared else None
    notes = list(inputs.notes)
    if counted is not None and not counted.all():
        notes.append(
            f"{(~counted).sum()} images that a model skipped enter no measure but its sMAPE"
        )
    if bins is None and trained is None:
        notes.append(
            "The bins were fitted on the true counts that are evaluated here: bins of the training "
            "counts (--fit-bins) or published ones (--bins) make results comparable"
        )
    report = CountReport(evaluations, comparison, notes, places)
    report.write(Path(work_dir))
    if json:
        print(report.to_json())
    else:
        print(f"{report.text()}\n\n{mode_line(mode)}\nReport: {Path(work_dir) / PAGE}")


def _gamma(value: float | str) -> float | None:
    try:
        return None if value == "cv" else float(value)
    except ValueError:
        raise InputError(f"Expected --gamma as a number or cv but got '{value}'.") from None


def leaderboard(
    runs: Sequence[PathLike],
    *,
    measure: Sequence[str] = (),
    work_dir: PathLike = "leaderboard",
) -> None:
    """Put several counting runs on one page: each model's rank in each run, and every measure.

    Models that are called alike in several runs are one. Writes report.html, ranks.csv,
    leaderboard.csv and a figure for each run into the folder --work-dir.

    Parameters
    ----------
    runs : sequence of path-like
        Folders that `autoeval count evaluate`, `count praco` or `count capture report` wrote, or
        NAME=FOLDER.
    measure : sequence of str
        Rank a run by the first of these that it has (default: pooled MAE, NMN, NMN macro, sMAPE,
        accuracy or MAE).
    work_dir : path-like
        Where to write.
    """
    from autoeval.counting.leaderboard import leaderboard_page, overall, read_runs
    from autoeval.report.page import PAGE, format_cells, to_terminal

    named = [_named(str(text)) for text in runs]
    folders, names = [folder for _, folder in named], [name for name, _ in named]
    standings = read_runs(folders, names, measures=list(measure))
    leaderboard_page(standings).write_all(Path(work_dir))
    table = overall(standings)
    formats = dict.fromkeys(table.columns[2:], "{:g}") | {"mean rank": "{:.2f}"}
    print(to_terminal(format_cells(table, formats)))
    for standing in standings:
        print(f"{standing.run} is ranked by {standing.measure}")
    print(f"\nReport: {Path(work_dir) / PAGE}")


def _named(text: str) -> tuple[str, Path]:
    """Read NAME=FOLDER, or the folder alone."""
    name, sign, folder = text.partition("=")
    if sign and not Path(text).exists():
        return name, Path(folder)
    return Path(text).resolve().name, Path(text)
