"""Fitting on the labelled sources of a task, with sample sets and every score of the detector."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from autoeval.accuracy.measures import OperatingPoint
from autoeval.errors import InputError, TooFewLabelsError
from autoeval.estimation.calibrating import ConfidenceCheck
from autoeval.estimation.category_scores import pair_rows, sources, with_pairs
from autoeval.estimation.checks import unreadable_warning
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.fitting import FitSettings, checked_sets, fit_sets
from autoeval.estimation.labelled_sets import set_of_samples
from autoeval.estimation.observation.kept_observer import Keeping
from autoeval.estimation.observation.observing import Observer
from autoeval.estimation.protocol import (
    BASELINE,
    FitResult,
    HeldOutErrors,
    LeaveOneSourceOut,
    worse_than_constant,
)
from autoeval.io.predictions.category_words import known_spellings
from autoeval.io.tasks.seed_set import SeedSet
from autoeval.model.pair_table import SAMPLE, SEED
from autoeval.model.regression import DEFAULT_METHOD, MIN_SOURCES
from autoeval.runtime import OK
from autoeval.runtime.files import write_table
from autoeval.runtime.store import RowStore
from autoeval.sites.site import Site
from autoeval.stability.fitting.meta_set import BOXES_FILE, apart, recorded_sets, score_meta_set
from autoeval.stability.metasets.recipe import MetaSetConfig, draw_recipes, own_images, save_recipes
from autoeval.stability.methods import make_method
from autoeval.stability.methods.leave_one_out import leave_one_source_out
from autoeval.stability.methods.published_estimator import PublishedEstimator
from autoeval.stability.methods.score_rows import groups_of, mean_over_repeats, seed_rows
from autoeval.stability.methods.scored_pass import with_stages
from autoeval.words import Notice, counted, listed, prefixed

FEWEST_GROUPS = 5
ONE_LINE_LEVEL = 0.01  # share of false warnings where one line is right


def fit_task(
    observer: Observer,
    seed_sets: Sequence[SeedSet],
    keep: Keeping,
    *,
    meta_set: MetaSetConfig | None,
    methods: Sequence[str] = (DEFAULT_METHOD,),
    target: str = "mAP",
    loading: Mapping[str, Any] | None = None,
) -> AccuracyEstimator | PublishedEstimator:
    """Score a detector on a meta-set, evaluate methods by leaving sources out, fit the first one.

    Writes ``recipes.json``, ``scores.parquet``, ``boxes.parquet`` and ``estimator.parquet`` into
    a folder, and the rows of each sample set into its ``rows``, from where an interrupted run goes
    on.

    Parameters
    ----------
    observer : Observer
        The seed of its settings also draws the recipes.
    seed_sets : sequence of SeedSet
        Labelled sources.
    keep : Keeping
        That folder, and who observes.
    meta_set : MetaSetConfig, optional
        Sample sets to make of each; None for its own images alone, all the default reads.
    methods : sequence of str
        The first becomes the estimator; the others are fitted, too, see `FitResult.compared`, and
        written as ``estimator_METHOD.parquet``; the constant predictor is always evaluated.
    target : str
        By the default method also one at a threshold, such as ``recall@0.3``, which is evaluated
        pair by pair of source and category.
    loading : mapping, optional
        How the detector is loaded; kept with the estimator.

    Returns
    -------
    AccuracyEstimator or PublishedEstimator
        The former where the first method is the default.

    Raises
    ------
    InputError
        If there is no such method, no sample set can be scored, or a method does not know the
        target; a `TooFewLabelsError` where the default method is the first and the labels are too
        few for it.
    """
    at_threshold = OperatingPoint.of(target) is not None
    if at_threshold and set(methods) != {DEFAULT_METHOD}:
        raise InputError(
            f"{target} is estimated by '{DEFAULT_METHOD}' alone, not by "
            f"{listed(sorted({*methods} - {DEFAULT_METHOD}))}: leave that out."
        )
    for method in methods:
        make_method(method)  # refused where there is none of this name

    # Scores of all sample sets, and the boxes on the own images of each source.
    warnings = list[Notice]()
    for seed_set in seed_sets:
        warnings += prefixed(seed_set.name, seed_set.warnings)
    context = observer.context()
    if unknown := [name for name, words in context["task"]["words"].items() if not words]:
        text = (
            f"the detector has no word for {listed(unknown)}, so that its average precision there "
            "is 0: add its words to `detector_mapping` in the task file, or leave the category out"
        )
        warnings.append(Notice("category-not-known", text))
    warnings += _unknown_words(observer)
    table, boxes, of_scores = _score(observer, seed_sets, keep, meta_set, target)
    given = {files.name: files.group or "" for files in observer.task.seed_sets}
    stored = [
        replace(labelled, group=given.get(labelled.name, "")) for labelled in recorded_sets(boxes)
    ]
    sets, too_few = _checked_sets(stored, observer.detector.categories)
    warnings += of_scores
    if too_few and methods[0] == DEFAULT_METHOD:
        raise TooFewLabelsError(too_few)
    if too_few and DEFAULT_METHOD in methods:
        # box stability and its like read accuracies of sets, not labels by category
        skipped = f"{DEFAULT_METHOD} was not fitted: {too_few}"
        warnings.append(Notice("not-evaluated", skipped))
        methods = [method for method in methods if method != DEFAULT_METHOD]

    # The default estimator, which reads boxes; and the methods on the table of scores.
    stored_loading = with_stages(loading, getattr(observer.settings, "stages", ()))
    result, of_sets = FitResult(table, target=target), list[Notice]()
    fitted: dict[str, AccuracyEstimator | PublishedEstimator] = {}
    if DEFAULT_METHOD in methods:
        default = fit_sets(sets, context=context, settings=FitSettings(target), scored=table)
        fitted[DEFAULT_METHOD] = replace(
            default, loading_=stored_loading or {}, detector_=observer.detector
        )
        assert default.fit_result_ is not None
        result = default.fit_result_
        # what is evaluated here takes the place of the fit's own evaluation
        of_sets = [w for w in result.warnings if w.code != "no-better-than-constant"]
        table = with_pairs(table, pair_rows(default.table_))
    if not at_threshold:  # there sample sets have no counts of boxes by score
        names = list(dict.fromkeys([*methods, BASELINE]))
        results, of_evaluation = _evaluate(table, names, target)
        result = replace(result, cross_validation=results)
        warnings += of_evaluation
    # A method without features is a constant, which is evaluated and estimates nothing.
    published = [
        m for m in methods if m != DEFAULT_METHOD and (make_method(m).features or m == methods[0])
    ]
    looks = None
    if published and sets:
        notices, looks = checked_sets(sets, ConfidenceCheck())
        of_sets = list(dict.fromkeys([*of_sets, *notices, *looks.warnings]))
    for method in published:
        seen, held_out = dict(context), _held_out(result.cross_validation, method)
        estimator = PublishedEstimator(method, target=target)
        try:
            if looks is not None:
                useless = worse_than_constant(held_out)
                repeated = (*looks.warnings, *useless, *_of_two_lines(table, method, target))
                seen["boxes"] = replace(looks, warnings=repeated).to_dict()
            fitted[method] = estimator.fit(
                table,
                context=seen,
                loading=stored_loading,
                held_out=held_out,
                detector=observer.detector,
            )
        except InputError as error:
            if method == methods[0]:
                raise
            text = f"{method} was not fitted: {error}"
            warnings.append(Notice("not-evaluated", text, severity="note"))

    if methods[0] == DEFAULT_METHOD:  # its file says what was evaluated here
        evaluated = fitted[DEFAULT_METHOD]
        assert isinstance(evaluated, AccuracyEstimator)
        fitted[DEFAULT_METHOD] = replace(evaluated, held_out_=result.held_out)

    # Files, and the first method with the others beside it.
    files = [keep.folder / "scores.parquet"]
    write_table(files[0], table)
    for method in methods:
        if method in fitted:
            name = "estimator" if method == methods[0] else f"estimator_{method}"
            files.append(keep.folder / f"{name}.parquet")
            fitted[method].save(files[-1])
    first = fitted.pop(methods[0])
    result = replace(
        result,
        table=table,
        warnings=(
            *warnings,
            *of_sets,
            *worse_than_constant(_held_out(result.cross_validation, methods[0])),
        ),
        labelled_sets=None,
        files=tuple(files),
        seed_sets=tuple(seed_sets),
        compared=fitted,
    )
    if isinstance(first, AccuracyEstimator):
        return replace(first, fit_result_=result)
    first.fit_result_ = result
    return first


def _unknown_words(observer: Observer) -> list[Notice]:
    """Name words for a category that the detector lacks, where it has others for it: typing errors.

    Where it has none of them, the task was written for other detectors, too.
    """
    words, lacking = observer.detector.categories, dict[str, list[str]]()
    given = observer.task.detector_mapping
    for word, category in given.items():
        if word not in words and not known_spellings([word], words):
            lacking.setdefault(category, []).append(word)
    counts = Counter(given.values())
    lacking = {name: some for name, some in lacking.items() if len(some) < counts[name]}
    return [
        Notice(
            "word-not-known",
            f"the detector has no word {listed(some)}, which `detector_mapping` translates to "
            f"{name}: check the word",
        )
        for name, some in lacking.items()
    ]


def _score(
    observer: Observer,
    seed_sets: Sequence[SeedSet],
    keep: Keeping,
    meta_set: MetaSetConfig | None,
    target: str,
) -> tuple[pd.DataFrame, pd.DataFrame, list[Notice]]:
    """Score the own images and the sample sets of each source.

    Returns
    -------
    table : DataFrame
        The score table with the group of each source.
    boxes : DataFrame
        The boxes on own images, which are written.
    warnings : list of Notice
        What could not be scored.
    """
    recipes, seed = [], observer.settings.seed
    for seed_set in seed_sets:
        recipes.append(own_images(seed_set, seed=seed))
        if meta_set is not None:
            recipes += draw_recipes(seed_set, meta_set, seed=seed)
    save_recipes(keep.folder / "recipes.json", recipes)
    table, counts = score_meta_set(
        observer,
        seed_sets,
        recipes,
        store=RowStore(keep.folder / "rows"),
        executor=keep.executor,
        load=keep.load,
    )
    table, warnings = _usable(table, counts.failed, "mAP" if OperatingPoint.of(target) else target)
    for source, rows in seed_rows(table).groupby("source", sort=False):
        row = rows.iloc[0]
        if row["n_unreadable"]:
            lost, n_images = row["unreadable"].split("; "), row["n_images"] + row["n_unreadable"]
            warnings += prefixed(source, unreadable_warning(lost, n_images))
    table["group"] = table["source"].map(observer.task.groups).fillna(table["source"])
    if len(observer.task.categories) == 1:
        table["category"] = observer.task.categories[0]
    table, boxes = apart(table)
    write_table(keep.folder / BOXES_FILE, boxes)
    return table, boxes, warnings


def _held_out(results: Sequence[LeaveOneSourceOut], method: str) -> HeldOutErrors | None:
    """Return the errors of a method and of the constant; None where it was not evaluated."""
    by_method = {result.method: result for result in results}
    if method not in by_method or BASELINE not in by_method:
        return None
    return HeldOutErrors.of((by_method[method], by_method[BASELINE]))


def _of_two_lines(table: pd.DataFrame, method: str, target: str) -> tuple[Notice, ...]:
    """Warn of a method that is a line on one score where two lines fit better."""
    features = make_method(method).features
    tested = two_lines(table, features[0], target) if len(features) == 1 else None
    return tested.warnings() if tested else ()


def _checked_sets(stored: Iterable[Site], words: Sequence[str]) -> tuple[list[Site], str]:
    """Check the labelled sets of a meta-set; and why the default cannot use one, if so."""
    sets, wrong = [], ""
    for labelled in stored:
        try:
            sets.append(checked_set(labelled, words))
        except TooFewLabelsError as error:
            wrong = wrong or str(error)
    return sets, wrong


def checked_set(stored: Site, words: Sequence[str]) -> Site:
    """Check a labelled set of a meta-set as one of files.

    Parameters
    ----------
    stored : Site
        See `recorded_sets`.
    words : sequence of str
        Of the detector, in which its files would be.

    Raises
    ------
    TooFewLabelsError
        If no category has labels enough for the default.
    """
    site = Site(stored.boxes, truth=stored.truth, name=stored.name, group=stored.group)
    labelled_set = set_of_samples(site)
    statistics = replace(labelled_set.looks, categories=tuple(words))
    return replace(labelled_set, looks=statistics)


def _evaluate(
    table: pd.DataFrame, methods: Sequence[str], target: str
) -> tuple[tuple[LeaveOneSourceOut, ...], list[Notice]]:
    """Evaluate methods by leaving sources out, each as the mean over its categories.

    Returns
    -------
    results : tuple of LeaveOneSourceOut
        Of the methods that could be evaluated; empty with fewer than `MIN_SOURCES` groups.
    warnings : list of Notice
        What could not be evaluated.
    """
    groups = list(dict.fromkeys(table["group"]))
    if len(groups) < MIN_SOURCES:
        text = (
            f"{counted(len(groups), 'group')} of sources "
            f"({', '.join(groups)}): with fewer than {MIN_SOURCES} none can be left out, so "
            "the error at other sites was not measured; add sources of other origin"
        )
        return (), [Notice("few-groups", text, severity="note")]
    results, warnings = list[LeaveOneSourceOut](), list[Notice]()
    for method in methods:
        try:
            results.append(leave_one_source_out(table, method, target=target))
        except InputError as error:
            warnings.append(
                Notice("not-evaluated", f"{method} was not evaluated: {error}", severity="note")
            )
    warnings += [
        Notice(
            "estimates-missing",
            f"{result.method} has no estimate for {result.summary()['missing']} of "
            f"{len(result.per_source)} sources; the constant's stands there",
            severity="note",
        )
        for result in results
        if result.summary()["missing"]
    ]
    return tuple(results), warnings


def _usable(
    table: pd.DataFrame, failed: dict[str, str], target: str
) -> tuple[pd.DataFrame, list[Notice]]:
    """Leave out failed jobs, and sources whose own images have no rows or no labels; say which."""
    warnings = list[Notice]()
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
    seeds = seed_rows(table)
    labelled = set(seeds.loc[seeds[target].notna(), "source"])
    if not labelled:
        raise InputError("The own images of no source could be scored. " + " ".join(warnings))
    scored = set(seeds["source"])
    for source in [name for name in sources(table) if name not in labelled]:
        reason = "could not be scored"
        if source in scored:
            reason = f"hold no labelled object, without which there is no {target}"
        text = f"{source}: its own images {reason}, so it was left out"
        warnings.append(Notice("source-left-out", text))
    return table[table["source"].isin(labelled)].reset_index(drop=True), warnings


@dataclass(frozen=True)
class TwoLines:
    """A test of two lines against one; see `two_lines`.

    Parameters
    ----------
    feature, target : str
        The score and the accuracy.
    gap : float
        Mean accuracy of own images less that of sample sets at the same score, in [-1, 1].
    p_value : float
        Probability of such gaps, or larger ones, where one line is right.
    n_sources : int
        Sources with both kinds of rows.
    """

    feature: str
    target: str
    gap: float
    p_value: float
    n_sources: int

    def warnings(self) -> tuple[Notice, ...]:
        """Warn where one line is not right."""
        if not self.p_value < ONE_LINE_LEVEL:
            return ()
        where = "over" if self.gap > 0 else "under"
        return (
            Notice(
                "not-on-one-line",
                f"at the same {self.feature}, {self.target} of the sources' own images is "
                f"{100 * abs(self.gap):.0f} points {where} that of their sample sets (two lines "
                f"fit better than one, p = {self.p_value:.1g}, {self.n_sources} sources): a line "
                "through the sample sets gives wrong estimates. Use transforms that the detector "
                "is meant for (--metaset FILE), or the methods that read the own images, bayes "
                "and fused",
            ),
        )


def two_lines(table: pd.DataFrame, feature: str, target: str = "mAP") -> TwoLines | None:
    r"""Test whether own images and sample sets need lines of their own.

    The model of row j of source s, with o = 1 for own images and 0 for a sample set, is

    .. math:: y_{sj} = u_s + b x_{sj} + g o_{sj} + t o_{sj} (x_{sj} - \bar x_{own}) + e_{sj}

    where u takes up whatever makes a source as a whole easier or harder. One line means g = t = 0:
    Hotelling's test with 2 and n - 2 degrees of freedom. The covariance of g and t is the
    jackknife's over the n groups of sources, so that a group counts once however many sources and
    sample sets it has. A Chow test with groups as clusters.

    Parameters
    ----------
    table : DataFrame
        A score table; accuracies and scores are averaged over repeats.
    feature, target : str
        Columns of the score x and the accuracy y.

    Returns
    -------
    TwoLines, optional
        None where sources of fewer than `FEWEST_GROUPS` groups have both kinds of rows, or the
        score does not vary.
    """
    rows = mean_over_repeats(table, [feature, target])
    rows = rows[np.isfinite(rows[feature]) & np.isfinite(rows[target])]
    kinds = rows.groupby("source")["kind"].agg(set)
    rows = rows[rows["source"].map(kinds) == {SEED, SAMPLE}]
    source, names = pd.factorize(rows["source"])
    x, y = rows[feature].to_numpy(float), rows[target].to_numpy(float)
    own_images = rows["kind"].to_numpy() == SEED
    group, groups = pd.factorize(rows["source"].astype(str).map(groups_of(table)))
    n = len(groups)
    if n < FEWEST_GROUPS or np.ptp(x[own_images]) == 0 or np.ptp(x[~own_images]) == 0:
        return None
    whole = _gap_and_tilt(source, x, y, own_images)
    without = np.zeros((n, len(whole)))
    for k in range(n):
        kept = group != k
        without[k] = _gap_and_tilt(source[kept], x[kept], y[kept], own_images[kept])
    deviations = without - without.mean(0)
    covariance = (n - 1) / n * deviations.T @ deviations
    from scipy.stats import f  # a quarter of a second that most commands save

    # Hotelling's T² of two coefficients, whose covariance comes from n groups.
    ratio = float(whole @ np.linalg.pinv(covariance) @ whole) * (n - 2) / (2 * (n - 1))
    return TwoLines(feature, target, float(whole[0]), float(f.sf(ratio, 2, n - 2)), len(names))


def _gap_and_tilt(
    source: np.ndarray, x: np.ndarray, y: np.ndarray, own_images: np.ndarray
) -> np.ndarray:
    """Fit g and t of `two_lines` by least squares, (2,)."""
    centred = own_images * (x - x[own_images].mean())
    columns = np.column_stack([own_images.astype(float), centred, x, y])
    _, number = np.unique(source, return_inverse=True)
    sums = np.zeros((number.max() + 1, columns.shape[1]))
    np.add.at(sums, number, columns)
    within = columns - (sums / np.bincount(number)[:, None])[number]
    return np.linalg.lstsq(within[:, :3], within[:, 3], rcond=None)[0][:2]
