"""The table of pairs: one row for each site and category, the observations of the regression.

A table is a mapping of column name to array, (N,), of numbers, or of texts as objects; a DataFrame
may be read as one. Columns: ``source`` (site), ``group`` (sites of one origin), ``category``,
``n_images``, one column a score, and ``mAP``, ``mAP50``, ``mAP75`` in [0, 1], here of the category
alone. ``counts``, ``expected_counts`` and ``reference_counts`` hold a `CountCurve` each as bytes,
from which precision, recall and F1 at any threshold follow. ``trained_here`` is true of a site that
the detector was trained on other images of; it may be missing. Rows of a new site have ``counted``,
``likely_boxes`` and ``expected_objects``; see `autoeval.sites.site`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from autoeval.accuracy.measures import CountCurve, denominators, value_of
from autoeval.errors import InputError
from autoeval.model.features import BY_REFERENCE, EXPECTED, FEATURES, WEIGHT
from autoeval.model.mixed_model import PredictionInterval
from autoeval.targets import OperatingPoint

Table = Mapping[str, Any]
CONFIDENCE = "expected_ap"  # known wherever a category is found
REFERENCE_TRUE = "reference_true_ap"  # of the reference, on labelled images
COUNTS, EXPECTED_COUNTS, REFERENCE_COUNTS = "counts", "expected_counts", "reference_counts"
HIGHEST = "highest_score"  # of the boxes of a category, over all images of a site
COUNTED, LIKELY_BOXES, EXPECTED_OBJECTS = "counted", "likely_boxes", "expected_objects"
TRAINED_HERE = "trained_here"
SITE = "known_site"  # column of the rows of new images: name of their site in the fit
GROUP = "known_group"  # column of the rows of a new site: its group, one of the fit
SEED, SAMPLE = "seed", "sample"  # kinds: a site's images as they come, and transformed ones
CATEGORY = "category"  # kind of a row that a labelled set has of one category
PRECISION = "precision@"  # before a threshold; has no value where no box is over it
ONLY = "all"  # category of a table that has no column for it
NOTHING_FOUND = {"box_size": -1.8}
"""What a score counts as where a category is not found; others as 0."""


def columns(table: Table) -> dict[str, np.ndarray]:
    """Return a table, or a DataFrame, as a dict of arrays."""
    return {str(name): np.asarray(table[name]) for name in table}


def table_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, np.ndarray]:
    """Lay rows out as columns; NaN, or None beside objects, where a row lacks one.

    >>> table_of([{"a": 1, "b": "x"}, {"a": 2}])
    {'a': array([1, 2]), 'b': array(['x', None], dtype=object)}
    """
    table = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        given = [row[name] for row in rows if name in row]
        numbers = all(isinstance(value, int | float | np.number | np.bool_) for value in given)
        values = [row.get(name, math.nan if numbers else None) for row in rows]
        table[name] = np.array(values) if numbers else np.empty(len(values), object)
        if not numbers:
            table[name][:] = values
    return table


def joined_tables(tables: Sequence[Table]) -> dict[str, np.ndarray]:
    """Append tables; NaN, or None beside objects, where a table lacks a column.

    >>> joined_tables([{"a": [1.0]}, {"a": [2.0], "b": ["x"]}])
    {'a': array([1., 2.]), 'b': array([None, 'x'], dtype=object)}
    """
    parts = [columns(table) for table in tables if n_rows(table)]
    table = {}
    for name in dict.fromkeys(name for part in parts for name in part):
        given = [part[name] for part in parts if name in part]
        numbers = all(column.dtype.kind in "biuf" for column in given)
        missing = math.nan if numbers else None
        values = [part.get(name, np.full(n_rows(part), missing)) for part in parts]
        table[name] = np.concatenate([v if numbers else v.astype(object) for v in values])
    return table


def without_nothing(table: Table) -> dict[str, np.ndarray]:
    """Leave out the columns in which no row has a value."""
    return {
        name: column
        for name, column in columns(table).items()
        if any(value is not None and value == value for value in column)
    }


def n_rows(table: Table) -> int:
    """Return the number of rows, by the first column."""
    return len(table[next(iter(table))]) if len(table) else 0


def rows_where(table: Table, chosen: np.ndarray) -> dict[str, np.ndarray]:
    """Keep the rows that a mask or an index array selects."""
    return {name: column[chosen] for name, column in columns(table).items()}


def features_at(target: str) -> tuple[str, ...]:
    """Return the scores that a target is regressed on.

    >>> features_at("recall@0.3")
    ('expected_recall@0.3', 'likely_share', 'box_size')
    """
    return (f"{EXPECTED}{target}", *FEATURES[1:]) if OperatingPoint.of(target) else FEATURES


def with_target(rows: Table, target: str) -> dict[str, np.ndarray]:
    """Add a target at a threshold, and its score, from the counts of pairs.

    Other targets have columns of their own; the target itself is added where objects are labelled.
    """
    made, point = columns(rows), OperatingPoint.of(target)
    if point is None:
        return made
    if EXPECTED_COUNTS not in made and f"{EXPECTED}{target}" not in made:
        raise InputError(
            f"The table has no counts of boxes by score, which {target} needs: fit again with "
            "this version."
        )
    of_counts = {target: COUNTS, f"{EXPECTED}{target}": EXPECTED_COUNTS}
    of_counts[f"{BY_REFERENCE}{target}"] = REFERENCE_COUNTS
    for name, counts in of_counts.items():
        if name not in made and counts in made:
            made[name] = np.array(
                [
                    value_of(point.measure, CountCurve.from_bytes(curve).at(point))
                    if isinstance(curve, bytes)
                    else math.nan
                    for curve in made[counts]
                ],
                np.float64,
            )
    return made


def category_weights(rows: Table, target: str) -> np.ndarray:
    """Return the weight of each category in the value of all together, (N,), sum 1.

    A category that does not count at the site has none; see `counted_rows`.

    Average precision is the mean over categories. At a threshold counts are summed first, so the
    weights are the denominators: boxes for precision, expected objects for recall.
    """
    point, weights = OperatingPoint.of(target), np.ones(n_rows(rows))
    if point is not None and f"{WEIGHT}{target}" in rows:
        weights = np.nan_to_num(rows[f"{WEIGHT}{target}"])
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


def counted_rows(rows: Table) -> np.ndarray:
    """Return which categories count in the value of all together, (N,) bool; all by default."""
    if COUNTED not in rows:
        return np.ones(n_rows(rows), bool)
    return np.nan_to_num(rows[COUNTED], nan=1.0).astype(bool)


def nothing_over(rows: Table, target: str) -> np.ndarray:
    """Return which pairs have no box over the threshold of a target, (N,), bool.

    None for a target without a threshold, and where the rows have no column `HIGHEST`.

    >>> nothing_over({HIGHEST: [.2, .9]}, "recall@0.5")
    array([ True, False])
    """
    point = OperatingPoint.of(target)
    if point is None or HIGHEST not in rows:
        return np.zeros(n_rows(rows), bool)
    highest = np.nan_to_num(rows[HIGHEST]).astype(np.float32)
    return np.asarray(highest <= np.float32(point.score_thr))  # as `image_counts` compares


def without_boxes(target: str) -> PredictionInterval:
    """Return recall, F1 or precision of images without a box over the threshold.

    Recall and F1 are 0 by their definition, which takes no regression: the interval has width 0.
    Precision is not defined.

    >>> without_boxes("recall@0.5").upper
    0.0
    """
    value = math.nan if target.startswith(PRECISION) else 0.0
    return PredictionInterval(value, value, value, value, 0.0)


def values_of(rows: Table, features: Sequence[str]) -> np.ndarray:
    """Return scores of pairs (N, P), and where they are undefined what that counts as."""
    values = np.empty((n_rows(rows), len(features)))
    for k, name in enumerate(features):
        values[:, k] = rows[name]
    least = np.array([NOTHING_FOUND.get(name, 0.0) for name in features])
    return np.where(np.isfinite(values), values, least)


def leave_one_group_out(groups: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Split rows by their group, as scikit-learn's ``LeaveOneGroupOut`` does.

    groups (N,): of each row; without order, those of equal value are one.
    Yields for each group, in sorted order, the indices of the other rows and of its own.

    >>> [(rest.tolist(), own.tolist()) for rest, own in leave_one_group_out(["b", "a", "b"])]
    [([0, 2], [1]), ([1], [0, 2])]
    """
    names, index = np.unique(np.asarray(groups), return_inverse=True)
    for k in range(len(names)):
        yield np.flatnonzero(index != k), np.flatnonzero(index == k)
