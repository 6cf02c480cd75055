"""Make tables and figures of the box-stability paper from its data sets, compared with print.

Partial data gives partial tables, marked. Needs no converter: the sets are read as published.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from typing_extensions import Unpack

from autoeval.api.options import PassOptions, check_names
from autoeval.errors import InputError
from autoeval.stability.commands.meta_set_options import (
    LIGHT,
    PAPER,
    MetaSetOptions,
    PerturbedOptions,
    check_rates,
    refuse_options,
)
from autoeval.stability.commands.paper_runs import RELEASED, PaperRun, find_runs, stand_in

if TYPE_CHECKING:
    import pandas as pd

    from autoeval.report.compared_with_print import Chapter
    from autoeval.stability.dropout_search.search import NestedTables
    from autoeval.stability.metasets.recipe import MetaSetConfig
    from autoeval.stability.reproduce.available import AvailableData, Cost
    from autoeval.stability.reproduce.side_by_side import PrintedFigure, PrintedTable
    from autoeval.stability.studies.kept_boxes import Observations

Key = tuple[str, str]
"""Alias of a detector, and name of a task."""

P = TypeVar("P", "PrintedTable", "PrintedFigure")
RELEASED_META_SET = "configs/metasets/released.py"
PRINTED = {"n_sets": 50, "n_images": 250, "repeats": 10, "preset": PAPER, "box_score": 0.05}
# Options by which figures are of other images, or of another score, than those in print.
CHANGES = (
    "max_images",
    "metaset",
    "n_sets",
    "n_images",
    "preset",
    "repeats",
    "dropout",
    "class_aware",
    "box_score",
)


class ReproduceBosOptions(PerturbedOptions, MetaSetOptions, PassOptions, total=False):
    """What is made, and from what; and as the dictionaries that it extends.

    Parameters
    ----------
    table : sequence of str
        1, 2, 3, 4 (default: 1).
    figure : sequence of str
        2, 3c, 4a, 4b, 4c, 6, 7, 8, 9, 10.
    mode : str
        paper: as printed; released: tables 1 and 4 as the authors' code has them, with cars alone,
        configs/metasets/released.py, and --preset released unless another is named (default:
        paper).
    data_root : path-like
        Folder with the data sets.
    max_images : int
        Images of each source, at equal distances.
    checkpoints : path-like
        Folder of weights as ALIAS.pth, for table 4.
    search : sequence of float
        Of tables: search the dropout anew for each source that is left out, on the sample sets of
        the others, among these rates (default: no search; without rates 0.05 to 0.95 by 0.05, the
        paper's).
    dry_run : bool
        Print data and cost, and stop.
    json : bool
        Print the result as JSON.
    """

    table: Sequence[str]
    figure: Sequence[str]
    mode: Literal["paper", "released"]
    data_root: str
    max_images: int
    checkpoints: str
    search: Sequence[float]
    dry_run: bool
    json: bool


def reproduce_bos(**options: Unpack[ReproduceBosOptions]) -> None:
    """Make tables and figures of the box-stability paper from its data sets, compared with print.

    Partial data gives partial tables, marked. Needs no converter: the sets are read as published.

    Parameters
    ----------
    **options
        See `ReproduceBosOptions`.
    """
    from autoeval.io.tasks.task import load_task
    from autoeval.report.compared_with_print import chapters_text, chapters_values
    from autoeval.report.page import PAGE, Page, Table, print_result, written_files
    from autoeval.stability.metasets import load_metaset_config
    from autoeval.stability.reproduce.available import find_available
    from autoeval.stability.reproduce.side_by_side import load_figures, load_printed

    check_names(options, ReproduceBosOptions)
    if options.get("preset") == LIGHT:
        raise InputError("--preset light has no dropout, which the paper is about: leave it out.")
    if not options.get("detector"):
        refuse_options(options, ["stages"], "goes with --detector: give that, too.")
    _check_search(options)
    named = options.get("table") or ()
    figures = load_figures("bos", options.get("figure") or ())
    printed = load_printed("bos", named or ([] if figures else ["1"]))
    tables = printed.tables if named or not figures else ()
    if options.get("mode", PAPER) == RELEASED:
        tables = tuple(map(_as_released, tables))
        figures = tuple(map(_as_released, figures))
        if options.get("preset", PAPER) == PAPER:
            options["preset"] = RELEASED
        options["metaset"] = options.get("metaset") or RELEASED_META_SET
    meta_set = load_metaset_config(
        options.get("metaset"), n_sets=options.get("n_sets"), n_images=options.get("n_images")
    )
    whole: tuple[PrintedTable | PrintedFigure, ...] = (*tables, *figures)
    names = dict.fromkeys(part.task for part in whole)
    tasks = {
        name: load_task(f"configs/tasks/{name}.py", options.get("data_root")) for name in names
    }
    data = {
        name: find_available(task, printed.downloads, max_images=options.get("max_images"))
        for name, task in tasks.items()
    }
    for available in data.values():
        print(available.text(), file=sys.stderr)
    work_dir = Path(options.get("work_dir") or "work_dirs/reproduce_bos")
    runs = find_runs(options, _wanted(whole), data, work_dir)
    kept = [figure for figure in figures if figure.needs_boxes]
    scored = _wanted([*tables, *(figure for figure in figures if not figure.needs_boxes)])
    score_keys = [key for key in dict.fromkeys(scored) if key in runs]
    sampled = _wanted([figure for figure in kept if figure.needs_samples])
    box_meta_sets = {
        key: meta_set if key in sampled else None for key in _wanted(kept) if key in runs
    }
    cost = _cost(options, runs, score_keys, box_meta_sets, meta_set)
    print(cost.text(), file=sys.stderr)
    scores: dict[Key, pd.DataFrame] = {}
    nested: dict[Key, NestedTables] = {}
    boxes: dict[Key, Observations] = {}
    if not options.get("dry_run", False):
        if options.get("search") is None:
            scores = {key: runs[key].scores(meta_set) for key in score_keys}
        else:
            nested = {
                key: runs[key].nested(meta_set, options.get("search") or None) for key in score_keys
            }
            scores = {
                key: next(iter(nested_tables.tables.values()))
                for key, nested_tables in nested.items()
            }
        boxes = {key: runs[key].boxes(drawn) for key, drawn in box_meta_sets.items()}
    compared = [
        *_tables(options, tables, scores, nested, data),
        *_figures(options, figures, scores, boxes, data),
    ]
    chapters = [*compared, cost, *data.values()]
    page = Page(
        "Box stability, printed and own",
        [block for chapter in chapters for block in chapter.blocks()],
    )
    for block in page.blocks:  # those of a paper are wanted in Markdown and JSON, too
        if isinstance(block, Table) and block.name:
            block.write(work_dir / "report")
    text, values = chapters_text(chapters), chapters_values(chapters)
    print_result(text, values, as_json=options.get("json", False))
    written = page.write(work_dir / PAGE, values)
    if not options.get("json", False):
        print(f"\n{written_files(written)}")


def _check_search(options: ReproduceBosOptions) -> None:
    """Refuse what a search without each source does not go with."""
    if options.get("search") is None:
        return
    check_rates(options.get("search"), "--search")
    if options.get("dropout"):
        raise InputError("--search finds a dropout for each source: leave --dropout out.")
    if options.get("figure", ()):
        raise InputError("--search is of tables: leave --figure or --search out.")


def _as_released(printed: P) -> P:
    """Take the task that the authors' code has."""
    if printed.task != "paper_vehicle":
        raise InputError(
            f"{printed.title}: the authors' code is for vehicles alone, tables 1 and 4 and their "
            "figures. Leave --mode released out."
        )
    return replace(printed, task="paper_car")


def _wanted(printed: Sequence[PrintedTable | PrintedFigure]) -> list[Key]:
    return [(detector, part.task) for part in printed for detector in part.detectors]


def _cost(
    options: ReproduceBosOptions,
    runs: dict[Key, PaperRun],
    score_keys: Sequence[Key],
    box_meta_sets: Mapping[Key, MetaSetConfig | None],
    meta_set: MetaSetConfig,
) -> Cost:
    """Count what the passes observe, and measure how fast."""
    from autoeval.stability.reproduce.available import Cost, images_to_observe

    images: dict[str, int] = {}
    repeats: dict[str, int] = {}
    rates: dict[str, float] = {}

    def add(run: PaperRun, suffix: str, n_images: int, n_repeats: int) -> None:
        name = f"{stand_in(options) or run.alias} on {run.available.task.name}{suffix}"
        images[name], repeats[name] = n_images, n_repeats
        rates[name] = measured[run.alias, run.available.task.name]

    measured = {key: run.rate() for key, run in runs.items()}
    for run in (runs[key] for key in score_keys):
        if options.get("search") is not None:
            n_images, passes = run.search_passes(meta_set, options.get("search") or None)
            name = f"{stand_in(options) or run.alias} on {run.available.task.name}, search, at most"
            images[name], repeats[name] = n_images, round(passes) - 1
            a_second = measured[run.alias, run.available.task.name] * (1 + run.repeats)
            rates[name] = a_second / passes
        suffix = (
            "" if options.get("search") is None else ", for each dropout that the search chooses"
        )
        add(run, suffix, images_to_observe(run.available.seed_sets, meta_set), run.repeats)
        if run.training_domain is not None:
            n = images_to_observe([run.training_domain], None)
            add(run, ", its training domain", n, 0)
    for key, drawn in box_meta_sets.items():
        n = images_to_observe(runs[key].available.seed_sets, drawn)
        add(runs[key], ", keeping boxes", n, runs[key].repeats)
    return Cost(images, repeats, rates)


def _differs(options: Mapping[str, Any]) -> str:
    """Say by which options our side is not what was printed; empty for none."""
    released = options.get("mode", PAPER) == RELEASED
    names = [name for name in CHANGES if not (released and name in ("preset", "metaset"))]
    given = {name: options.get(name) for name in names}
    changed = [
        f"--{name.replace('_', '-')} {value}"
        for name, value in given.items()
        if not (value is None or value is False or value == PRINTED.get(name))
    ]
    return ", ".join([*(["cars and sample sets as in the authors' code"] * released), *changed])


def _tables(
    options: ReproduceBosOptions,
    tables: Sequence[PrintedTable],
    scores: Mapping[Key, pd.DataFrame],
    nested: Mapping[Key, NestedTables],
    data: Mapping[str, AvailableData],
) -> list[Chapter]:
    """Compare each printed table with what was measured."""
    from autoeval.stability.reproduce.side_by_side import SideBySide

    chapters: list[Chapter] = []
    for table in tables:
        by_detector = {alias: rows for (alias, task), rows in scores.items() if task == table.task}
        searched = {
            alias: nested_tables
            for (alias, task), nested_tables in nested.items()
            if task == table.task
        }
        n_sources = len(data[table.task].sources)
        compared = SideBySide(
            table, by_detector, n_sources, stand_in(options), _differs(options), searched
        )
        chapters.append(compared.section())
    return chapters


def _figures(
    options: ReproduceBosOptions,
    figures: Sequence[PrintedFigure],
    scores: Mapping[Key, pd.DataFrame],
    boxes: Mapping[Key, Observations],
    data: Mapping[str, AvailableData],
) -> list[Chapter]:
    """Compare what the paper states of each figure with what was measured."""
    from autoeval.stability.reproduce.side_by_side import own_figure

    instead, differs = stand_in(options), _differs(options)
    chapters: list[Chapter] = []
    for figure in figures:
        measured: Mapping[Key, Any] = boxes if figure.needs_boxes else scores
        seen_by_detector = {
            alias: content for (alias, task), content in measured.items() if task == figure.task
        }
        marks = data[figure.task].marks(instead, differs)
        chapters.append(own_figure(figure, seen_by_detector, marks=marks, instead=instead))
    return chapters
