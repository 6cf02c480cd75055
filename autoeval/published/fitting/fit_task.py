"""Fitting on the labelled sources of a task, with sample sets and every score of the detector."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from autoeval.data.tasks.seed_set import SeedSet
from autoeval.data.wording import listed
from autoeval.errors import InputError
from autoeval.estimation.bayesian_regression import DEFAULT_METHOD
from autoeval.estimation.calibrating import CalibratedSets, ConfidenceCheck
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.fitting import checked_sets
from autoeval.estimation.intervals import MIN_SOURCES
from autoeval.estimation.labelled_files import set_of_detector
from autoeval.estimation.labelling import assistance_of
from autoeval.estimation.observation.detector_identity import LoadDetector
from autoeval.estimation.observation.observing import Observer
from autoeval.estimation.pair_table import COUNTS, EXPECTED_COUNTS, FEATURES
from autoeval.estimation.protocol import (
    BASELINE,
    FitResult,
    evaluate_pairs,
    has_families,
    worse_than_constant,
)
from autoeval.estimation.score_table import SEED, sources
from autoeval.labels.pseudo_labels import with_pseudo_labels
from autoeval.notices import Notice, prefixed
from autoeval.published.fitting.meta_set import BOXES_FILE, apart, recorded_sites, score_meta_set
from autoeval.published.metasets.recipe import MetaSetConfig, draw_recipes, own_images, save_recipes
from autoeval.published.methods import make_method
from autoeval.published.methods.leave_one_out import leave_one_source_out
from autoeval.published.methods.published_estimator import PublishedEstimator
from autoeval.published.methods.score_rows import seed_rows
from autoeval.report.tables import counted
from autoeval.runtime import OK
from autoeval.runtime.files import write_table
from autoeval.runtime.job import Executor
from autoeval.runtime.store import RowStore
from autoeval.sites.reference_statistics import ReferenceStatistics
from autoeval.sites.site_boxes import SiteBoxes
from autoeval.targets import AP_TARGETS, OperatingPoint


def fit_task(
    observer: Observer,
    seed_sets: Sequence[SeedSet],
    *,
    meta_set: MetaSetConfig | None,
    work_dir: Path,
    methods: Sequence[str] = (DEFAULT_METHOD,),
    target: str = "mAP",
    level: float = 0.9,
    executor: Executor | None = None,
    load: LoadDetector | None = None,
    pseudo_labels: Path | None = None,
    pseudo_words: Mapping[str, str] | None = None,
    loading: Mapping[str, Any] | None = None,
    calibrate: bool = True,
) -> AccuracyEstimator | PublishedEstimator:
    """Score a detector on a meta-set, evaluate methods by leaving sources out, fit the first one.

    Writes ``recipes.json``, ``scores.parquet``, ``boxes.parquet`` and ``estimator.parquet`` into
    ``work_dir``, and the rows of each sample set into ``work_dir/rows``, from where an interrupted
    run goes on.

    observer: the seed of its settings also draws the recipes.
    meta_set: sample sets to make of each; None for its own images alone, all the default reads.
    methods: the first becomes the estimator; the constant predictor is always evaluated, too.
    target: by the default method also one at a threshold, such as ``recall@0.3``, which is
        evaluated pair by pair of source and category.
    pseudo_labels: folder with a second detector's boxes on the sources; see `with_pseudo_labels`.
    loading: how the detector is loaded; kept with the estimator.
    Returned: `AccuracyEstimator` where the first method is the default, else `PublishedEstimator`.
    """
    at_threshold = OperatingPoint.of(target) is not None
    if at_threshold and set(methods) != {DEFAULT_METHOD}:
        raise InputError(
            f"{target} is estimated by '{DEFAULT_METHOD}' alone, not by "
            f"{listed(sorted({*methods} - {DEFAULT_METHOD}))}: leave that out."
        )
    evaluated = list(dict.fromkeys([*methods, BASELINE]))
    for method in evaluated:
        make_method(method)
    recipes, seed = [], observer.settings.seed
    for seed_set in seed_sets:
        recipes.append(own_images(seed_set, seed=seed))
        if meta_set is not None:
            recipes += draw_recipes(seed_set, **asdict(meta_set), seed=seed)
    save_recipes(work_dir / "recipes.json", recipes)
    table, counts = score_meta_set(
        observer,
        seed_sets,
        recipes,
        store=RowStore(work_dir / "rows"),
        executor=executor,
        load=load,
    )
    warnings = [of for each in seed_sets for of in prefixed(each.name, each.warnings)]
    table = _usable(table, counts.failed, "mAP" if at_threshold else target, warnings)
    task = observer.task
    table["family"] = table["source"].map(task.families).fillna(table["source"])
    if len(task.categories) == 1:
        table["category"] = task.categories[0]
    files = (work_dir / "scores.parquet", work_dir / "estimator.parquet")
    table, boxes = apart(table)
    write_table(work_dir / BOXES_FILE, boxes)
    sites = recorded_sites(boxes)
    if pseudo_labels is not None:
        sites = [with_pseudo_labels(site, pseudo_labels, pseudo_words) for site in sites]
    assistance, why = assistance_of(sites)
    warnings += why
    calibrated = None
    sets = [
        set_of_detector(
            SiteBoxes(of.pool.found), of.truth, name=of.name, family=of.family, everywhere=True
        )
        for of in sites
    ]
    if sets and DEFAULT_METHOD in evaluated:
        calibrated = CalibratedSets.of(sets, calibrate=calibrate)
        table = _with_calibrated(table, calibrated.rows)
    statistics = ReferenceStatistics(())
    if sets:
        check = calibrated.check if calibrated else ConfidenceCheck()
        of_sets, statistics = checked_sets(sets, check)
        warnings += [*of_sets, *statistics.warnings]
    write_table(files[0], table)
    statistics = replace(statistics, categories=tuple(observer.detector.categories))
    made_with: dict[str, Any] = {
        "context": {**observer.context(), "boxes": statistics.to_dict()},
        "loading": loading,
        "detector": observer.detector,
    }
    estimator: AccuracyEstimator | PublishedEstimator
    pairs = None
    if methods[0] == DEFAULT_METHOD:
        estimator = AccuracyEstimator(target=target, level=level).fit_rows(
            table,
            calibration=calibrated.calibration if calibrated else None,
            label_assistance=assistance,
            **made_with,
        )
        pairs = estimator.regression_.rows_ if at_threshold else None
    else:
        estimator = PublishedEstimator(methods[0], target=target, level=level)
        estimator.fit(table, **made_with)
    if pairs is not None:
        results = [*evaluate_pairs(pairs, target=target, level=level)]
    else:
        results = _evaluate(table, evaluated, target, level, warnings)
    in_points = at_threshold or target in AP_TARGETS  # counting errors are not
    useless = worse_than_constant(tuple(results)) if in_points else ()
    estimator.context_["boxes"] = statistics.warning(*useless).to_dict()
    estimator.save(files[1])
    estimator.fit_result_ = FitResult(
        table,
        tuple(results),
        tuple(warnings),
        by_category=pairs is not None and not has_families(pairs),
        reliability=calibrated.bins if calibrated else None,
        files=files,
        seed_sets=tuple(seed_sets),
    )
    return estimator


def _with_calibrated(table: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Add the scores of calibrated boxes to the rows of the sources' own images."""
    names = [*FEATURES, EXPECTED_COUNTS, COUNTS, *(f"{target}_std" for target in AP_TARGETS)]
    if rows["category"].nunique() > 1:
        each = [rows.pivot(index="source", columns="category", values=name) for name in names]
        rows = pd.concat(
            [of.add_prefix(f"{name}/") for name, of in zip(names, each, strict=True)], axis=1
        )
    else:
        rows = rows.set_index("source")[names]
    joined = table.join(rows, on="source")
    own = joined["kind"] == SEED
    nothing = {name: None if rows[name].dtype == object else np.nan for name in rows}
    return joined.assign(**{name: joined[name].where(own, no) for name, no in nothing.items()})


def _evaluate(
    table: pd.DataFrame, methods: Sequence[str], target: str, level: float, warnings: list[str]
) -> list[Any]:
    families = list(dict.fromkeys(table["family"]))
    if len(families) < MIN_SOURCES:
        warnings.append(
            Notice(
                "few-groups",
                f"{counted(len(families), 'family', 'families')} of sources "
                f"({', '.join(families)}): with fewer than {MIN_SOURCES} none can be left out, so "
                "the error at other sites was not measured; add sources of other origin",
            )
        )
        return []
    results = []
    for method in methods:
        try:
            results.append(leave_one_source_out(table, method, target=target, level=level))
        except InputError as error:
            warnings.append(Notice("not-evaluated", f"{method} was not evaluated: {error}"))
    warnings += [
        Notice(
            "estimates-missing",
            f"{result.method} has no estimate for {result.summary()['missing']} of "
            f"{len(result.per_source)} sources; the constant's stands there",
        )
        for result in results
        if result.summary()["missing"]
    ]
    return results


def _usable(
    table: pd.DataFrame, failed: dict[str, str], target: str, warnings: list[str]
) -> pd.DataFrame:
    """Leave out failed jobs, and sources whose own images have no rows or no labels."""
    if failed:
        first = next(iter(failed.values()))
        warnings.append(
            Notice(
                "sets-failed",
                f"{counted(len(failed), 'sample set')} failed, left out; first: {first}",
            )
        )
    table = table[table["status"] == OK] if len(table) else table
    if table.empty:
        raise InputError("No sample set could be scored. " + " ".join(warnings[-1:]))
    own = seed_rows(table)
    known = set(own.loc[own[target].notna(), "source"])
    for source in [name for name in sources(table) if name not in known]:
        warnings.append(
            Notice(
                "source-left-out",
                f"{source}: its own images could not be scored, so it was left out",
            )
        )
    return table[table["source"].isin(known)].reset_index(drop=True)
