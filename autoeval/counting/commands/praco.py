"""Test whether a counter that takes text prompts counts the class of the prompt (PrACo).

Counts every class in every image (negative-label test) and in pairs of images stacked into mosaics
(mosaic test). DATA is a folder in FSC-147's layout or with MUCCA's files, a COCO file or
folder, or a config file that puts COCO files together. Results are kept one by one: the same
command goes on where it was stopped. Writes tables, figures, the authors' CSV files and report.html
into the folder --work-dir. Predictions made elsewhere (--predictions) need no images.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from autoeval.commands.given_input import Detail, add_input
from autoeval.commands.run_options import positive
from autoeval.commands.typed_options import refuse_beside
from autoeval.counting import mode_line
from autoeval.counting.commands.common_options import (
    add_counter_options,
    add_mode,
    add_praco_data,
    add_predictions,
    add_reading_options,
    add_run_options,
    add_work_dir,
    check_praco_data,
    load_counters,
    prediction_folders,
)
from autoeval.errors import InputError

if TYPE_CHECKING:
    from autoeval.counting.praco.data import CountingSet
    from autoeval.counting.praco.mosaic_run import MosaicRecipe

# As in `mosaic_run`, which takes a second to import.
LAYOUTS, RELEASED_SEED = ("released", "paper"), 123
RELEASED, ALL, NONE = "released", "all", "none"
OF_PAIRS = ("pairs", "n_negatives", "layout", "seed")
OF_COUNTERS = (
    *("cfg_options", "prompt", "reference_class", "workers", "batch_size", "backoff", "extractor"),
    *OF_PAIRS,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_praco_data(parser)
    counters = parser.add_argument_group("counters")
    add_counter_options(counters, example="configs/counting/praco/yolox_nano.py", required=False)
    add_predictions(
        counters,
        "folders with Inference_Test1_MODEL_SPLIT.csv files, or with a folder of them for each "
        "model; with --multi-class also multiclass_MODEL_SPLIT1.csv; or tables MODEL.csv with the "
        "columns image, class and count",
    )
    add_reading_options(counters)
    counters.add_argument("--prompt", default="{}", help="template; {} is the class")
    counters.add_argument(
        "--reference-class",
        action="store_true",
        help="pass the counter the true class in its context, as DAVE's published figures need",
    )
    how = parser.add_argument_group("measures")
    add_mode(how)
    add_input(
        how,
        "--pairs",
        (
            Detail(
                "n_negatives",
                "lower images for each image and class of released pairs (1)",
                read=positive,
                default=1,
                metavar="N",
            ),
            Detail(
                "layout",
                f"of released or all pairs: {' or '.join(LAYOUTS)} ({LAYOUTS[0]})",
                read=_layout,
                default=LAYOUTS[0],
                metavar="NAME",
            ),
            Detail("seed", f"of released pairs ({RELEASED_SEED})", int, RELEASED_SEED),
        ),
        metavar="HOW",
        default=RELEASED,
        help="mosaics: released (one for each image and negative class), all, none, or a file of "
        "pairs that an earlier run wrote (default: %(default)s)",
    )
    how.add_argument(
        "--multi-class",
        action="store_true",
        help="keep images of several classes and measure as PrACo++ does",
    )
    how.add_argument(
        "--grid", type=int, default=2, metavar="D", help="tiles of localised measures: 2^D x 2^D"
    )
    how.add_argument("--n-resamples", type=int, default=1000, help="of the bootstrap")
    add_work_dir(parser, "praco")
    add_run_options(parser, "images (and their mosaics)")


def _layout(text: str) -> str:
    if text not in LAYOUTS:
        raise ValueError(f"expected {' or '.join(LAYOUTS)}")
    return text


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from autoeval.counting.filed_page import PAGE
    from autoeval.counting.praco.data import single_class
    from autoeval.counting.praco.data_kind import load_counting_set
    from autoeval.counting.praco.evaluation_page import write_outcome, write_plus_plus
    from autoeval.counting.praco.plus_plus import with_objects
    from autoeval.counting.prompting import check_names

    if not args.counter and not args.predictions:
        raise InputError(
            "Expected a counter or predictions: give --counter FILE or --predictions DIR."
        )
    _refuse_unused(args)
    if "{}" not in args.prompt:
        raise InputError(f"--prompt needs {{}} where the class goes, got {args.prompt!r}.")
    counting_set = load_counting_set(
        args.data,
        split=args.split,
        data_root=args.data_root,
        exclude=args.exclude,
        need_images=bool(args.counter),
    )
    fit = with_objects if args.multi_class else single_class
    counting_set = fit(counting_set).first(args.limit)
    results, panels = _of_counters(args, counting_set)
    results += _of_files(args, counting_set)
    check_names([result.name for result in results])
    draws = {"n_resamples": args.n_resamples}
    if args.multi_class:
        print(write_plus_plus(args.work_dir, results, counting_set, **draws))
    else:
        print(write_outcome(args.work_dir, results, counting_set, panels, **draws))
    print(f"{mode_line(args.mode)}\n\nReport: {args.work_dir / PAGE}")
    return 0


def _refuse_unused(args: argparse.Namespace) -> None:
    """Refuse what nothing would read: of predictions, of several classes, and of chosen pairs."""
    check_praco_data(args)
    if not args.counter:
        names = OF_COUNTERS if args.multi_class else (*OF_COUNTERS, "grid")
        reason = "is about counters, and predictions made elsewhere ask none: leave it out."
        refuse_beside(args, names, reason)
    if args.multi_class:
        refuse_beside(args, OF_PAIRS, "is about mosaics, and --multi-class makes none.")
    if args.pairs != RELEASED:
        refuse_beside(args, ("n_negatives", "seed"), f"is of --pairs {RELEASED} alone.")
    if args.pairs not in (RELEASED, ALL):
        refuse_beside(args, ("layout",), f"is of --pairs {RELEASED} and --pairs {ALL} alone.")


def _of_counters(
    args: argparse.Namespace, counting_set: CountingSet
) -> tuple[list[Any], dict[str, list]]:
    """Run the tests with each counter; return the results, and pictures of mosaics by model."""
    from autoeval.counting.journal import folder_name
    from autoeval.counting.praco.both_tests import evaluate_counter
    from autoeval.counting.praco.plus_plus import evaluate_multi_class
    from autoeval.counting.praco.praco_charts import choose_mosaics, mosaic_panels
    from autoeval.counting.prompting import PromptedCounter

    recipes = _pairs(args, counting_set) if args.counter and not args.multi_class else []
    results: list[Any] = []
    panels = {}
    threads = {"workers": args.workers, "batch_size": args.batch_size}
    for counter, settings in load_counters(args):
        prompted = PromptedCounter(counter, args.prompt, args.reference_class, **threads)
        folder = args.work_dir / folder_name(counter.name)
        options = {"settings": settings, "mode": args.mode, "divisions": args.grid}
        if args.multi_class:
            results.append(evaluate_multi_class(prompted, counting_set, folder, **options))
            continue
        result = evaluate_counter(prompted, counting_set, recipes, folder, **options)
        results.append(result)
        if result.measured is not None:
            chosen = choose_mosaics(result.measured)
            panels[result.name] = mosaic_panels(prompted, counting_set, chosen)
    return results, panels


def _pairs(args: argparse.Namespace, counting_set: CountingSet) -> list[MosaicRecipe]:
    from autoeval.counting.praco.mosaic_run import all_pairs, draw_pairs, read_pairs, write_pairs

    if args.pairs == NONE:
        return []
    if args.pairs == RELEASED:
        recipes = draw_pairs(
            counting_set, seed=args.seed, n_negatives=args.n_negatives, layout=args.layout
        )
    elif args.pairs == ALL:
        recipes = all_pairs(counting_set, layout=args.layout)
    else:
        recipes = read_pairs(args.pairs, counting_set)
    write_pairs(args.work_dir / "mosaic_pairs.csv", recipes)
    return recipes


def _of_files(args: argparse.Namespace, counting_set: CountingSet) -> list[Any]:
    """Measure the prediction files of every model in the folders."""
    from autoeval.counting.praco.plus_plus import evaluate_multi_class_file
    from autoeval.counting.praco.released_csv import evaluate_files, evaluate_table, find_released

    results: list[Any] = []
    for folder in prediction_folders(args, files=True):
        if folder.is_file():
            results.append(
                evaluate_multi_class_file(
                    folder, folder.stem, counting_set, divisions=args.grid, mode=args.mode
                )
                if args.multi_class
                else evaluate_table(folder, counting_set, mode=args.mode)
            )
            continue
        models = find_released(folder, counting_set.name, multi_class=args.multi_class)
        if not models:
            form = f"Inference_Test1_MODEL_{counting_set.name}.csv"
            more = f" or multiclass_MODEL_{counting_set.name}1.csv" if args.multi_class else ""
            raise InputError(f"No file {form}{more} in {folder}: check the folder and --split.")
        for model, path in models.items():
            results.append(
                evaluate_multi_class_file(
                    path, model, counting_set, divisions=args.grid, mode=args.mode
                )
                if args.multi_class
                else evaluate_files(path.parent, model, counting_set, mode=args.mode)
            )
    return results
