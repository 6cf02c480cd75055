"""The saved form of an estimator: its training table in Parquet, with what it was made with."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow
import pyarrow.parquet

from autoeval.errors import InputError
from autoeval.runtime.files import PathLike, atomic_path
from autoeval.runtime.store import rows_digest

ESTIMATOR = "estimator.parquet"  # in the work dir of a fit
KEY, DIGEST, FORMAT = b"autoeval", b"autoeval.digest", 4
EXPECTED: dict[str, type | tuple[type, ...]] = {
    "estimator.target": str,
    "estimator.level": (int, float),
    "context": dict,
}


def write_artefact(path: PathLike, table: pd.DataFrame, metadata: Mapping[str, Any]) -> None:
    """Write a table and JSON metadata with a checksum of both into one Parquet file, atomically."""
    arrow = pyarrow.Table.from_pandas(table, preserve_index=False)
    note = json.dumps({"format": FORMAT, **metadata}, sort_keys=True).encode()
    notes = {KEY: note, DIGEST: _digest(arrow.to_pandas(), note)}
    arrow = arrow.replace_schema_metadata({**(arrow.schema.metadata or {}), **notes})
    with atomic_path(path) as temporary:
        pyarrow.parquet.write_table(arrow, temporary)


def artefact_path(path: PathLike) -> Path:
    """Return the file of an estimator, which a work dir of a fit stands for, too."""
    path = Path(path)
    return path / ESTIMATOR if path.is_dir() else path


def read_artefact(path: PathLike) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Read what `write_artefact` wrote; see `artefact_path`."""
    path = artefact_path(path)
    if not path.is_file():
        raise InputError(
            f"No estimator {path}: make one with `autoeval fit --labels val.json --predictions "
            "val_predictions.json` (or --detector ALIAS), or name another file."
        )
    try:
        arrow = pyarrow.parquet.read_table(path)
        note = arrow.schema.metadata[KEY]
        metadata = json.loads(note)
        table = arrow.to_pandas()
        unchanged = arrow.schema.metadata.get(DIGEST) == _digest(table, note)
    except PermissionError as error:
        raise InputError(f"Cannot read the estimator {path}: permission denied.") from error
    except Exception as error:  # a changed byte may make any part of the readers fail in any way
        raise InputError(
            f"Expected {path} to be an estimator saved by autoeval but it cannot be read as one "
            f"({type(error).__name__}: {error})."
        ) from error
    _check(metadata, path)
    if not unchanged:
        raise InputError(
            f"{path} does not match its checksum: its content has changed on disk. Fit again, or "
            "copy it again from where it was made."
        )
    return table, metadata


def _digest(table: pd.DataFrame, note: bytes) -> bytes:
    return hashlib.sha256(rows_digest(table).encode() + note).hexdigest().encode()


def _check(metadata: Any, path: Path) -> None:
    """Make sure that there is what `AccuracyEstimator.save` writes, of the types that it has."""
    if isinstance(metadata, dict) and metadata.get("format") != FORMAT:
        raise InputError(f"{path} was written by another version of autoeval; fit it again.")
    for name, kind in EXPECTED.items():
        value = metadata
        for key in name.split("."):
            value = value.get(key) if isinstance(value, dict) else None
        if not isinstance(value, kind) or isinstance(value, bool):
            raise InputError(
                f"Expected {path} to be an estimator saved by autoeval but its '{name}' is "
                f"{value!r}; save it again."
            )
