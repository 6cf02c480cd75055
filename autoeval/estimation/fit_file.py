"""The files of a fit: its pairs with what they were made with, and its labelled sites beside them.

``estimator.parquet`` holds the pairs of the fit, those at higher score floors with their floor in
a column, and as JSON metadata everything else; its pages and the metadata have checksums.
``estimator.sites.npz`` beside it holds the labelled sites, from which fits are joined; nothing else
needs it. Both carry the number of their format, `FORMAT` and `SITES_FORMAT`; files of another one
are refused.

`AccuracyEstimator.save` and `load` are `write_fit` and `read_fit`; published methods write their
estimators by `write_artefact`, too.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet

from autoeval.boxes import Boxes, LabelledImage
from autoeval.errors import InputError, first_line
from autoeval.estimation.protocol import HeldOutErrors
from autoeval.model.calibration import ScoreCalibration
from autoeval.model.pair_table import Table, rows_where
from autoeval.model.regression import DEFAULT_METHOD
from autoeval.runtime.files import PathLike, atomic_path
from autoeval.sites.file_looks import Looks
from autoeval.sites.site import Site
from autoeval.words import codes_of, notices_of

ESTIMATOR = "estimator.parquet"  # in the work dir of a fit
KEY = b"autoeval"
DIGEST = b"autoeval.digest"
FORMAT = 8
EXPECTED: dict[str, type | tuple[type, ...]] = {
    "estimator.target": str,
    "estimator.level": (int, float),
    "context": dict,
}
LEARNT = {
    "calibration": "calibration_",
    "reference_calibration": "reference_calibration_",
    "labels": "assistance_",
}
"""Fields that are written where a fit has them, by their name in the file."""
FLOOR = "floor"  # column of the saved rows; NaN for those of the fit's own files
SITES_FORMAT = 3
SUFFIX = ".sites.npz"  # behind the name of the estimator's file, in place of `PARQUET`
PARQUET = ".parquet"
SITES = "sites"  # name of the JSON description among the arrays
OF_TRUTH = ("image", "label", "boxes", "crowd")
OF_BOXES = ("image", "label", "boxes", "scores")
Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class FloorFit:
    """A fit at one score floor: its pairs and its calibration.

    Parameters
    ----------
    rows : Table
        Pairs; see `autoeval.model.pair_table`.
    calibration : ScoreCalibration
        Of the detector's boxes over the floor.
    regressions : dict
        On these pairs, by target and level, as they are used.
    """

    rows: Table
    calibration: ScoreCalibration
    regressions: dict[tuple[str, float], Any] = field(default_factory=dict)


def write_artefact(path: PathLike, tables: Sequence[Table], metadata: Mapping[str, Any]) -> None:
    """Write tables and JSON metadata with checksums of both into one Parquet file, atomically.

    Parameters
    ----------
    path : path-like
        File to write.
    tables : sequence of Table
        Their rows follow each other; where one lacks a column its rows have no value there.
    metadata : mapping
        Plain values, fit for JSON.
    """
    parts = []
    for table in tables:
        arrays = {str(name): np.asarray(table[name]) for name in table}
        parts.append(
            pyarrow.table(
                {  # among texts and bytes None and NaN are missing values; among numbers NaN is one
                    name: pyarrow.array(column, from_pandas=column.dtype == object)
                    for name, column in arrays.items()
                }
            )
        )
    arrow = pyarrow.concat_tables(parts, promote_options="default")
    content = {"format": FORMAT, **metadata, "columns": arrow.column_names}
    note = json.dumps(content, sort_keys=True).encode()
    digest = hashlib.sha256(note).hexdigest().encode()
    arrow = arrow.replace_schema_metadata({KEY: note, DIGEST: digest})
    with atomic_path(path) as temporary:
        pyarrow.parquet.write_table(arrow, temporary, write_page_checksum=True)


def artefact_path(path: PathLike) -> Path:
    """Return the file of an estimator.

    Parameters
    ----------
    path : path-like
        The file, or the work dir of a fit, which stands for it.

    Examples
    --------
    >>> artefact_path("fit.parquet").name, artefact_path(".").name
    ('fit.parquet', 'estimator.parquet')
    """
    path = Path(path)
    return path / ESTIMATOR if path.is_dir() else path


def read_artefact(path: PathLike) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Read what `write_artefact` wrote; see `artefact_path`.

    Parameters
    ----------
    path : path-like
        A file, or the work dir of a fit.

    Returns
    -------
    tuple of dict of str to ndarray and dict
        The table: columns of whole numbers are float64 where one is missing, texts and bytes are
        objects, None where one is missing. And the metadata, with their ``format``.

    Raises
    ------
    InputError
        If there is no such file, it cannot be read, is no estimator, is of another format, or does
        not match its checksum.
    """
    path = artefact_path(path)
    if not path.is_file():
        raise InputError(
            f"No estimator {path}: make one with `autoeval fit --labels val.json --predictions "
            "val_predictions.json` (or --detector ALIAS), or name another file."
        )
    try:
        # `read_table` imports pandas
        with pyarrow.parquet.ParquetFile(path, page_checksum_verification=True) as file:
            arrow = file.read()
        note = arrow.schema.metadata[KEY]
        metadata = json.loads(note)
        if isinstance(metadata, dict) and metadata.get("format") != FORMAT:
            raise InputError(f"{path} was written by another version of autoeval; fit it again.")
        digest = hashlib.sha256(note).hexdigest().encode()
        unchanged = arrow.schema.metadata.get(DIGEST) == digest
    except InputError:
        raise
    except PermissionError as error:
        raise InputError(f"Cannot read the estimator {path}: permission denied.") from error
    except Exception as error:  # a changed byte may make any part of the readers fail in any way
        raise InputError(
            f"Expected {path} to be an estimator, such as estimator.parquet in the work dir of "
            f"`autoeval fit`, but it cannot be read as one ({type(error).__name__}: "
            f"{first_line(error)})."
        ) from error
    for name, kind in EXPECTED.items():
        value = metadata
        for key in name.split("."):
            value = value.get(key) if isinstance(value, dict) else None
        if not isinstance(value, kind) or isinstance(value, bool):
            raise InputError(
                f"Expected {path} to be an estimator saved by autoeval but its '{name}' is "
                f"{value!r}; save it again."
            )
    if not unchanged or metadata.pop("columns") != arrow.column_names:
        raise InputError(
            f"{path} does not match its checksum: its content has changed on disk. Fit again, or "
            "copy it again from where it was made."
        )
    table: dict[str, np.ndarray] = {}
    for name, column in zip(arrow.column_names, arrow.columns, strict=True):
        values = column.to_pylist()
        dtype: Any = object  # of texts and bytes, None where one is missing
        if pyarrow.types.is_floating(column.type):
            dtype = np.float64
        elif pyarrow.types.is_integer(column.type):
            dtype = np.float64 if column.null_count else np.int64
        elif pyarrow.types.is_boolean(column.type):
            dtype = bool
        table[name] = np.empty(len(values), dtype)
        table[name][:] = values
    return table, metadata


def write_fit(path: PathLike, fields: Mapping[str, Any]) -> None:
    """Write the fields of an `AccuracyEstimator`, by name, with its labelled sites beside it.

    The rows at higher floors follow those of the fit, with their floor in a column.

    Parameters
    ----------
    path : path-like
        File to write.
    fields : mapping of str to object
        ``vars`` of the estimator.
    """
    rows, floors = fields["rows_"], fields["floors_"]
    tables = [rows]
    if floors:
        parts = {np.nan: rows, **{floor: floor_fit.rows for floor, floor_fit in floors.items()}}
        # of sample sets rows name no category
        tables = [
            {**part, FLOOR: np.full(len(part["source"]), floor)} for floor, part in parts.items()
        ]
    metadata = {
        "estimator": {"target": fields["target"], "level": fields["level"]},
        "context": fields["context_"],
        "looks": fields["looks_"] and fields["looks_"].to_dict(),
        "loading": fields["loading_"],
        "held_out": fields["held_out_"] and asdict(fields["held_out_"]),
        "floors": {f"{floor:g}": fit.calibration.to_dict() for floor, fit in floors.items()},
    }
    for name, field_name in LEARNT.items():
        learnt = fields[field_name]
        if learnt is not None:  # assistance that nobody needed is as it was read
            metadata[name] = learnt if isinstance(learnt, Mapping) else learnt.to_dict()
    fields["sites_"].write(Path(path))
    write_artefact(path, tables, metadata)


def read_fit(path: PathLike) -> dict[str, Any]:
    """Return the fields of a saved `AccuracyEstimator`, by name.

    Columns that are empty at a floor are left out there: they are of other floors.

    Parameters
    ----------
    path : path-like
        See `artefact_path`.

    Raises
    ------
    InputError
        As `read_artefact`, or if it is an estimator of a published method.
    """
    table, metadata = read_artefact(path)
    settings = metadata["estimator"]
    method = settings.get("method", DEFAULT_METHOD)
    if method != DEFAULT_METHOD:
        raise InputError(
            f"{path} is of the published method '{method}': use it with `autoeval estimate-map "
            "--estimator`, or make one of the default method with `autoeval fit`."
        )
    rows, floors = table, dict[float, FloorFit]()
    if metadata.get("floors"):
        floor_of_row = table.pop(FLOOR)
        parts = dict[str, dict[str, np.ndarray]]()
        for name in ("nan", *metadata["floors"]):
            on_floor = np.isclose(floor_of_row, float(name), rtol=0, atol=0, equal_nan=True)
            parts[name] = {}
            for column, values in rows_where(table, on_floor).items():
                is_number = values.dtype.kind == "f"
                empty = np.isnan(values).all() if is_number else all(v is None for v in values)
                if not empty:  # else it is a column of other floors
                    parts[name][column] = values
        rows = parts.pop("nan")
        for name, part in parts.items():
            calibration = ScoreCalibration.from_dict(metadata["floors"][name])
            floors[float(name)] = FloorFit(part, calibration)
    learnt: dict[str, Any] = {field_name: metadata.get(name) for name, field_name in LEARNT.items()}
    for name in ("calibration_", "reference_calibration_"):
        learnt[name] = learnt[name] and ScoreCalibration.from_dict(learnt[name])
    file = artefact_path(path)
    sites = file.with_name(file.name.removesuffix(PARQUET) + SUFFIX)
    looks, held_out = metadata.get("looks"), metadata.get("held_out")
    return {
        "rows_": rows,
        "target": settings["target"],
        "level": settings["level"],
        "context_": metadata["context"],
        "looks_": looks and Looks.from_dict(looks),
        "loading_": metadata.get("loading") or {},
        "held_out_": HeldOutErrors(**held_out) if held_out else None,
        "floors_": floors,
        "sites_": FittedSites(path=sites if sites.is_file() else None),
        **learnt,
    }


@dataclass(frozen=True)
class FittedSites:
    """The labelled sets of a fit, in memory or in the file that `write` made.

    Parameters
    ----------
    sets : tuple of Site
        In memory; empty where they are in a file, or not known.
    path : Path, optional
        The file.
    """

    sets: tuple[Site, ...] = ()
    path: Path | None = None

    def read(self) -> tuple[Site, ...]:
        """Return the labelled sets; empty where they are not known.

        Raises
        ------
        InputError
            If the file is damaged or of another format.
        """
        if self.sets or self.path is None:
            return self.sets
        try:
            with np.load(self.path, allow_pickle=False) as stored:
                arrays = dict(stored)
            described = json.loads(str(arrays.pop(SITES)))
            if described["format"] != SITES_FORMAT:
                raise InputError(
                    f"{self.path} was written by another version of autoeval: fit again."
                )
            return tuple(
                _read_set(values, _part(arrays, f"{k}/"))
                for k, values in enumerate(described["sets"])
            )
        except InputError:
            raise
        except Exception as error:  # see `read_artefact`
            raise InputError(
                f"The labelled sites of a fit in {self.path} cannot be read "
                f"({type(error).__name__}: {error}): fit again, or copy the folder again."
            ) from error

    def write(self, estimator: Path) -> None:
        """Write them beside the file of an estimator; where they are not known none is left there.

        Parameters
        ----------
        estimator : Path
            File of the estimator; see `SUFFIX`.
        """
        path = estimator.with_name(estimator.name.removesuffix(PARQUET) + SUFFIX)
        arrays, described = dict[str, np.ndarray](), []
        if not self.sets:
            if self.path is None:
                path.unlink(missing_ok=True)  # of a fit that lay here before
                return
            with atomic_path(path) as temporary:  # of a fit that was saved before
                shutil.copyfile(self.path, temporary)
            return
        for k, labelled in enumerate(self.sets):
            passes = {"boxes": labelled.boxes}
            if labelled.reference is not None:
                passes["reference"] = labelled.reference
            columns = {f"truth/{name}": getattr(labelled.truth, name) for name in OF_TRUTH}
            for name, boxes in passes.items():
                columns |= {f"{name}/{column}": getattr(boxes, column) for column in OF_BOXES}
            if labelled.blocks is not None:
                columns["blocks"] = labelled.blocks
            arrays |= {f"{k}/{name}": column for name, column in columns.items()}
            images = [
                [
                    image.image_id,
                    image.file_name,
                    image.size,
                    image.taken and image.taken.isoformat(),
                ]
                for image in labelled.boxes.images
            ]
            described.append(
                {
                    "name": labelled.name,
                    "group": labelled.group,
                    "grouped": labelled.grouped,
                    "everywhere": labelled.everywhere,
                    "trained_here": labelled.trained_here,
                    "categories": list(labelled.boxes.categories),
                    "passes": list(passes),
                    "images": images,
                    "statistics": labelled.looks.to_dict(),
                    "left_out": codes_of(labelled.left_out),
                }
            )
        text = json.dumps({"format": SITES_FORMAT, "sets": described})
        with atomic_path(path) as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, **{SITES: np.array(text)}, **arrays)  # type: ignore[arg-type]


def _read_set(values: Mapping[str, Any], arrays: Arrays) -> Site:
    """Make a labelled set of what `FittedSites.write` wrote of it."""
    images = tuple(
        LabelledImage(
            image_id,
            file_name,
            tuple(size) if size else None,
            datetime.fromisoformat(taken) if taken else None,
        )
        for image_id, file_name, size, taken in values["images"]
    )
    categories = tuple(values["categories"])
    columns: dict[str, Any] = {name: arrays[f"truth/{name}"] for name in OF_TRUTH}
    truth = Boxes(images, categories, **columns)
    passes: dict[str, Boxes] = {}
    for name in values["passes"]:
        columns = {column: arrays[f"{name}/{column}"] for column in OF_BOXES}
        passes[name] = Boxes(images, categories, **columns)
    return Site(
        passes["boxes"],
        truth=truth,
        reference=passes.get("reference"),
        looks=Looks.from_dict(values["statistics"]),
        blocks=arrays.get("blocks"),
        name=values["name"],
        group=values["group"],
        grouped=values["grouped"],
        everywhere=values["everywhere"],
        left_out=notices_of(values["left_out"]),
        trained_here=values["trained_here"],
    )


def _part(arrays: Arrays, prefix: str) -> dict[str, np.ndarray]:
    """Return the arrays whose names begin with `prefix`, without it."""
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }
