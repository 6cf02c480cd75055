"""The pair table: one row for each place and category, the observation of the regression.

Columns: ``kind`` (``"seed"``: a place's images as they come; ``"category"``: the images of a
labelled set that hold the category), ``source`` (place), ``group`` (sources of one origin),
``category``, ``n_images``, one column a score, and ``mAP``, ``mAP50``, ``mAP75`` in [0, 1], here of
the category alone. ``counts``, ``expected_counts`` and ``reference_counts`` hold a `CountCurve`
each as bytes, from which precision, recall and F1 at any threshold follow. ``trained_here`` is true
of a place that the detector was trained on other images of; it may be missing. Rows of a new site
have ``counted``, ``likely_boxes`` and ``expected_objects``; see `autoeval.sites.presence`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from autoeval.accuracy.operating_point import CountCurve, denominators, value_of
from autoeval.errors import InputError
from autoeval.estimation.score_table import SAMPLE, SEED
from autoeval.model import Pairs
from autoeval.model.calibrated_features import EXPECTED, FEATURES, WEIGHT
from autoeval.model.reference_features import BY_REFERENCE, REFERENCE_FEATURES
from autoeval.targets import AP_TARGETS, OperatingPoint

CONFIDENCE = "expected_ap"  # known wherever a category is found
REFERENCE_TRUE = "reference_true_ap"  # of the reference, on labelled images
COUNTS, EXPECTED_COUNTS, REFERENCE_COUNTS = "counts", "expected_counts", "reference_counts"

# What a score counts as where a category is not found; others as 0.
NOTHING_FOUND = {"box_size": -1.8}

COUNTED, LIKELY_BOXES, EXPECTED_OBJECTS = "counted", "likely_boxes", "expected_objects"
TRAINED_HERE = "trained_here"  # column: whether the detector was trained at the place
CATEGORY = "category"  # kind of a row that a labelled set has of one category
ONLY = "all"  # category of a table that has no column for it


def pair_rows(table: pd.DataFrame) -> pd.DataFrame:
    """Take the pairs out of a score table: all but its transformed sample sets.

    Repeats differ in scores of perturbed passes alone, so the first stands for all. A source
    without a group is its own; a table of several categories, with columns ``score/category``, is
    stacked.
    """
    rows = table[table["kind"] != SAMPLE] if "kind" in table else table
    rows = rows[rows["repeat"] == rows["repeat"].min()] if "repeat" in rows else rows
    if "category" not in rows:
        categories = dict.fromkeys(str(n).partition("/")[2] for n in rows if "/" in str(n))
        rows = stack_categories(rows, categories) if categories else rows.assign(category=ONLY)
    if "group" not in rows:
        rows = rows.assign(group=rows.get("source", ""))
    rows = rows.assign(group=rows["group"].fillna(rows.get("source", "")))
    _check_groups(rows)
    return rows.reset_index(drop=True)


def with_pairs(table: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Add the scores of calibrated boxes to the own images of the sources of a score table.

    rows: a pair table of the same sources, see `pair_rows`; with several categories the columns of
        the result are named ``score/category``.
    """
    names = [*FEATURES, EXPECTED_COUNTS, COUNTS, *(f"{target}_std" for target in AP_TARGETS)]
    names = [name for name in names if name in rows]
    if rows["category"].nunique() > 1:
        each = [rows.pivot(index="source", columns="category", values=name) for name in names]
        rows = pd.concat(
            [scores.add_prefix(f"{name}/") for name, scores in zip(names, each, strict=True)],
            axis=1,
        )
    else:
        rows = rows.set_index("source")[names]
    joined = table.join(rows, on="source")
    seed_rows = joined["kind"] == SEED
    nothing = {name: None if rows[name].dtype == object else np.nan for name in rows}
    return joined.assign(
        **{name: joined[name].where(seed_rows, no) for name, no in nothing.items()}
    )


def features_at(target: str) -> tuple[str, ...]:
    """Return the scores that tell of a target.

    >>> features_at("recall@0.3")
    ('expected_recall@0.3', 'likely_share', 'box_size')
    """
    return (f"{EXPECTED}{target}", *FEATURES[1:]) if OperatingPoint.of(target) else FEATURES


def needs_of(features: Iterable[str]) -> frozenset[str]:
    """Return the passes beside the clean one that features read.

    >>> needs_of(["expected_ap"]), needs_of(["expected_ap", "reference_ap"])
    (frozenset(), frozenset({'reference'}))
    """
    return frozenset({"reference"} if {*features} & {*REFERENCE_FEATURES} else ())


def with_target(rows: pd.DataFrame, target: str) -> pd.DataFrame:
    """Add a target at a threshold, and its score, from the counts of pairs.

    Other targets have columns of their own; the target itself is added where objects are labelled.
    """
    point = OperatingPoint.of(target)
    if point is None:
        return rows
    columns = {target: COUNTS, f"{EXPECTED}{target}": EXPECTED_COUNTS}
    columns[f"{BY_REFERENCE}{target}"] = REFERENCE_COUNTS
    missing = {name: curve for name, curve in columns.items() if name not in rows and curve in rows}
    if EXPECTED_COUNTS not in rows and f"{EXPECTED}{target}" not in rows:
        raise InputError(
            f"The table has no counts of boxes by score, which {target} needs: fit again with "
            "this version."
        )
    return rows.assign(
        **{
            name: [
                value_of(point.measure, CountCurve.from_bytes(curve).at(point))
                if isinstance(curve, bytes)
                else np.nan
                for curve in rows[counts]
            ]
            for name, counts in missing.items()
        }
    )


def category_weights(rows: pd.DataFrame, target: str) -> np.ndarray:
    """Return the weight of each category in the value of all together, (N,), sum 1.

    A category that does not count at the site has none; see `counted_rows`.

    Average precision is the mean over categories. At a threshold counts are summed first, so the
    weights are the denominators: boxes for precision, expected objects for recall.
    """
    point, weights = OperatingPoint.of(target), np.ones(len(rows))
    if point is not None and f"{WEIGHT}{target}" in rows:
        weights = rows[f"{WEIGHT}{target}"].fillna(0).to_numpy(np.float64)
    elif point is not None and EXPECTED_COUNTS in rows:
        weights = np.array(
            [
                denominators(point.measure, CountCurve.from_bytes(curve).at(point))[0]
                if isinstance(curve, bytes)
                else 0.0
                for curve in rows[EXPECTED_COUNTS]
            ]
        )
    counted = counted_rows(rows)
    weights = weights * counted
    return weights / weights.sum() if weights.sum() > 0 else counted / counted.sum()


def counted_rows(rows: pd.DataFrame) -> np.ndarray:
    """Return which categories count in the value of all together, (N,) bool; all by default."""
    if COUNTED not in rows:
        return np.ones(len(rows), bool)
    return rows[COUNTED].astype(np.float64).fillna(1).to_numpy(bool)


def measured(rows: pd.DataFrame, name: str) -> np.ndarray:
    """Return whether a score of another pass is known for each pair, or nothing was found, (N,).

    It is undefined where the category is not found, and missing where that pass was not made.
    """
    values = rows[[name, CONFIDENCE]].astype(np.float64)
    return np.asarray(values[name].notna() | values[CONFIDENCE].isna())


def pairs_of(rows: pd.DataFrame, features: Sequence[str], of_one_image: float) -> Pairs:
    """Turn rows into arrays, scores by `values_of`."""
    missing = [name for name in (*features, "n_images") if name not in rows]
    if missing:
        raise InputError(
            f"Expected the columns {', '.join(missing)} but the rows hold only "
            f"{', '.join(map(str, rows.columns[:12]))}."
        )
    _check_measured(rows, features)
    x = values_of(rows, features)
    names = [
        rows[name].astype(str).to_numpy(object) if name in rows else np.full(len(rows), "", object)
        for name in ("group", "source", "category")
    ]
    sampling = of_one_image**2 / rows["n_images"].to_numpy(np.float64)
    return Pairs(x, sampling, *names)


def values_of(rows: pd.DataFrame, features: Sequence[str]) -> np.ndarray:
    """Return scores of pairs (N, P), and where they are undefined what that counts as."""
    values = np.empty((len(rows), len(features)))
    for k, name in enumerate(features):
        values[:, k] = rows[name].to_numpy(np.float64)
    least = np.array([NOTHING_FOUND.get(name, 0.0) for name in features])
    return np.where(np.isfinite(values), values, least)


def _check_measured(rows: pd.DataFrame, features: Sequence[str]) -> None:
    """Make sure that no score counts as 0 because its pass was not made.

    A reference may have no confident box where the detector has one, which does count as 0.
    """
    always_read = (*FEATURES, *REFERENCE_FEATURES)
    computed = (EXPECTED, f"{BY_REFERENCE}precision@")  # from counts
    for name in (n for n in features if n not in always_read and not n.startswith(computed)):
        lacking = rows[~measured(rows, name)] if CONFIDENCE in rows else rows[:0]
        if len(lacking):
            first_row = lacking[[c for c in ("source", "category") if c in lacking]].iloc[0]
            first = (
                " ".join(str(n) for n in first_row if n and not str(n).startswith("\0"))
                or "the place"
            )
            raise InputError(
                f"Expected {name} of every pair with a confident box, but {len(lacking)} of "
                f"{len(rows)} lack it, first {first}: its pass was not made there. Score all "
                "places the same way, or leave that score out of what is read."
            )


def _check_groups(rows: pd.DataFrame) -> None:
    """Make sure that a place is in one group; the categories of a set may be divided."""
    if "source" not in rows:
        return
    places = rows[rows["kind"] != CATEGORY] if "kind" in rows else rows
    groups: dict[str, list[str]] = {}
    for source, group in dict.fromkeys(zip(places["source"], places["group"], strict=True)):
        groups.setdefault(source, []).append(str(group))
    for source, several in groups.items():
        if len(several) > 1:
            raise InputError(
                f"The source {source} is in the groups {', '.join(several)}: a source has one, or "
                "leaving that out would leave its own pairs in. Give all its rows the same group, "
                "or each of two places a name of its own."
            )


def stack_categories(rows: pd.DataFrame, categories: Iterable[str]) -> pd.DataFrame:
    """Turn the columns ``name/category`` of each category into rows, with a column ``category``."""
    of_categories = {str(n).partition("/")[0] for n in rows if "/" in str(n)}
    shared = [n for n in rows if "/" not in str(n) and n not in {"category", *of_categories}]
    parts = []
    for category in categories:
        columns = {n: n.partition("/")[0] for n in rows if str(n).partition("/")[2] == category}
        parts.append(rows[[*shared, *columns]].rename(columns=columns).assign(category=category))
    return pd.concat(parts, ignore_index=True)
