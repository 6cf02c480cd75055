"""The passes that a paper's tables and figures take: a detector on a task, each made once."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from autoeval.errors import InputError
from autoeval.stability.commands.meta_set_options import named_detector, pass_settings
from autoeval.stability.commands.running_time import images_a_second
from autoeval.stability.passes.presets import scored_settings

if TYPE_CHECKING:
    import pandas as pd

    from autoeval.estimation.observation.kept_observer import Keeping
    from autoeval.estimation.observation.observing import Observer
    from autoeval.io.tasks.seed_set import SeedSet
    from autoeval.stability.dropout_search.search import NestedTables
    from autoeval.stability.metasets.recipe import MetaSetConfig
    from autoeval.stability.reproduce.available import AvailableData
    from autoeval.stability.studies.kept_boxes import Observations

FEWEST = 3
REFERENCE = "coco"
PRINTED_SIZE = "paper"
RELEASED: Final = "released"


@dataclass(frozen=True)
class PaperRun:
    """One detector on one task.

    Parameters
    ----------
    alias : str
        Its name in print.
    options : mapping
        Of the command, for this detector.
    observer : Observer
        Runs it in the words of the task.
    available : AvailableData
        The sources at hand.
    folder : Path
        Keeps its rows.
    """

    alias: str
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
        runs[alias, task] = PaperRun(alias, options, observer, available, folder)
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
