"""Tables of counts from CSV or Parquet: finding the columns, checking ids and numbers."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from autoeval.data.wording import listed
from autoeval.errors import InputError

LARGEST = 1e12  # what is beyond it is no count

ALIASES = {
    "id": ("id", "image_id", "image", "image_file", "file", "name"),
    "error": ("error", "target-pred"),
    "target": ("target", "count", "ground_truth", "gt"),
    "pred": ("pred", "prediction"),
}


def read_columns(
    path: str | os.PathLike[str], by_position: Mapping[int, tuple[str, ...]]
) -> pd.DataFrame:
    """Read a table whose columns are known by name or, without a header, by position.

    Parameters
    ----------
    path : path-like
        Parquet where its suffix is ``.parquet``, otherwise text separated by commas. A first row
        whose last field is no number is a header; its names are those of `ALIASES`.
    by_position : mapping of int to tuple of str
        Names of the columns of a file without header, by their number.

    Returns
    -------
    DataFrame
        Columns ``id`` (text) and whichever others there are, as text or numbers.

    Raises
    ------
    InputError
        If the file is missing, empty or malformed, or has other columns.
    """
    path = Path(path)
    frame = _read(path)
    if frame.columns.dtype == object or frame.columns.dtype == "str":
        frame = _named(path, frame)
    elif frame.shape[1] in by_position:
        frame.columns = pd.Index(by_position[frame.shape[1]])
    else:
        forms = " or ".join(",".join(names) for names in by_position.values())
        raise InputError(f"{path} has {frame.shape[1]} columns and no header: expected {forms}.")
    if frame.empty:
        raise InputError(f"{path} has a header but no rows.")
    frame["id"] = frame["id"].astype(str).str.strip()
    _refuse_twice(path, frame["id"])
    return frame


def numbers(path: str | os.PathLike[str], frame: pd.DataFrame, column: str) -> np.ndarray:
    """Read a column as float64; blank and ``nan`` become NaN.

    Raises
    ------
    InputError
        If a field is neither a number nor blank, or is beyond `LARGEST`; rows are named by their
        id.
    """
    text = frame[column].astype(object).where(frame[column].notna(), "")
    values = pd.to_numeric(text, errors="coerce").to_numpy(np.float64, copy=True)
    bad = np.abs(values) > LARGEST
    # Few fields are no plain number, and only these are looked at one by one.
    for row in np.flatnonzero(np.isnan(values)):
        bad[row] = str(text.iloc[row]).strip().lower() not in ("", "nan", "none")
    if bad.any():
        raise InputError(
            f"{path}: column '{column}' should hold numbers up to {LARGEST:g}, but {bad.sum()} of "
            f"{len(bad)} rows do not (ids: {listed(frame['id'][bad].tolist())}; first: "
            f"{str(text[bad].iloc[0])[:40]!r})."
        )
    return values


def _read(path: Path) -> pd.DataFrame:
    try:
        if path.suffix == ".parquet":
            return pd.read_parquet(path)
        frame = pd.read_csv(path, header=None, dtype=str, keep_default_na=False)
    except FileNotFoundError:
        raise InputError(f"No file {path}: check the path.") from None
    except pd.errors.EmptyDataError:
        raise InputError(f"{path} is empty.") from None
    except (OSError, ValueError) as error:
        raise InputError(f"Cannot read {path}: {error}.") from None
    if not _is_number(frame.iloc[0, -1]):
        frame.columns = pd.Index(frame.iloc[0].str.strip())
        frame = frame.iloc[1:].reset_index(drop=True)
    return frame


def _named(path: Path, frame: pd.DataFrame) -> pd.DataFrame:
    found = {}
    for name, aliases in ALIASES.items():
        matching = [c for c in frame.columns if str(c).lower() in aliases]
        if matching:
            found[name] = frame[matching[0]]
    if "id" not in found or len(found) < 2:
        raise InputError(
            f"{path} has the columns {listed(frame.columns, most=20)}: expected 'id' and 'target', "
            "'pred' or both."
        )
    return pd.DataFrame(found)


def _is_number(field: str) -> bool:
    try:
        float(field or "nan")
    except ValueError:
        return False
    return True


def _refuse_twice(path: Path, ids: pd.Series) -> None:
    twice = ids[ids.duplicated()].unique().tolist()
    if twice:
        raise InputError(
            f"{path}: every id must appear once, but {len(twice)} appear more often: "
            f"{listed(twice)}."
        )
