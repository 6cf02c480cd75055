"""PrACo: whether a counter that takes text prompts counts the class of the prompt."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from typing_extensions import Unpack

from autoeval.counting import mode_line
from autoeval.counting.commands.common_options import (
    SPLIT,
    CounterOptions,
    PracoData,
    check_asking,
    check_positive,
    check_praco_data,
    load_counters,
    prediction_folders,
)
from autoeval.errors import InputError
from autoeval.words import refuse_given

if TYPE_CHECKING:
    from autoeval.counting.praco.data import CountingSet
    from autoeval.counting.praco.mosaic_run import MosaicRecipe
    from autoeval.counting.prompting import PromptedCounter
    from autoeval.runtime.files import PathLike


RELEASED = "released"
ALL = "all"
NONE = "none"
PROMPT = "{}"
MOST_DIVISIONS = 10  # of the grid: more than a million tiles


class PracoOptions(CounterOptions, PracoData, total=False):
    """What more is said of counters and data: as `CounterOptions` and `PracoData`."""


def praco(
    *,
    data: PathLike,
    counter: Sequence[PathLike] = (),
    predictions: Sequence[PathLike] = (),
    prompt: str | None = None,
    reference_class: bool = False,
    mode: Literal["paper", "released"] = "paper",
    pairs: str | None = None,
    n_negatives: int | None = None,
    layout: Literal["released", "paper"] | None = None,
    seed: int | None = None,
    multi_class: bool = False,
    grid: int | None = None,
    n_resamples: int = 1000,
    batch_size: int | None = None,
    work_dir: PathLike = "praco",
    **options: Unpack[PracoOptions],
) -> None:
    """Test whether a counter that takes text prompts counts the class of the prompt (PrACo).

    Counts every class in every image (negative-label test) and in pairs of images stacked into
    mosaics (mosaic test). Results are kept one by one: the same command goes on where it was
    stopped. Writes tables, figures, the authors' CSV files and report.html into the folder
    --work-dir. Predictions made elsewhere (--predictions) need no images.

    Parameters
    ----------
    data : path-like
        A folder in FSC-147's layout or with MUCCA's files, a COCO file or folder, or a config file
        that puts COCO files together.
    counter : sequence of path-like
        Counter's config, such as configs/counting/praco/yolox_nano.py, or FILE.py:NAME, a function
        NAME(image, prompt); repeatable.
    predictions : sequence of path-like
        Folders with Inference_Test1_MODEL_SPLIT.csv files, or with a folder of them for each model;
        with --multi-class also multiclass_MODEL_SPLIT1.csv; or tables MODEL.csv with the columns
        image, class and count.
    prompt : str, optional
        Template; {} is the class, which is all of it by default.
    reference_class : bool
        Pass the counter the true class in its context, as DAVE's published figures need.
    mode : str
        Measure by the formulas as printed, or as the authors' code does.
    pairs : str, optional
        Mosaics: released (one for each image and negative class), all, none, or a file of pairs
        that an earlier run wrote (default: released).
    n_negatives : int, optional
        Lower images for each image and class of released pairs (default: 1).
    layout : str, optional
        Of released or all pairs (default: released).
    seed : int, optional
        Of released pairs (default: 123).
    multi_class : bool
        Keep images of several classes and measure as PrACo++ does.
    grid : int, optional
        D of the 2^D x 2^D tiles of localised measures (default: 2).
    n_resamples : int
        Of the bootstrap.
    batch_size : int, optional
        Images at once, of counters that take several (default: 8).
    work_dir : path-like
        Where to write.
    **options
        See `PracoOptions`; with a limit, mosaics are made of the first images alone.
    """
    from autoeval.counting.praco.data import single_class
    from autoeval.counting.praco.evaluation_page import write_outcome, write_plus_plus
    from autoeval.counting.praco.mosaic_run import LAYOUTS, RELEASED_SEED
    from autoeval.counting.praco.plus_plus import with_objects
    from autoeval.counting.prompting import BATCH_SIZE, PromptedCounter, check_different_names
    from autoeval.report.page import PAGE

    if not counter and not predictions:
        raise InputError(
            "Expected a counter or predictions: give --counter FILE or --predictions DIR."
        )
    check_asking(options, PracoOptions)
    check_praco_data(data, options)
    check_positive(n_negatives=n_negatives, batch_size=batch_size)
    if grid is not None and not 0 <= grid <= MOST_DIVISIONS:
        raise InputError(f"Expected --grid from 0 to {MOST_DIVISIONS} but got {grid}.")
    of_pairs = {"pairs": pairs, "n_negatives": n_negatives, "layout": layout, "seed": seed}
    if not counter:
        of_counters = ("cfg_options", "workers", "backoff", "extractor")
        unread: dict[str, Any] = {name: options.get(name) for name in of_counters}
        unread |= {"prompt": prompt, "reference_class": reference_class, "batch_size": batch_size}
        unread |= of_pairs | ({} if multi_class else {"grid": grid})
        reason = "is about counters, and predictions made elsewhere ask none: leave it out."
        refuse_given(unread, reason)
    if multi_class:
        refuse_given(of_pairs, "is about mosaics, and --multi-class makes none.")
    _refuse_of_pairs(pairs or RELEASED, n_negatives, layout, seed)
    template = PROMPT if prompt is None else prompt
    if "{}" not in template:
        raise InputError(f"--prompt needs {{}} where the class goes, got {template!r}.")
    counting_set = _load(data, options, need_images=bool(counter))
    counting_set = (with_objects if multi_class else single_class)(counting_set)
    counting_set = counting_set.first(options.get("limit"))
    folder = Path(work_dir)
    measured = {"mode": mode, "divisions": 2 if grid is None else grid}
    of_data = {"data": os.path.abspath(data)}
    if root := options.get("data_root"):
        of_data["data_root"] = os.path.abspath(root)
    recipes: list[MosaicRecipe] = []
    if counter and not multi_class:
        drawn = {"seed": RELEASED_SEED if seed is None else seed, "n_negatives": n_negatives or 1}
        recipes = _pairs(pairs or RELEASED, counting_set, folder, layout or LAYOUTS[0], drawn)
    results: list[Any] = []
    panels: dict[str, list[Any]] = {}
    for model, settings in load_counters(counter, options) if counter else []:
        prompted = PromptedCounter(
            model,
            template,
            reference_class,
            workers=options.get("workers") or 1,
            batch_size=batch_size or BATCH_SIZE,
        )
        result, pictures = _of_counter(
            prompted,
            counting_set,
            None if multi_class else recipes,
            folder,
            {**settings, **of_data},
            measured,
        )
        results.append(result)
        if pictures is not None:
            panels[result.name] = pictures
    paths = prediction_folders(predictions, files=True)
    results += _of_files(paths, counting_set, measured, multi_class=multi_class)
    check_different_names([result.name for result in results])
    draws = {"n_resamples": n_resamples}
    if multi_class:
        print(write_plus_plus(folder, results, counting_set, **draws))
    else:
        print(write_outcome(folder, results, counting_set, panels, **draws))
    print(f"{mode_line(mode)}\n\nReport: {folder / PAGE}")


def _load(data: PathLike, of_data: PracoData, *, need_images: bool) -> CountingSet:
    from autoeval.counting.praco.data import load_counting_set

    return load_counting_set(
        data,
        split=of_data.get("split") or SPLIT,
        data_root=of_data.get("data_root"),
        exclude=of_data.get("exclude") or (),
        need_images=need_images,
    )


def _refuse_of_pairs(
    pairs: str, n_negatives: int | None, layout: str | None, seed: int | None
) -> None:
    """Refuse what nothing would read of chosen pairs."""
    if pairs != RELEASED:
        of_draw = {"n_negatives": n_negatives, "seed": seed}
        refuse_given(of_draw, f"is of --pairs {RELEASED} alone.")
    if pairs not in (RELEASED, ALL):
        refuse_given({"layout": layout}, f"is of --pairs {RELEASED} and --pairs {ALL} alone.")


def _of_counter(
    prompted: PromptedCounter,
    counting_set: CountingSet,
    recipes: Sequence[MosaicRecipe] | None,
    work_dir: Path,
    settings: dict[str, Any],
    measured: dict[str, Any],
) -> tuple[Any, list[Any] | None]:
    """Run the tests with a counter; return the result, and pictures of its mosaics.

    `recipes` is None where several classes are measured; `measured` has mode and divisions.
    """
    from autoeval.counting.praco.evaluation_page import choose_mosaics, mosaic_panels
    from autoeval.counting.praco.mosaic_run import evaluate_counter
    from autoeval.counting.praco.plus_plus import evaluate_multi_class
    from autoeval.counting.prompting import folder_name

    folder = work_dir / folder_name(prompted.counter.name)
    options: dict[str, Any] = {"settings": settings, **measured}
    if recipes is None:
        return evaluate_multi_class(prompted, counting_set, folder, **options), None
    result = evaluate_counter(prompted, counting_set, recipes, folder, **options)
    if result.measured is None:
        return result, None
    return result, mosaic_panels(prompted, counting_set, choose_mosaics(result.measured))


def _pairs(
    pairs: str, counting_set: CountingSet, folder: Path, layout: str, drawn: dict[str, int]
) -> list[MosaicRecipe]:
    from autoeval.counting.praco.mosaic_run import all_pairs, draw_pairs, read_pairs, write_pairs

    if pairs == NONE:
        return []
    if pairs == RELEASED:
        recipes = draw_pairs(counting_set, layout=layout, **drawn)
    elif pairs == ALL:
        recipes = all_pairs(counting_set, layout=layout)
    else:
        recipes = read_pairs(pairs, counting_set)
    write_pairs(folder / "mosaic_pairs.csv", recipes)
    return recipes


def _of_files(
    paths: Sequence[Path],
    counting_set: CountingSet,
    measured: dict[str, Any],
    *,
    multi_class: bool,
) -> list[Any]:
    """Measure the prediction files of every model in the folders."""
    from autoeval.counting.praco.plus_plus import evaluate_multi_class_file
    from autoeval.counting.praco.released_csv import evaluate_files, evaluate_table, find_released

    results: list[Any] = []
    mode = measured["mode"]
    for path in paths:
        left_out: dict[str, list[str]] = {}
        if path.is_file():
            models = {path.stem: path}
        else:
            models = find_released(path, counting_set.name, left_out, multi_class=multi_class)
        if not models:
            form = f"Inference_Test1_MODEL_{counting_set.name}.csv"
            more = f" or multiclass_MODEL_{counting_set.name}1.csv" if multi_class else ""
            raise InputError(
                f"No file {form}{more} in {path}: check the folder and --split. A table with the "
                "columns image, class and count is named itself: --predictions MODEL.csv."
            )
        for model, file in models.items():
            if multi_class:
                result = evaluate_multi_class_file(file, model, counting_set, **measured)
            elif path.is_file():
                result = evaluate_table(file, counting_set, mode=mode)
            else:
                result = evaluate_files(file.parent, model, counting_set, mode=mode)
            result.notes += tuple(left_out.get(model, ()))
            results.append(result)
    return results


def export_negative_labels(
    *,
    data: PathLike,
    question: str | None = None,
    max_tokens: int = 256,
    limit: int | None = None,
    work_dir: PathLike = "praco_tasks",
    **of_data: Unpack[PracoData],
) -> None:
    """Export PrACo's negative-label test as a task for lmms-eval.

    Run it with `lmms-eval --include_path OUT --tasks NAME ...`, in an environment that has this
    package (`pip install --no-deps` and Pillow suffice). Language models give counts without
    locations, which the mosaic test needs.

    Parameters
    ----------
    data : path-like
        What `autoeval count praco --data` takes, with its images.
    question : str, optional
        Template; {} is the class.
    max_tokens : int
        Longest reply.
    limit : int, optional
        The first images only.
    work_dir : path-like
        Where to write.
    **of_data
        See `PracoData`.
    """
    from autoeval.counting.lmms_eval_export import QUESTION, export_praco
    from autoeval.counting.praco.data import single_class
    from autoeval.counting.praco.evaluation_page import data_notes

    check_praco_data(data, of_data)
    check_positive(max_tokens=max_tokens, limit=limit)
    counting_set = single_class(_load(data, of_data, need_images=True)).first(limit)
    wording = QUESTION if question is None else question
    name = export_praco(counting_set, Path(work_dir), question=wording, max_tokens=max_tokens)
    n_images, n_classes = len(counting_set.kept), len(counting_set.classes)
    print(f"{n_images * n_classes} questions: {n_images} images, {n_classes} classes")
    for note in data_notes(counting_set):
        print(f"note: {note}")
    print(f"lmms-eval --include_path {work_dir} --tasks {name}")
