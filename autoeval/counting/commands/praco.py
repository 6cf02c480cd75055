"""Test whether a counter that is asked in words understands what it is asked for (PrACo).

Asks for every class in every image (negative-label test) and about pairs of images stacked into
mosaics (mosaic test). DATA is a folder in FSC-147's layout, a COCO file or folder, or a config file
that puts COCO files together. Answers are kept one by one: the same command goes on where it was
stopped. Writes tables, the authors' CSV files and report.html into the folder --out.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from mmengine.config import DictAction

from autoeval.counting.asking import Asker
from autoeval.counting.counters.build import load_counter
from autoeval.counting.praco.data import CountingSet, single_class
from autoeval.counting.praco.evaluate import (
    check_names,
    evaluate_counter,
    evaluate_files,
    folder_name,
)
from autoeval.counting.praco.loading import load_counting_set
from autoeval.counting.praco.multi_class import evaluate_multi_class
from autoeval.counting.praco.page import Panels, praco_page
from autoeval.counting.praco.pairs import (
    LAYOUTS,
    RELEASED_SEED,
    MosaicRecipe,
    all_pairs,
    draw_pairs,
    read_pairs,
    write_pairs,
)
from autoeval.counting.praco.panels import choose_mosaics, mosaic_panels
from autoeval.counting.praco.released_csv import find_released
from autoeval.counting.praco.result import PracoResult, compare
from autoeval.counting.praco.tables import (
    FORMATS,
    class_table,
    image_table,
    interval_table,
    measures_table,
    undefined_table,
)
from autoeval.errors import InputError
from autoeval.report.tables import format_cells, to_terminal
from autoeval.runtime.files import atomic_path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--data", required=True, metavar="DATA", help="see above")
    parser.add_argument("--data-root", metavar="DIR", help="folder with the data of a config file")
    parser.add_argument("--split", default="test", help="of FSC-147 (default: %(default)s)")
    parser.add_argument(
        "--exclude",
        action="append",
        default=[],
        metavar="FILE",
        help="list of image ids to take out, such as images of several classes; repeatable",
    )
    asked = parser.add_argument_group("who is asked")
    asked.add_argument(
        "--counter",
        action="append",
        default=[],
        metavar="FILE",
        help="counter's config, such as configs/counting/praco/yolox_nano.py; repeatable",
    )
    asked.add_argument(
        "--cfg-options",
        nargs="+",
        action=DictAction,
        metavar="KEY=VALUE",
        help="changes to every counter's config, such as counter.checkpoint=FILE",
    )
    asked.add_argument(
        "--predictions",
        action="append",
        default=[],
        metavar="DIR",
        help="folder with Inference_Test1_MODEL_SPLIT.csv files; repeatable",
    )
    asked.add_argument("--prompt", default="{}", help="template; {} is the class")
    asked.add_argument(
        "--reference-class",
        action="store_true",
        help="tell the counter the true class in its context, as DAVE's published figures need",
    )
    how = parser.add_argument_group("how it is measured")
    how.add_argument(
        "--mode",
        choices=("released", "paper"),
        default="released",
        help="as the authors' code, or as the paper prints (default: %(default)s)",
    )
    how.add_argument(
        "--pairs",
        default="released",
        metavar="HOW",
        help="mosaics: released (one for each image and negative class), all, none, or a file of "
        "pairs that an earlier run wrote (default: %(default)s)",
    )
    how.add_argument(
        "--n-negatives",
        type=int,
        default=1,
        metavar="N",
        help="lower images for each image and class (default: %(default)s, as released)",
    )
    how.add_argument("--layout", choices=LAYOUTS, default="released", help="of mosaics")
    how.add_argument("--seed", type=int, default=RELEASED_SEED, help="of the pairs")
    how.add_argument(
        "--multi-class",
        action="store_true",
        help="keep images of several classes and measure as PrACo++ does",
    )
    how.add_argument("--grid", type=int, default=2, metavar="D", help="PrACo++: 2^D x 2^D tiles")
    how.add_argument("--n-resamples", type=int, default=1000, help="of the bootstrap")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("praco"),
        metavar="DIR",
        help="where to write (default: %(default)s)",
    )


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    if not args.counter and not args.predictions:
        raise InputError("Nobody to ask: give --counter FILE or --predictions DIR.")
    if "{}" not in args.prompt:
        raise InputError(f"--prompt needs {{}} where the class goes, got {args.prompt!r}.")
    counting_set = load_counting_set(
        args.data, split=args.split, data_root=args.data_root, exclude=args.exclude
    )
    if args.multi_class:
        return _run_multi_class(args, counting_set)
    counting_set = single_class(counting_set)
    recipes = _pairs(args, counting_set)
    results, panels = [], {}
    for asker, settings in _askers(args):
        folder = args.out / folder_name(asker.counter.name)
        result = evaluate_counter(
            asker, counting_set, recipes, folder, settings=settings, mode=args.mode
        )
        results.append(result)
        if result.measured is not None:
            chosen = choose_mosaics(result.measured)
            panels[result.name] = mosaic_panels(asker, counting_set, chosen)
    for folder in args.predictions:
        results += _of_files(Path(folder), counting_set, args.mode)
    check_names([result.name for result in results])
    _finish(args, counting_set, results, panels)
    return 0


def _askers(args: argparse.Namespace) -> list[tuple[Asker, dict]]:
    loaded = [load_counter(path, args.cfg_options) for path in args.counter]
    check_names([counter.name for counter, _ in loaded])
    return [
        (Asker(counter, args.prompt, args.reference_class), settings)
        for counter, settings in loaded
    ]


def _pairs(args: argparse.Namespace, counting_set: CountingSet) -> list[MosaicRecipe]:
    if args.pairs == "none" or not args.counter:
        return []
    if args.pairs == "released":
        recipes = draw_pairs(
            counting_set, seed=args.seed, n_negatives=args.n_negatives, layout=args.layout
        )
    elif args.pairs == "all":
        recipes = all_pairs(counting_set, layout=args.layout)
    else:
        recipes = read_pairs(args.pairs, counting_set)
    write_pairs(args.out / "mosaic_pairs.csv", recipes)
    return recipes


def _of_files(folder: Path, counting_set: CountingSet, mode: str) -> list[PracoResult]:
    models = find_released(folder, counting_set.name)
    if not models:
        raise InputError(
            f"No file Inference_Test1_MODEL_{counting_set.name}.csv in {folder}: check the folder "
            "and --split."
        )
    return [evaluate_files(folder, model, counting_set, mode=mode) for model in models]


def _finish(
    args: argparse.Namespace,
    counting_set: CountingSet,
    results: Sequence[PracoResult],
    panels: Panels,
) -> None:
    intervals = interval_table({r.name: r.intervals(n_resamples=args.n_resamples) for r in results})
    differences = compare(results, n_resamples=args.n_resamples)
    notes = [*counting_set.problems, *_excluded(counting_set)]
    _write(args.out / "measures.csv", measures_table(results))
    _write(args.out / "intervals.csv", intervals)
    _write(args.out / "undefined.csv", undefined_table(results))
    if len(differences):
        _write(args.out / "differences.csv", differences)
    for result in results:
        folder = args.out / folder_name(result.name)
        _write(folder / "per_image.csv", image_table(result))
        _write(folder / "per_class.csv", class_table(result).reset_index())
    page = praco_page(
        results,
        counting_set,
        intervals=intervals,
        differences=differences,
        panels=panels,
        notes=notes,
    )
    page.write(args.out / "report.html")
    print(to_terminal(format_cells(measures_table(results), FORMATS)))
    for note in [*notes, *(f"{r.name}: {note}" for r in results for note in r.notes)]:
        print(f"note: {note}")
    print(f"\nReport: {args.out / 'report.html'}")


def _run_multi_class(args: argparse.Namespace, counting_set: CountingSet) -> int:
    if args.predictions:
        raise InputError(
            "--multi-class needs a --counter: prediction files are for single classes."
        )
    rows: list[dict[str, Any]] = []
    for asker, settings in _askers(args):
        folder = args.out / folder_name(asker.counter.name)
        result = evaluate_multi_class(
            asker, counting_set, folder, settings=settings, divisions=args.grid
        )
        rows.append({"model": result.name, **result.measures()})
        _write(folder / "per_image.csv", result.by_image.reset_index())
        if result.localised is not None:
            _write(folder / "localised.csv", result.localised)
    table = pd.DataFrame(rows)
    _write(args.out / "measures.csv", table)
    columns = table.set_index("model").T.rename_axis("measure").reset_index()
    print(to_terminal(format_cells(columns, dict.fromkeys(table["model"], "{:.3f}"))))
    for note in [*counting_set.problems, *_excluded(counting_set)]:
        print(f"note: {note}")
    print(f"\nTables: {args.out}")
    return 0


def _excluded(counting_set: CountingSet) -> list[str]:
    reasons = pd.Series(dict(counting_set.excluded), dtype=object)
    return [
        f"excluded, {reason}: {len(ids)} images ({', '.join(map(str, ids[:5]))}"
        + (", ...)" if len(ids) > 5 else ")")
        for reason, ids in reasons.groupby(reasons).groups.items()
    ]


def _write(path: Path, table: pd.DataFrame) -> None:
    with atomic_path(path) as temporary:
        table.to_csv(temporary, index=False)
