"""From labelled seed sets to a fitted estimator."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pandas as pd

from autoeval.errors import InputError
from autoeval.estimation.estimator import MapEstimator
from autoeval.estimation.intervals import MIN_SOURCES
from autoeval.estimation.labels.aid import LabelAid
from autoeval.estimation.labels.recording import BOXES_FILE, apart, learn_from
from autoeval.estimation.meta_set import score_meta_set
from autoeval.estimation.methods import make_method
from autoeval.estimation.observation.observing import ImageDetector, Observer
from autoeval.estimation.observation.presets import PassSettings, light
from autoeval.estimation.observation.travelling import LoadDetector
from autoeval.estimation.protocol import BASELINE, LeaveOneSourceOut, leave_one_source_out
from autoeval.estimation.score_table import seed_rows, sources
from autoeval.metasets.config import MetaSetConfig
from autoeval.metasets.recipe import draw_recipes, own_images, save_recipes
from autoeval.metasets.seed_set import SeedSet
from autoeval.metasets.task import Task
from autoeval.report.numerals import counted
from autoeval.runtime.executors.base import Executor
from autoeval.runtime.states import OK
from autoeval.runtime.store import RowStore
from autoeval.runtime.writers import write_table


@dataclass(frozen=True, repr=False)
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

    def __repr__(self) -> str:
        judged = ", ".join(f"'{held.method}'" for held in self.held_out) or "nothing"
        return f"<Fit of {self.estimator!r}, judged: {judged}, left out: {len(self.problems)}>"


def fit(
    detector: ImageDetector,
    task: Task,
    *,
    work_dir: str | os.PathLike[str],
    methods: Sequence[str] = ("bayes",),
    target: str = "mAP",
    level: float = 0.9,
    meta_set: MetaSetConfig | None = None,
    settings: PassSettings | None = None,
    batch_size: int = 4,
) -> Fit:
    """Fit an estimator for a detector on the labelled seed sets of a task.

    Parameters
    ----------
    detector : ImageDetector
        From `autoeval.load_detector`.
    task : Task
        From `autoeval.load_task`.
    work_dir : path-like
        Keeps what is scored: the same call goes on where one was interrupted.
    methods, target, level
        See `fit_task`.
    meta_set : MetaSetConfig, optional
        Number, size and transforms of sample sets (`MetaSetConfig()` are the paper's); by default
        none, since ``bayes`` reads a source's own images alone.
    settings : PassSettings, optional
        From `autoeval.estimation.observation.presets.preset`; by default each image once, and once
        at half the size.
    batch_size : int
        Changes no number.

    Returns
    -------
    Fit
        With the estimator, which ``estimator.predict(images, detector)`` applies.

    Raises
    ------
    InputError
        As `fit_task`, and if a seed set cannot be read.
    """
    return fit_task(
        Observer(detector, task, settings or light(), batch_size=batch_size),
        task.load_seed_sets(),
        meta_set=meta_set,
        work_dir=Path(work_dir),
        methods=methods,
        target=target,
        level=level,
    )


def fit_task(
    observer: Observer,
    seed_sets: Sequence[SeedSet],
    *,
    meta_set: MetaSetConfig | None,
    work_dir: Path,
    methods: Sequence[str] = ("bayes",),
    target: str = "mAP",
    level: float = 0.9,
    executor: Executor | None = None,
    load: LoadDetector | None = None,
    learn: Callable[[pd.DataFrame], LabelAid | None] = learn_from,
) -> Fit:
    """Score a detector on a meta-set, judge the methods source by source, fit the first one.

    Writes ``recipes.json``, ``scores.parquet`` and ``estimator.parquet`` into ``work_dir``, and the
    rows of each sample set into ``work_dir/rows``, from where an interrupted run goes on.

    Parameters
    ----------
    observer : Observer
        The seed of its settings also draws the recipes.
    seed_sets : sequence of SeedSet
    meta_set : MetaSetConfig or None
        Sample sets to make of each; None for its own images alone, all that ``bayes`` reads.
    work_dir : Path
    methods : sequence of str
        The first becomes the estimator; the constant predictor is always judged beside them.
    target : {"mAP", "mAP50", "mAP75"}
    level : float
        Nominal coverage of the intervals.
    executor, load
        Where sample sets are scored; see `score_meta_set`.
    learn : callable
        What few labels elsewhere are helped by, from the labelled boxes of the sources.

    Raises
    ------
    InputError
        If a method is unknown, or no sample set could be scored.
    """
    judged = list(dict.fromkeys([*methods, BASELINE]))
    for method in judged:
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
    problems = [f"{seed_set.name}: {p}" for seed_set in seed_sets for p in seed_set.problems]
    table = _usable(table, counts.failed, target, problems)
    task = observer.task
    table["family"] = table["source"].map(task.families).fillna(table["source"])
    if len(task.categories) == 1:
        table["category"] = task.categories[0]
    files = (work_dir / "scores.parquet", work_dir / "estimator.parquet")
    table, boxes = apart(table)
    write_table(files[0], table)
    write_table(work_dir / BOXES_FILE, boxes)
    aid = learn(boxes)
    estimator = MapEstimator(methods[0], target=target, level=level)
    estimator.fit_rows(table, context=observer.context(), aid=aid)
    estimator.save(files[1])
    families = list(dict.fromkeys(table["family"]))
    enough = len(families) >= MIN_SOURCES
    if not enough:
        problems.append(
            f"{counted(len(families), 'family', 'families')} of sources ({', '.join(families)}): "
            f"with fewer than {MIN_SOURCES} none can be left out, so how far off estimates are "
            "elsewhere was not measured; add places of other origin"
        )
    held_out = []
    for method in judged if enough else ():
        try:
            held_out.append(leave_one_source_out(table, method, target=target, level=level))
        except InputError as error:
            problems.append(f"{method} was not judged: {error}")
    problems += [
        f"{held.method} has no estimate for {held.summary()['missing']} of {len(held.per_source)} "
        "sources; the constant's stands there"
        for held in held_out
        if held.summary()["missing"]
    ]
    return Fit(estimator, table, tuple(held_out), tuple(problems), files)


def _usable(
    table: pd.DataFrame, failed: dict[str, str], target: str, problems: list[str]
) -> pd.DataFrame:
    """Leave out failed jobs, and sources whose own images have no rows or no labels."""
    if failed:
        first = next(iter(failed.values()))
        problems.append(f"{counted(len(failed), 'sample set')} failed, left out; first: {first}")
    table = table[table["status"] == OK] if len(table) else table
    if table.empty:
        raise InputError("No sample set could be scored. " + " ".join(problems[-1:]))
    own = seed_rows(table)
    known = set(own.loc[own[target].notna(), "source"])
    for source in [name for name in sources(table) if name not in known]:
        problems.append(f"{source}: its own images could not be scored, so it was left out")
    return table[table["source"].isin(known)].reset_index(drop=True)
