"""From a task to a fitted estimator, and from a fitted estimator to unlabelled images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from autoeval.data.unlabelled import UnlabelledImage
from autoeval.detections import Evidence
from autoeval.detectors.detector import Detector
from autoeval.errors import InputError
from autoeval.estimation.categories import estimate_categories
from autoeval.estimation.collect import UnlabelledSamples, collect
from autoeval.estimation.estimate import Estimate
from autoeval.estimation.estimator import MapEstimator
from autoeval.estimation.intervals import MIN_SOURCES
from autoeval.estimation.meta_set import context, score_meta_set
from autoeval.estimation.methods import make_method
from autoeval.estimation.presets import PassSettings
from autoeval.estimation.protocol import LeaveOneSourceOut, leave_one_source_out
from autoeval.estimation.sampling import RESAMPLED, RESAMPLES
from autoeval.estimation.score_table import seed_rows, sources
from autoeval.estimation.scorer import LoadDetector
from autoeval.metasets.config import MetaSetConfig
from autoeval.metasets.recipe import draw_recipes, own_images, save_recipes
from autoeval.metasets.seed_set import SeedSet
from autoeval.metasets.task import Task
from autoeval.runtime.executors.base import Executor
from autoeval.runtime.progress import announced_bar
from autoeval.runtime.shards import Shards, Undivided
from autoeval.runtime.store import OK, RowStore
from autoeval.runtime.writers import write_table

BASELINE = "constant"


@dataclass(frozen=True)
class Fit:
    """A fitted estimator with the evidence for and against it.

    Parameters
    ----------
    estimator : MapEstimator
    table : DataFrame
        Score table it was fitted on.
    held_out : tuple of LeaveOneSourceOut
        Results of the estimator's method and of the baselines; empty with fewer than three sources.
    problems : tuple of str
        What was left out on the way.
    files : tuple of Path
        The score table and the estimator as written.
    """

    estimator: MapEstimator
    table: pd.DataFrame
    held_out: tuple[LeaveOneSourceOut, ...]
    problems: tuple[str, ...]
    files: tuple[Path, ...] = ()


def fit_task(
    detector: Detector,
    task: Task,
    seed_sets: Sequence[SeedSet],
    *,
    meta_set: MetaSetConfig,
    settings: PassSettings,
    work_dir: Path,
    methods: Sequence[str] = ("fused",),
    target: str = "mAP",
    level: float = 0.9,
    batch_size: int = 4,
    executor: Executor | None = None,
    load: LoadDetector | None = None,
) -> Fit:
    """Score a detector on a meta-set, judge the methods source by source, fit the first one.

    Writes ``recipes.json``, ``scores.parquet`` and ``estimator.parquet`` into ``work_dir``, and the
    rows of each sample set into ``work_dir/rows``, from where an interrupted run goes on.

    Parameters
    ----------
    detector : Detector
    task : Task
    seed_sets : sequence of SeedSet
    meta_set : MetaSetConfig
    settings : PassSettings
        Its seed also draws the recipes.
    work_dir : Path
    methods : sequence of str
        The first becomes the estimator; the constant predictor is always judged beside them.
    target : {"mAP", "mAP50", "mAP75"}
    level : float
        Nominal coverage of the intervals.
    batch_size : int
    executor, load
        Where sample sets are scored; see `score_meta_set`.

    Raises
    ------
    InputError
        If a method is unknown, or no sample set could be scored.
    """
    judged = list(dict.fromkeys([*methods, BASELINE]))
    for method in judged:
        make_method(method)
    recipes = []
    for seed_set in seed_sets:
        recipes.append(own_images(seed_set, seed=settings.seed))
        recipes += draw_recipes(seed_set, **asdict(meta_set), seed=settings.seed)
    save_recipes(work_dir / "recipes.json", recipes)
    table, counts = score_meta_set(
        detector,
        task,
        seed_sets,
        recipes,
        settings=settings,
        store=RowStore(work_dir / "rows"),
        batch_size=batch_size,
        executor=executor,
        load=load,
    )
    problems = [f"{seed_set.name}: {p}" for seed_set in seed_sets for p in seed_set.problems]
    table = _usable(table, counts.failed, target, problems)
    files = (work_dir / "scores.parquet", work_dir / "estimator.parquet")
    write_table(files[0], table)
    estimator = MapEstimator(methods[0], target=target, level=level)
    estimator.fit(table, context=context(detector, task, settings))
    estimator.save(files[1])
    enough = len(sources(table)) >= MIN_SOURCES
    held_out = []
    for method in judged if enough else ():
        try:
            held_out.append(leave_one_source_out(table, method, target=target, level=level))
        except InputError as error:
            problems.append(f"{method} was not judged: {error}")
    return Fit(estimator, table, tuple(held_out), tuple(problems), files)


def estimate_images(
    detector: Detector,
    estimator: MapEstimator,
    task: Task,
    images: Sequence[UnlabelledImage],
    *,
    settings: PassSettings,
    batch_size: int = 4,
    watch: Callable[[Evidence], object] = lambda evidence: None,
    shards: Shards | None = None,
) -> tuple[Estimate, dict[str, Any]]:
    """Estimate the mAP of a detector on images without labels.

    Parameters
    ----------
    detector : Detector
    estimator : MapEstimator
    task : Task
    images : sequence of UnlabelledImage
    settings : PassSettings
    batch_size : int
        Changes no number.
    watch : callable
        Called with the evidence of each image.
    shards : Shards, optional
        Which processes share the images; see `collect`.

    Returns
    -------
    estimate : Estimate
        Its guards also count the images that could not be read.
    row : dict
        What the pass says, such as ``n_unreadable`` and ``unreadable``; scores are means over the
        repeats.

    Raises
    ------
    InputError
        If the estimator was fitted with another detector or other settings, or no image can be
        read.
    """
    estimator.check_context(context(detector, task, settings))
    shards = shards or Undivided()
    mine = len(shards.part(len(images)))
    with announced_bar(mine, "observing images", disable=not shards.leads) as bar:
        rows = collect(
            detector,
            UnlabelledSamples(images),
            categories=task.categories,
            lookup=task.lookup(detector.categories),
            settings=replace(settings, measures=()),
            batch_size=batch_size,
            advance=bar.update,
            watch=watch,
            shards=shards,
            resamples=RESAMPLES,
        )
    table = pd.DataFrame(rows)
    estimate = estimator.predict_rows(table, backbone=detector.backbone)
    if len(task.categories) > 1:
        estimate = replace(estimate, per_category=_per_category(estimator, table))
    lost = rows[0]["n_unreadable"]
    if lost:
        reason = f"{lost} of {len(images)} images could not be read and were left out"
        estimate = replace(estimate, guards=(*estimate.guards, reason))
    row = {name: value for name, value in rows[0].items() if name != RESAMPLED}
    return estimate, row | table.select_dtypes("float").mean().to_dict()


def _per_category(estimator: MapEstimator, rows: pd.DataFrame) -> dict[str, dict[str, float]]:
    categories = estimate_categories(
        estimator.table_,
        rows,
        method=estimator.method,
        target=estimator.target,
        level=estimator.level,
    ).rename(columns={"estimate": "value"})
    return categories.set_index("category")[["value", "lower", "upper"]].to_dict("index")


def _usable(
    table: pd.DataFrame, failed: dict[str, str], target: str, problems: list[str]
) -> pd.DataFrame:
    """Leave out failed jobs, and sources whose own images have no rows or no labels."""
    if failed:
        first = next(iter(failed.values()))
        problems.append(f"{len(failed)} sample sets failed and were left out; first: {first}")
    table = table[table["status"] == OK] if len(table) else table
    if table.empty:
        raise InputError("No sample set could be scored. " + " ".join(problems[-1:]))
    own = seed_rows(table)
    known = set(own.loc[own[target].notna(), "source"])
    for source in [name for name in sources(table) if name not in known]:
        problems.append(f"{source}: its own images could not be scored, so it was left out")
    return table[table["source"].isin(known)].reset_index(drop=True)
