"""What published methods read of a score table: checks, rows of a kind, columns as arrays.

A score table has a row for each repeat of each set of images: ``source``, ``sample_set``, ``kind``
(`SEED` of a source's own images, `SAMPLE` of a sample set), ``repeat``, a column for each feature
of a score, such as ``bos`` and ``ps@0.95``, and ``mAP``, ``mAP50`` and ``mAP75`` in [0, 1];
``bos/car`` and ``mAP/car`` are of one category.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow

from autoeval.accuracy.measures import Target, find_target
from autoeval.errors import InputError
from autoeval.estimation.category_scores import REQUIRED, sources, stack_categories
from autoeval.model.pair_table import SAMPLE, SEED
from autoeval.words import listed

ROUNDING = 1e-9
_THRESHOLDED = re.compile(r"(?P<score>.+)@(?P<threshold>\d\.\d\d)")


def check_score_table(table: pd.DataFrame, columns: tuple[str, ...]) -> None:
    """Make sure that a table can be fitted on.

    Parameters
    ----------
    table : DataFrame
        A score table.
    columns : tuple of str
        Columns that are read of it.

    Raises
    ------
    InputError
        If it lacks one of `REQUIRED` or of `columns`, has no row, or one of `columns` holds no
        numbers.
    """
    missing = [c for c in REQUIRED if c not in table]
    if missing:
        raise InputError(
            f"Expected a score table with columns {', '.join(REQUIRED)} "
            f"but {', '.join(missing)} are missing."
        )
    if table.empty:
        raise InputError("Expected a score table with rows but it is empty: did every job fail?")
    check_features(table, columns)


def check_features(rows: pd.DataFrame, features: Sequence[str]) -> None:
    """Make sure that rows hold the features that a method reads, as numbers.

    Parameters
    ----------
    rows : DataFrame
        Of a score table.
    features : sequence of str
        The columns.

    Raises
    ------
    InputError
        If one is missing, or holds no numbers.
    """
    missing = [name for name in features if name not in rows]
    if missing:
        reasons = json.loads(rows["absent"].iloc[0]) if "absent" in rows and len(rows) else {}
        reasons_given = "; ".join(f"{score}: {reason}" for score, reason in reasons.items())
        raise InputError(
            f"Expected the columns {', '.join(missing)} but they are missing from these rows."
            + (f" Absent in this pass: {reasons_given}." if reasons_given else "")
        )
    for name in features:
        if not pd.api.types.is_numeric_dtype(rows[name]):
            raise InputError(f"Expected numbers in the column {name}, got {rows[name].dtype}.")


def check_target(values: pd.Series, target: Target) -> None:
    """Make sure that true values are possible ones.

    Parameters
    ----------
    values : Series of float
        Those that are not finite are passed over.
    target : Target
        What they are of.

    Raises
    ------
    InputError
        If one is below 0 or over the highest possible value.
    """
    defined = values[np.isfinite(values)]
    impossible = defined[(defined < -ROUNDING) | (defined > target.upper + ROUNDING)]
    if len(impossible):
        raise InputError(
            f"Expected {target.name} in 0 to {target.upper:g} but {len(impossible)} of "
            f"{len(values)} rows are outside, such as {impossible.iloc[0]:g}: is it in another "
            "unit?"
        )


def check_varies(rows: pd.DataFrame, features: Sequence[str]) -> None:
    """Make sure that a regression has something to go by.

    Parameters
    ----------
    rows : DataFrame
        Of a score table; a site may be left out.
    features : sequence of str
        Of a regression.

    Raises
    ------
    InputError
        If all features have the same value in all rows.
    """
    if features and len(rows) > 1 and rows[list(features)].nunique().max() == 1:
        raise InputError(
            f"Expected {', '.join(features)} to vary over the sample sets but the value is the "
            f"same on all {len(rows)} of {listed(sources(rows))}: from these nothing can be "
            "learned. Take another method, or more sites or images."
        )


def groups_of(table: pd.DataFrame) -> dict[str, str]:
    """Return the group of each source; the name of the source where the table has none.

    Parameters
    ----------
    table : DataFrame
        A score table, with or without a column ``group``.
    """
    if "group" not in table:
        return {name: name for name in sources(table)}
    group_of: dict[str, str] = {}
    for name, group in zip(table["source"].to_numpy(), table["group"].to_numpy(), strict=True):
        if str(name) not in group_of:
            group_of[str(name)] = str(name if pd.isna(group) else group)
    return group_of


def of_labelled_sources(table: pd.DataFrame, target: str) -> pd.DataFrame:
    """Keep the sources whose own images have an accuracy: others cannot be evaluated.

    Parameters
    ----------
    table : DataFrame
        A score table.
    target : str
        Column of the accuracy; of one category not all sources may have it.

    Raises
    ------
    InputError
        If there is no such target, or the table lacks it or what every table has.
    """
    find_target(target)
    check_score_table(table, (target,))
    own_rows = seed_rows(table[["source", "kind", target]])
    labelled = own_rows.loc[np.isfinite(own_rows[target]), "source"]
    return table[table["source"].isin(labelled)]


def of_category(table: pd.DataFrame, target: str) -> tuple[pd.DataFrame, str]:
    """Return a table in which scores are those of the category of a target, and its plain name.

    A target of all categories together leaves both as they are.

    Parameters
    ----------
    table : DataFrame
        A score table.
    target : str
        Column of the accuracy, such as ``mAP`` or ``mAP/car``.

    Examples
    --------
    >>> table = pd.DataFrame({"ac": [0.5], "ac/car": [0.7], "mAP": [0.4], "mAP/car": [0.6]})
    >>> rows, name = of_category(table, "mAP/car")
    >>> name, rows["ac"].tolist(), rows["mAP"].tolist()
    ('mAP', [0.7], [0.6])
    """
    name, _, category = target.partition("/")
    if not category or target not in table:
        return table, target
    return stack_categories(table, [category]), name


def seed_rows(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the sources' own images.

    Parameters
    ----------
    table : DataFrame
        A score table.
    """
    return table[table["kind"] == SEED]


def sample_rows(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the transformed sample sets.

    Parameters
    ----------
    table : DataFrame
        A score table.
    """
    return table[table["kind"] == SAMPLE]


class Rows:
    """Columns of a score table as arrays: what fitting a thousand regressors can afford.

    Parameters
    ----------
    **columns : ndarray of shape (N,)
        By name.

    Examples
    --------
    >>> rows = Rows(source=np.array(["a", "b"]), bos=np.array([.5, .7]))
    >>> rows.where(rows["source"] == "b").matrix(["bos"])
    array([[0.7]])
    """

    def __init__(self, **columns: np.ndarray) -> None:
        self._columns = columns

    @classmethod
    def of(cls, table: pd.DataFrame, names: Sequence[str]) -> Rows:
        """Take columns of a table; of those that identify a row, the ones it has.

        Rows of sources also have the ``group`` of each, see `groups_of`.

        Parameters
        ----------
        table : DataFrame
            A score table.
        names : sequence of str
            Columns; one that the table lacks is left out.
        """
        present = [name for name in dict.fromkeys((*REQUIRED, *names)) if name in table]
        columns = {name: table[name].to_numpy() for name in present}
        if "source" in columns:
            group_of = groups_of(table)
            groups = [group_of[str(name)] for name in columns["source"]]
            columns["group"] = np.array(groups, dtype=object)
        return cls(**columns)

    def __len__(self) -> int:
        return len(next(iter(self._columns.values())))

    def __contains__(self, name: str) -> bool:
        return name in self._columns

    def __getitem__(self, name: str) -> np.ndarray:
        return self._columns[name]

    def where(self, mask: np.ndarray) -> Rows:
        """Keep some rows.

        Parameters
        ----------
        mask : ndarray of shape (N,), bool
            Which.
        """
        return Rows(**{name: values[mask] for name, values in self._columns.items()})

    def of_kind(self, kind: str) -> Rows:
        """Keep the rows of a kind.

        Parameters
        ----------
        kind : str
            `SEED` or `SAMPLE`.
        """
        return self.where(self["kind"] == kind)

    def matrix(self, names: Sequence[str]) -> np.ndarray:
        """Stack columns to an array of shape (N, len(names)), float64.

        Parameters
        ----------
        names : sequence of str
            Of the columns.
        """
        columns = [self._columns[name].astype(np.float64) for name in names]
        return np.stack(columns, axis=1) if columns else np.zeros((len(self), 0))


def read_scores(path: Path) -> pd.DataFrame:
    """Read a score table.

    Parameters
    ----------
    path : Path
        Parquet file, or a work dir of ``estimate-map``, which holds ``scores.parquet``.

    Raises
    ------
    InputError
        If there is none, or it is no score table.
    """
    file = path / "scores.parquet" if path.is_dir() else path
    if not file.is_file():
        raise InputError(
            f"No score table {file}: expected scores.parquet or a work dir that holds it, as "
            "written by estimate-map."
        )
    try:
        table = pd.read_parquet(file)
    except pyarrow.ArrowException as error:
        raise InputError(f"{file} is no Parquet file: {error}") from error
    check_score_table(table, ())
    return table


def split_threshold(feature: str) -> tuple[str, float] | None:
    """Return the name and the threshold of a thresholded score; None for any other.

    Parameters
    ----------
    feature : str
        Name of a column.

    Examples
    --------
    >>> split_threshold("ps@0.95"), split_threshold("bos")
    (('ps', 0.95), None)
    """
    match = _THRESHOLDED.fullmatch(feature)
    return (match["score"], float(match["threshold"])) if match else None


def mean_over_repeats(table: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Average columns over the dropout repeats: one row a sample set, in order of appearance.

    Parameters
    ----------
    table : DataFrame
        A score table.
    columns : sequence of str
        Of numbers.

    Raises
    ------
    InputError
        If the table lacks one, or it holds no numbers.
    """
    check_features(table, columns)
    keys = ["source", "sample_set", "kind"]
    return table.groupby(keys, sort=False)[list(dict.fromkeys(columns))].mean().reset_index()


def labelled_sample_sets(table: pd.DataFrame, features: Sequence[str], target: str) -> pd.DataFrame:
    """Return one row for each sample set with a known accuracy, averaged over repeats.

    Parameters
    ----------
    table : DataFrame
        A score table.
    features : sequence of str
        Columns that are kept.
    target : str
        Column of the accuracy.

    Raises
    ------
    InputError
        If there are fewer than three, or all have the same accuracy, or a column is missing.
    """
    means = sample_rows(mean_over_repeats(table, [*features, target]))
    labelled = means[np.isfinite(means[target])].reset_index(drop=True)
    if len(labelled) < 3 or labelled[target].nunique() < 2:
        raise InputError(
            f"Expected at least three sample sets of different {target} but got {len(labelled)} "
            f"with {labelled[target].nunique()} different values: score more sample sets."
        )
    return labelled
