"""The search from end to end: the dropouts to choose from, strategies, and what each found.

Nested, it chooses a dropout for each group of sources on the sample sets of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm

from autoeval.errors import InputError
from autoeval.estimation.observation.kept_observer import Keeping
from autoeval.estimation.observation.observing import Observer
from autoeval.io.images import UnreadableImageError
from autoeval.io.tasks.seed_set import SeedSet
from autoeval.model.pair_table import SAMPLE
from autoeval.runtime.store import RowStore
from autoeval.stability.dropout_search.trial import (
    Standings,
    Trial,
    executions,
    naive_executions,
)
from autoeval.stability.dropout_search.workbench import Workbench, list_stages
from autoeval.stability.fitting.fit_task import fit_task
from autoeval.stability.fitting.meta_set import sample_set_jobs
from autoeval.stability.metasets.recipe import MetaSetConfig, draw_recipes
from autoeval.stability.network.forward.dropout_spec import N_STAGES, DropoutSpec
from autoeval.stability.passes.presets import scored_settings

RATES = tuple(round(0.05 * k, 2) for k in range(1, 20))
TIE = 0.001  # dropouts whose R² differs by no more than this are equally good
START_RATE = 0.15  # of the greedy search
SHARES = (0.125, 0.25, 0.5)  # of the images of each sample set, one a step of halving; then all
TOLERANCE = 0.01  # R² that halving may lose in all


def grid(
    position: str = "after", rates: Sequence[float] | None = None, *, n_stages: int = N_STAGES
) -> tuple[DropoutSpec, ...]:
    """Return the dropouts of the search: in the paper 15 subsets of four stages times 19 rates.

    Source: Yang et al. 2024, appendix A.

    Parameters
    ----------
    position : str
        See `DropoutSpec`.
    rates : sequence of float, optional
        By default `RATES`, .05 to .95.
    n_stages : int
        Stages of the backbone.

    Examples
    --------
    >>> [spec.stages for spec in grid(rates=[0.15], n_stages=2)]
    [(0,), (1,), (0, 1)]
    >>> len(grid())
    285
    """
    subsets = [s for n in range(1, n_stages + 1) for s in combinations(range(n_stages), n)]
    rates = sorted(set(rates or RATES))
    return tuple(DropoutSpec(position, stages, rate) for stages in subsets for rate in rates)


def stages_of(detector: Any) -> int:
    """Return at how many stages of a detector's network features can be dropped, at most four.

    Parameters
    ----------
    detector : Any
        With ``stages``; four where it names none.
    """
    return min(len(getattr(detector, "stages", ())) or N_STAGES, N_STAGES)


def best_of(specs: Sequence[DropoutSpec], r2: np.ndarray, *, tie: float = TIE) -> DropoutSpec:
    """Return the dropout with the largest R²; among those within `tie` of it, the cheapest.

    A perturbed pass costs the less the later its first dropout; then fewer stages, earlier ones and
    the lower rate are preferred, in this order.

    Parameters
    ----------
    specs : sequence of C DropoutSpec
        Those that were measured.
    r2 : ndarray of shape (C,)
        R² of each.
    tie : float
        Difference of R² that does not count.

    Examples
    --------
    >>> specs = [DropoutSpec("after", (0,), 0.1), DropoutSpec("after", (2,), 0.1)]
    >>> best_of(specs, np.array([0.8005, 0.8])).stages  # equally good, and cheaper
    (2,)
    """
    good = [spec for spec, value in zip(specs, r2, strict=True) if value >= np.max(r2) - tie]
    return min(good, key=lambda spec: (-spec.stages[0], len(spec.stages), spec.stages, spec.rate))


def greedy(trial: Trial, *, tie: float = TIE) -> ChosenDropout:
    """Take the best stages at one rate, then the best rate at these stages, until nothing changes.

    The search starts at the first of the rates nearest to `START_RATE`. Source: Yang et al. 2024,
    appendix A ("in a greedy manner"); the rate to start at is ours.

    Parameters
    ----------
    trial : Trial
        Measures dropouts and counts the work.
    tie : float
        See `best_of`.
    """
    rates = sorted({spec.rate for spec in trial.specs}, key=lambda r: (abs(r - START_RATE), r))
    rate, seen = rates[0], set[DropoutSpec]()
    while True:
        for_stages = trial.measure([spec for spec in trial.specs if spec.rate == rate])
        stages = _choose(for_stages, tie).best.stages
        choice = _choose(trial.measure([s for s in trial.specs if s.stages == stages]), tie)
        if choice.best in seen:
            return choice
        seen.add(choice.best)
        rate = choice.best.rate


def full(trial: Trial, *, tie: float = TIE) -> ChosenDropout:
    """Measure every dropout on every image.

    Parameters
    ----------
    trial : Trial
        Measures dropouts and counts the work.
    tie : float
        See `best_of`.
    """
    return _choose(trial.measure(trial.specs), tie)


def halving(
    trial: Trial,
    *,
    confidence: float = 0.95,
    keep: float = 0.5,
    tie: float = TIE,
) -> ChosenDropout:
    """Evaluate all dropouts on a small share of the images, and only the best ones on more.

    After each of n steps a dropout is dropped if ``gap + z * error <= TOLERANCE / n``, where the
    gap is its R² less the leader's; see `compare_with_leader`. Source: successive halving, Karnin
    et al. 2013, with a test in place of the fixed schedule.

    Parameters
    ----------
    trial : Trial
        Measures dropouts and counts the work.
    confidence : float
        Holds for all dropouts and steps together (Bonferroni); z is the quantile for each.
    keep : float
        Of those that pass, no more than this share of all that entered the step stay.
    tie : float
        See `best_of`.
    """
    left, fate = trial.specs, dict[DropoutSpec, str]()
    steps = sorted({max(share, trial.least_share) for share in SHARES} - {1.0})
    for share in steps:
        standings = trial.measure(left, share)
        # Bonferroni: the error probability is shared by all that are tested in all steps.
        level = 1 - (1 - confidence) / (len(left) * len(steps))
        hopeful = _hopeful(standings, level, TOLERANCE / len(steps))
        order = np.argsort(-standings.r2, kind="stable")
        most = max(1, int(keep * len(left)))
        stay = [i for i in order if hopeful[i]][:most]
        for i, spec in enumerate(left):
            if i not in stay:
                reason = "over the limit" if hopeful[i] else "hopeless"
                fate[spec] = f"{reason} at {share:g} of the images"
        left = tuple(left[i] for i in sorted(stay))
    choice = _choose(trial.measure(left), tie)
    return ChosenDropout(choice.best, choice.r2, fate)


def expected_work(bench: Workbench, strategy: str) -> tuple[float, float]:
    """Return the least and the most work of a strategy, in passes of the whole network.

    The greedy search goes on for as long as the rate changes, mostly not beyond a second round,
    which is taken for the most. Halving keeps half of the dropouts at every step, or fewer.

    Parameters
    ----------
    bench : Workbench
        The sample sets and the dropouts of the search.
    strategy : str
        One of `STRATEGIES`.
    """
    repeats = scored_settings(bench.observer).repeats
    splits = bench.observer.detector.splits_backbone
    costs, images = np.array(_part_costs(bench)), int(bench.sizes.sum())
    costs = costs / costs.sum()

    def passes(specs: Sequence[DropoutSpec]) -> float:
        return float(executions(specs, repeats=repeats, splits_backbone=splits) @ costs) * images

    rates = sorted({spec.rate for spec in bench.specs})
    if strategy == "greedy":
        of_stages = passes([spec for spec in bench.specs if spec.rate == rates[0]])
        last = max(spec.stages for spec in bench.specs)
        of_rates = [passes([s for s in bench.specs if s.stages == at]) for at in (last, (0,))]
        return of_stages + min(of_rates), 2 * (of_stages + max(of_rates))
    whole = passes(bench.specs)
    return (whole, whole) if strategy == "full" else (whole / 8, whole)


STRATEGIES: dict[str, Callable[[Trial], ChosenDropout]] = {
    "full": full,
    "greedy": greedy,
    "halving": halving,
}


@dataclass(frozen=True)
class SearchResult:
    """What one strategy has found.

    Parameters
    ----------
    strategy : str
        Its name.
    choice : ChosenDropout
        The dropout.
    table : DataFrame
        One row a dropout that was measured, the chosen one first: ``position``, ``stages``,
        ``rate``, ``r2`` (estimated for all images where ``share`` is below 1), ``r`` (Pearson's, of
        the images seen), ``share`` of the images, ``undefined`` (sample sets without a score),
        ``fate``.
    executions : ndarray of shape (6,)
        Work of the `PARTS` of the network, 0 of a stage that it lacks.
    summary : dict
        The choice and its price: shares are of naive work, in [0, 1], which measures each dropout
        by itself with passes of the whole network; ``of_shared_clean`` with one clean pass for all;
        ``share_weighted`` weighs executions by the multiply-adds of each part.
    """

    strategy: str
    choice: ChosenDropout
    table: pd.DataFrame
    executions: np.ndarray
    summary: dict[str, Any]


def search_dropout(bench: Workbench, strategies: Sequence[str]) -> list[SearchResult]:
    """Run strategies one after another.

    A later one measures only what no earlier one has, but its work is counted in full.

    Parameters
    ----------
    bench : Workbench
        The sample sets and the dropouts.
    strategies : sequence of str
        Out of `STRATEGIES`.

    Raises
    ------
    InputError
        For another strategy, or if fewer than `MIN_SETS` sample sets have mAP.
    """
    unknown = [name for name in strategies if name not in STRATEGIES]
    if unknown:
        raise InputError(f"Expected strategies among {', '.join(STRATEGIES)}, got {unknown[0]}.")
    repeats, images = scored_settings(bench.observer).repeats, int(bench.sizes.sum())
    n_specs = len(bench.specs)
    alone = images * naive_executions(n_specs, repeats=repeats, share_clean=False)
    together = images * naive_executions(n_specs, repeats=repeats, share_clean=True)
    costs = np.array(_part_costs(bench))
    plain = np.where(costs > 0, 1, 0)  # of a stage that the backbone lacks nothing is executed
    results = []
    for name in strategies:
        trial = Trial(bench)
        choice = STRATEGIES[name](trial)
        table, spent = _table(trial, choice), trial.executions * plain
        summary = {
            "strategy": name,
            "position": choice.best.position,
            "stages": list_stages(choice.best.stages),
            "rate": choice.best.rate,
            "r2": choice.r2,
            "r": table.iloc[0]["r"],
            "executions": int(spent.sum()),
            "naive": int(alone @ plain),
            "share": float(spent @ plain / (alone @ plain)),
            "share_weighted": float(spent @ costs / (alone @ costs)),
            "share_of_shared_clean": float(spent @ plain / (together @ plain)),
            "share_weighted_of_shared_clean": float(spent @ costs / (together @ costs)),
        }
        results.append(SearchResult(name, choice, table, spent, summary))
    return results


def _table(trial: Trial, choice: ChosenDropout) -> pd.DataFrame:
    """List the chosen dropout, then the others by R²: first those measured on all images."""
    rows = [
        {
            "position": spec.position,
            "stages": list_stages(spec.stages),
            "rate": spec.rate,
            **measured,
            "fate": "chosen" if spec == choice.best else choice.fate.get(spec, ""),
            "last": (spec != choice.best, spec in choice.fate, -measured["r2"]),
        }
        for spec, measured in trial.found.items()
    ]
    table = pd.DataFrame(rows).sort_values("last", kind="stable", ignore_index=True)
    return table.drop(columns="last")


def _part_costs(bench: Workbench) -> tuple[float, ...]:
    """Measure the parts on the first image that can be read."""
    for job in bench.sample_sets:
        for number in range(job.size):
            try:
                return bench.observer.detector.part_costs(job.payload[number].image)
            except UnreadableImageError:
                continue
    raise InputError("None of the images of the sample sets can be read.")


@dataclass(frozen=True)
class ChosenDropout:
    """What a strategy has chosen.

    Parameters
    ----------
    best : DropoutSpec
        The dropout.
    r2 : float
        Its R² on all images.
    fate : dict of DropoutSpec to str
        Why others were not followed on.
    """

    best: DropoutSpec
    r2: float
    fate: dict[DropoutSpec, str] = field(default_factory=dict)


def _hopeful(standings: Standings, level: float, allowance: float) -> np.ndarray:
    """Return a mask of the dropouts that may yet beat the leader by more than the allowance.

    standings: of C dropouts
    level: of the one-sided test of each
    allowance: R² that may be lost
    Returned (C,): the leader is always among them
    """
    leader = int(np.argmax(standings.r2))
    reach = norm.ppf(level) * np.maximum(standings.errors, np.finfo(float).tiny)
    hopeful = standings.r2 - standings.r2[leader] + reach > allowance
    hopeful[leader] = True
    return hopeful


def _choose(standings: Standings, tie: float) -> ChosenDropout:
    best = best_of(standings.specs, standings.r2, tie=tie)
    return ChosenDropout(best, float(standings.r2[standings.specs.index(best)]))


@dataclass(frozen=True)
class NestedTables:
    """What each fold of a leave-one-group-out evaluation reads; see `nested_tables`.

    Parameters
    ----------
    choices : mapping of str to ChosenDropout
        The dropout of each group, which its sources had no part in choosing.
    tables : mapping of str to DataFrame
        The score table of all sources under that dropout, by group.
    warnings : tuple of Notice
        Sample sets and images that the search left out, and notes of each fit.
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
    rates: Sequence[float] | None,
) -> Workbench:
    """Return the bench of a search over the sample sets of a task, by one dropout seed.

    Parameters
    ----------
    observer : Observer
        With `ScoredSettings`; the seed also draws the sample sets.
    seed_sets : sequence of SeedSet
        Labelled sources.
    meta_set : MetaSetConfig
        Sample sets to make of each.
    store : RowStore
        Keeps what is measured.
    rates : sequence of float or None
        Those of the paper's search by default, .05 to .95 by .05.
    """
    settings = scored_settings(observer)
    alone = observer.with_settings(replace(settings, repeats=1, wants=(), domain=None))
    recipes = [
        recipe
        for seed_set in seed_sets
        for recipe in draw_recipes(seed_set, meta_set, seed=settings.seed)
    ]
    jobs = sample_set_jobs(alone, seed_sets, recipes)
    specs = grid(settings.dropout.position, rates, n_stages=stages_of(alone.detector))
    return Workbench(alone, jobs, specs, store)


def nested_search(bench: Workbench, groups: Mapping[str, str]) -> dict[str, ChosenDropout]:
    """Search greedily once for each group, on the sample sets of all other groups.

    A search measures only what none before it has. Sources' own images, where the bench has them,
    have no part in a choice.

    Parameters
    ----------
    bench : Workbench
        The sample sets and the dropouts.
    groups : mapping of str to str
        Group of each source; sources of one group are left out together, any other is a group of
        its own.
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
    rates: Sequence[float] | None,
) -> NestedTables:
    """Search a dropout for each group of sources, and score all sources under each that was chosen.

    Source: Yang et al. 2024, appendix A: the dropout is chosen on the training sources. With
    `leave_one_source_out` on these tables, no source that is estimated has had a part in the
    choice. An interrupted run goes on where it stopped.

    Parameters
    ----------
    observer : Observer
        Its settings but for the dropout are those of the scores.
    seed_sets : sequence of SeedSet
        Labelled sources.
    keep : Keeping
        The folder, and who scores; the search runs here.
    meta_set : MetaSetConfig
        Sample sets to make of each source.
    rates : sequence of float or None
        See `search_bench`.
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
    """Name a folder for the rows under a dropout.

    Parameters
    ----------
    spec : DropoutSpec
        The dropout.
    """
    return f"{spec.position}_{list_stages(spec.stages)}_{spec.rate:g}"
