"""Make tables and figures of the box-stability paper from its data sets, compared with print.

Partial data gives partial tables, marked. Needs no converter: the sets are read as published.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from typing_extensions import Unpack

from autoeval.api.options import PassOptions, check_names
from autoeval.errors import InputError
from autoeval.stability.commands.meta_set_options import (
    LIGHT,
    PAPER,
    MetaSetOptions,
    PerturbedOptions,
    check_rates,
    named_detector,
    pass_settings,
    refuse_options,
)
from autoeval.stability.commands.running_time import images_a_second
from autoeval.stability.passes.presets import scored_settings

if TYPE_CHECKING:
    import pandas as pd

    from autoeval.estimation.observation.kept_observer import Keeping
    from autoeval.estimation.observation.observing import Observer
    from autoeval.io.tasks.seed_set import SeedSet
    from autoeval.report.compared_with_print import Chapter
    from autoeval.stability.dropout_search.search import NestedTables
    from autoeval.stability.metasets.recipe import MetaSetConfig
    from autoeval.stability.reproduce.available import AvailableData, Cost
    from autoeval.stability.reproduce.side_by_side import PrintedFigure, PrintedTable
    from autoeval.stability.studies.kept_boxes import Observations


Key = tuple[str, str]
"""Alias of a detector, and name of a task."""
P = TypeVar("P", "PrintedTable", "PrintedFigure")
T = TypeVar("T")
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
FEWEST = 3
REFERENCE = "coco"
PRINTED_SIZE = "paper"
RELEASED: Final = "released"


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
    search = options.get("search")  # none without rates: the paper's
    cost = _cost(stand_in(options), runs, score_keys, box_meta_sets, meta_set, search)
    print(cost.text(), file=sys.stderr)
    scores: dict[Key, pd.DataFrame] = {}
    nested: dict[Key, NestedTables] = {}
    boxes: dict[Key, Observations] = {}
    if not options.get("dry_run", False):
        if search is None:
            scores = {key: runs[key].scores(meta_set) for key in score_keys}
        else:
            nested = {key: runs[key].nested(meta_set, search or None) for key in score_keys}
            scores = {key: next(iter(of_key.tables.values())) for key, of_key in nested.items()}
        boxes = {key: runs[key].boxes(drawn) for key, drawn in box_meta_sets.items()}
    compared = _compared(options, tables, figures, scores, nested, boxes, data)
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
    instead: str,
    runs: dict[Key, PaperRun],
    score_keys: Sequence[Key],
    box_meta_sets: Mapping[Key, MetaSetConfig | None],
    meta_set: MetaSetConfig,
    search: Sequence[float] | None,
) -> Cost:
    """Count what the passes observe, and measure how fast."""
    from autoeval.stability.reproduce.available import Cost, RunCost, images_to_observe

    costs: dict[str, RunCost] = {}
    rates = {key: run.rate() for key, run in runs.items()}
    for key in score_keys:
        run, name, after = runs[key], _name_of(key, instead), ""
        if search is not None:
            n, passes = run.search_passes(meta_set, search or None)
            rate = rates[key] * (1 + run.repeats) / passes
            costs[f"{name}, search, at most"] = RunCost(n, round(passes) - 1, rate)
            after = ", for each dropout that the search chooses"
        n = images_to_observe(run.available.seed_sets, meta_set)
        costs[f"{name}{after}"] = RunCost(n, run.repeats, rates[key])
        if run.training_domain is not None:
            n = images_to_observe([run.training_domain], None)
            costs[f"{name}, its training domain"] = RunCost(n, 0, rates[key])
    for key, drawn in box_meta_sets.items():
        n = images_to_observe(runs[key].available.seed_sets, drawn)
        name = f"{_name_of(key, instead)}, keeping boxes"
        costs[name] = RunCost(n, runs[key].repeats, rates[key])
    return Cost(costs)


def _name_of(key: Key, instead: str) -> str:
    alias, task = key
    return f"{instead or alias} on {task}"


def _differs(options: Mapping[str, Any]) -> str:
    """Say in what the options make our side differ from print; empty for none."""
    released = options.get("mode", PAPER) == RELEASED
    names = [name for name in CHANGES if not (released and name in ("preset", "metaset"))]
    given = {name: options.get(name) for name in names}
    changed = [
        f"--{name.replace('_', '-')} {value}"
        for name, value in given.items()
        if not (value is None or value is False or value == PRINTED.get(name))
    ]
    if released:
        changed.insert(0, "cars and sample sets as in the authors' code")
    if instead := stand_in(options):
        changed.insert(0, f"own figures are those of {instead}")
    return ", ".join(changed)


def _compared(
    options: ReproduceBosOptions,
    tables: Sequence[PrintedTable],
    figures: Sequence[PrintedFigure],
    scores: Mapping[Key, pd.DataFrame],
    nested: Mapping[Key, NestedTables],
    boxes: Mapping[Key, Observations],
    data: Mapping[str, AvailableData],
) -> list[Chapter]:
    """Compare each printed table, and what the paper states of each figure, with our own."""
    from autoeval.stability.reproduce.side_by_side import SideBySide, own_figure

    instead, differs = stand_in(options), _differs(options)
    chapters: list[Chapter] = []
    for table in tables:
        measured, searched = _of_task(scores, table.task), _of_task(nested, table.task)
        n_sources = len(data[table.task].sources)
        compared = SideBySide(table, measured, n_sources, instead, differs, searched)
        chapters.append(compared.section())
    for figure in figures:
        seen = _of_task(boxes if figure.needs_boxes else scores, figure.task)
        marks = data[figure.task].marks(differs)
        chapters.append(own_figure(figure, seen, marks=marks, instead=instead))
    return chapters


def _of_task(by_key: Mapping[Key, T], task: str) -> dict[str, T]:
    return {alias: of_key for (alias, of_task), of_key in by_key.items() if of_task == task}


@dataclass(frozen=True)
class PaperRun:
    """One detector on one task.

    Parameters
    ----------
    options : mapping
        Of the command, for this detector.
    observer : Observer
        Runs it in the words of the task.
    available : AvailableData
        The sources at hand.
    folder : Path
        Keeps its rows.
    """

    options: Mapping[str, Any]
    observer: Observer[Any]
    available: AvailableData
    folder: Path

    @property
    def repeats(self) -> int:
        """Perturbed passes an image."""
        return scored_settings(self.observer).repeats

    @property
    def training_domain(self) -> SeedSet | None:
        """The source that stands for the detector's training domain, where it is at hand."""
        name = self.options.get("domain_source") or REFERENCE
        return next((s for s in self.available.seed_sets if s.name == name), None)

    def rate(self) -> float:
        """Return images a second, on a few images after a first one."""
        return images_a_second(self.observer, self.available.seed_sets[0])

    def scores(self, meta_set: MetaSetConfig) -> pd.DataFrame:
        """Return the score table; what the folder holds is not done again.

        Parameters
        ----------
        meta_set : MetaSetConfig
            How sample sets are drawn.
        """
        from autoeval.stability.fitting.fit_task import fit_task

        estimator = fit_task(
            self._with_training_domain(),
            self.available.seed_sets,
            self._keeping(),
            meta_set=meta_set,
            methods=["bos"],
        )
        assert estimator.fit_result_ is not None
        _print_warnings(estimator.fit_result_.warnings)
        return estimator.table_

    def nested(self, meta_set: MetaSetConfig, rates: Sequence[float] | None) -> NestedTables:
        """Search a dropout without each group, and return the score tables under each chosen.

        Parameters
        ----------
        meta_set : MetaSetConfig
            How sample sets are drawn.
        rates : sequence of float, optional
            Rates to try; those of the search by default.
        """
        from autoeval.stability.dropout_search.search import nested_tables

        tables = nested_tables(
            self._with_training_domain(),
            self.available.seed_sets,
            self._keeping(),
            meta_set=meta_set,
            rates=rates,
        )
        _print_warnings(tables.warnings)
        return tables

    def search_passes(
        self, meta_set: MetaSetConfig, rates: Sequence[float] | None
    ) -> tuple[int, float]:
        """Return the images of the search, and the passes of each image at most.

        Sample sets are shared by the searches without each group, which mostly choose among the
        same dropouts.

        Parameters
        ----------
        meta_set, rates
            See `nested`.
        """
        from autoeval.runtime.store import RowStore
        from autoeval.stability.dropout_search.search import expected_work, search_bench

        store = RowStore(self.folder / "search" / "rows")
        bench = search_bench(self.observer, self.available.seed_sets, meta_set, store, rates=rates)
        n_images = int(bench.sizes.sum())
        return n_images, expected_work(bench, "greedy")[1] / n_images

    def _keeping(self) -> Keeping:
        """Return where rows are kept, and who observes."""
        kept = named_detector(self.options).keeping(self.folder)
        assert kept is not None
        return kept

    def _with_training_domain(self) -> Observer[Any]:
        """Add what the Fréchet distance and ATC need to know of the training domain."""
        from autoeval.stability.fitting.kept_domain import DOMAINS, kept_source_domain

        seen, source = self.observer, self.training_domain
        if source is None:
            name = self.options.get("domain_source") or REFERENCE
            _print_warnings([f"no Fréchet distance: no source {name} at hand (--domain-source)"])
            return seen
        try:
            domain = kept_source_domain(seen, source, self.folder / DOMAINS)
        except InputError as error:
            _print_warnings([f"no Fréchet distance: {error}"])
            return seen
        return seen.with_settings(replace(scored_settings(seen), domain=domain))

    def boxes(self, meta_set: MetaSetConfig | None) -> Observations:
        """Return all boxes of own images, and of sample sets where those are asked for.

        Parameters
        ----------
        meta_set : MetaSetConfig or None
            How sample sets are drawn; None for own images alone.
        """
        from autoeval.stability.studies.kept_boxes import observe_task

        settings = replace(scored_settings(self.observer), wants=(), domain=None)
        observations = observe_task(
            self.observer.with_settings(settings),
            folder=self.folder / "boxes",
            meta_set=meta_set,
            seed_sets=self.available.seed_sets,
        )
        _print_warnings(observations.warnings)
        return observations


def find_runs(
    command_options: Mapping[str, Any],
    wanted: list[tuple[str, str]],
    data: dict[str, AvailableData],
    work_dir: Path,
) -> dict[tuple[str, str], PaperRun]:
    """Load each detector for the tasks that have enough data, naming those that cannot be.

    Parameters
    ----------
    command_options : mapping
        Options of the command.
    wanted : list of (str, str)
        Aliases of detectors, and tasks.
    data : dict of str to AvailableData
        By task.
    work_dir : Path
        Where rows are kept.
    """
    from autoeval.estimation.observation.observing import Observer

    runs: dict[tuple[str, str], PaperRun] = {}
    for alias, task in dict.fromkeys(wanted):
        available, options = data[task], _options(command_options, alias)
        if len(available.seed_sets) < FEWEST:
            _print_warnings([f"{task}: fewer than {FEWEST} sources, so no table"])
            continue
        try:
            # The training domain is observed when the run starts.
            at_first = {**options, "domain_source": None}
            run, settings = named_detector(options), pass_settings(at_first)
            observer: Observer = Observer(run.loaded, available.task, settings, reading=run.reading)
        except InputError as error:
            _print_warnings([f"{alias} on {task} is left out: {error}"])
            continue
        folder = work_dir / f"{stand_in(command_options) or alias}_{task}"
        runs[alias, task] = PaperRun(options, observer, available, folder)
    return runs


def stand_in(options: Mapping[str, Any]) -> str:
    """Return the detector that was asked for in place of the tables' own; empty for none.

    Parameters
    ----------
    options : mapping of str
        Of the command.
    """
    name = options.get("detector") or ""
    return Path(name).stem if name.endswith(".py") else name


def _options(command_options: Mapping[str, Any], alias: str) -> dict[str, Any]:
    """Return the options of one detector: the one given, or the table's own at the printed size."""
    from autoeval.detectors.building.aliases import detector_names

    options = dict(command_options)
    if not options.get("detector"):
        names = [f"{PRINTED_SIZE}/{alias}", alias]
        if options.get("mode") == RELEASED:
            names.insert(0, f"{PRINTED_SIZE}/{alias}_car")
        options["detector"] = next((name for name in names if name in detector_names()), alias)
    if options.get("checkpoint") is None and options.get("checkpoints"):
        weights = Path(options["checkpoints"]) / f"{alias}.pth"
        if weights.is_file():
            options["checkpoint"] = str(weights)
    return options


def _print_warnings(warnings: Any) -> None:
    for warning in warnings:
        print(f"note: {warning}", file=sys.stderr)
