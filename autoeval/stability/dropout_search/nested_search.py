"""Nested search: a dropout for each group of sources, chosen on the sample sets of the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
import pandas as pd

from autoeval.estimation.observation.kept_observer import Keeping
from autoeval.estimation.observation.observing import Observer
from autoeval.estimation.score_table import SAMPLE
from autoeval.io.tasks.seed_set import SeedSet
from autoeval.runtime.store import RowStore
from autoeval.stability.dropout_search.search import ChosenDropout, greedy, grid, stages_of
from autoeval.stability.dropout_search.trial import Trial
from autoeval.stability.dropout_search.workbench import Workbench, list_stages
from autoeval.stability.fitting.fit_task import fit_task
from autoeval.stability.fitting.meta_set import sample_set_jobs
from autoeval.stability.metasets.recipe import MetaSetConfig, draw_recipes
from autoeval.stability.network.forward.dropout_spec import DropoutSpec
from autoeval.stability.passes.presets import scored_settings


@dataclass(frozen=True)
class NestedTables:
    """What each fold of a leave-one-group-out evaluation reads; see `nested_tables`.

    choices: the dropout of each group, which its sources had no part in choosing.
    tables: the score table of all sources under that dropout, by group.
    warnings: sample sets and images that the search left out, and notes of each fit.
    """

    choices: Mapping[str, ChosenDropout]
    tables: Mapping[str, pd.DataFrame]
    warnings: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """Say which dropout was chosen without each group."""
        return [
            f"without {group}: stages {list_stages(choice.best.stages)}, rate "
            f"{choice.best.rate:g} (R² {choice.r2:.2f} over the sample sets of the others)"
            for group, choice in self.choices.items()
        ]


def search_bench(
    observer: Observer,
    seed_sets: Sequence[SeedSet],
    meta_set: MetaSetConfig,
    store: RowStore,
    *,
    rates: Sequence[float] | None = None,
) -> Workbench:
    """Return the bench of a search over the sample sets of a task, by one dropout seed.

    rates: those of the paper's search by default, .05 to .95 by .05.
    """
    settings = scored_settings(observer)
    alone = observer.with_settings(replace(settings, repeats=1, wants=(), domain=None))
    recipes = [
        recipe
        for seed_set in seed_sets
        for recipe in draw_recipes(seed_set, **asdict(meta_set), seed=settings.seed)
    ]
    jobs = sample_set_jobs(alone, seed_sets, recipes)
    specs = grid(settings.dropout.position, rates, n_stages=stages_of(alone.detector))
    return Workbench(alone, jobs, specs, store)


def nested_search(bench: Workbench, groups: Mapping[str, str]) -> dict[str, ChosenDropout]:
    """Search greedily once for each group, on the sample sets of all other groups.

    A search measures only what none before it has. Sources' own images, where the bench has them,
    have no part in a choice.

    groups: of the sources that are left out together; any other is a group of its own.
    """
    by_set = np.array([groups.get(n := str(j.columns["source"]), n) for j in bench.sample_sets])
    transformed = np.array([job.columns["kind"] == SAMPLE for job in bench.sample_sets])
    return {
        left_out: greedy(Trial(bench, transformed & (by_set != left_out)))
        for left_out in dict.fromkeys(by_set.tolist())
    }


def nested_tables(
    observer: Observer,
    seed_sets: Sequence[SeedSet],
    keep: Keeping,
    *,
    meta_set: MetaSetConfig,
    rates: Sequence[float] | None = None,
) -> NestedTables:
    """Search a dropout for each group of sources, and score all sources under each that was chosen.

    Source: Yang et al. 2024, appendix A: the dropout is chosen on the training sources. With
    `leave_one_source_out` on these tables, no source that is estimated has had a part in the
    choice. An interrupted run goes on where it stopped.

    observer: its settings but for the dropout are those of the scores.
    keep: the folder, and who scores; the search runs here.
    """
    store = RowStore(keep.folder / "search" / "rows")
    bench = search_bench(observer, seed_sets, meta_set, store, rates=rates)
    choices = nested_search(bench, observer.task.groups)
    tables: dict[DropoutSpec, pd.DataFrame] = {}
    warnings = [*bench.warnings]
    for spec in dict.fromkeys(choice.best for choice in choices.values()):
        estimator = fit_task(
            observer.with_settings(replace(scored_settings(observer), dropout=spec)),
            seed_sets,
            replace(keep, folder=keep.folder / folder_of(spec)),
            meta_set=meta_set,
            methods=["bos"],
        )
        tables[spec] = estimator.table_
        if estimator.fit_result_ is not None:
            warnings += estimator.fit_result_.warnings
    by_group = {group: tables[choice.best] for group, choice in choices.items()}
    return NestedTables(choices, by_group, tuple(dict.fromkeys(warnings)))


def folder_of(spec: DropoutSpec) -> str:
    """Name a folder for the rows under a dropout."""
    return f"{spec.position}_{list_stages(spec.stages)}_{spec.rate:g}"
