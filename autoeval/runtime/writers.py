"""Tables, figures and values as files, written so that a kill leaves the old file or the new."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoeval.runtime.files import atomic_path, write_text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


def write_table(
    path: str | os.PathLike[str], table: pd.DataFrame, *, float_format: str | None = None
) -> Path:
    """Write a table without its index, as Parquet where the suffix says so, else as CSV.

    Parameters
    ----------
    path : path-like
    table : DataFrame
    float_format : str, optional
        Such as ``"%.6g"``, for CSV; by default every digit.

    Returns
    -------
    Path
        The path.
    """
    with atomic_path(path) as temporary:
        if temporary.suffix == ".parquet":
            table.to_parquet(temporary, index=False)
        else:
            table.to_csv(temporary, index=False, float_format=float_format)
    return Path(path)


def write_figure(path: str | os.PathLike[str], figure: Figure, *, dpi: int = 150) -> Path:
    """Draw a matplotlib figure into a file of the format that the suffix names; return the path.

    Equal figures give equal bytes: the file does not name the version that drew it, nor when.
    """
    import matplotlib as mpl

    unnamed = {"Date": None} if Path(path).suffix == ".svg" else {"Software": None}
    with mpl.rc_context({"svg.hashsalt": "autoeval"}), atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=dpi, metadata=unnamed)
    return Path(path)


def write_json(path: str | os.PathLike[str], value: Any, *, indent: int | None = 2) -> Path:
    """Write plain values as JSON; return the path."""
    write_text(path, json.dumps(value, indent=indent) + "\n")
    return Path(path)
