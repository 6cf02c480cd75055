"""Records of observed images: their rows, and the store on disk."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet

from autoeval.detections import Detections, Evidence
from autoeval.errors import InputError
from autoeval.estimation.observation.pass_settings import FORMER_SETTINGS, of_plain_pass
from autoeval.runtime import OK
from autoeval.runtime.files import PathLike, write_json
from autoeval.runtime.store import DamagedRowsError, RowStore, read_row_file

SIGNAL = "signal/"
PASSES = ("clean", "half_size")
REFERENCE = "reference"  # boxes of a reference detector: columns of the rows that have them
FORMER = "teacher"  # the same in older folders
PARTS = ("boxes", "scores", "labels")
LABEL = "<i4"
NOTE, ROWS, WORDS = "observed_with.json", "images", "words.json"
INDEX = ("file_name", "stamp", "group", "taken", "taken_from", "unreadable", "observed_s", "number")
KEPT_OPEN = 8
SMALL, MANY = 64, 50


@dataclass(frozen=True, eq=False)
class CameraImage:
    """One observed image: its boxes, whose labels index the detector's words."""

    file_name: str  # relative to the root, with forward slashes; unique within a store
    size: tuple[int, int]  # height, width
    taken: datetime | None  # by the camera's clock, without a time zone; None if not known
    group: str  # the site: a folder relative to the root, "." for the root itself
    clean: Detections  # of the plain pass: xyxy, pixels
    half_size: Detections | None = None  # in the image's own coordinates; None if not needed
    signals: Mapping[str, float] = field(default_factory=dict)  # see `image_signals`
    reference: Detections | None = None  # of a reference detector; None without one

    def evidence(self) -> Evidence:
        """Return what scores are made of."""
        return Evidence(
            self.file_name,
            self.size,
            self.clean,
            half_size=self.half_size,
            reference=self.reference,
        )


def row_of(record: CameraImage) -> dict[str, Any]:
    """Return a record as plain values; see `record_of`."""
    passes = PASSES if record.reference is None else (*PASSES, REFERENCE)
    boxes = {
        f"{name}/{part}": _packed(getattr(record, name), part) for name in passes for part in PARTS
    }
    return {
        "file_name": record.file_name,
        "group": record.group,
        "taken": np.datetime64(record.taken or "NaT", "us"),
        "height": record.size[0],
        "width": record.size[1],
        **boxes,
        **{f"{SIGNAL}{name}": float(value) for name, value in record.signals.items()},
    }


def record_of(row: Mapping[str, Any]) -> CameraImage:
    """Read what `row_of` wrote.

    >>> one = Detections(np.array([[0., 1., 2., 3.]]), np.array([.5]), np.array([0]))
    >>> record = record_of(row_of(CameraImage("a/1.jpg", (4, 6), None, "a", one)))
    >>> record.clean.boxes, record.half_size, record.size
    (array([[0., 1., 2., 3.]]), None, (4, 6))
    """
    clean, half_size = (_unpacked(row, name) for name in PASSES)
    assert clean is not None
    return CameraImage(
        row["file_name"],
        (int(row["height"]), int(row["width"])),
        None if pd.isna(row["taken"]) else pd.Timestamp(row["taken"]).to_pydatetime(),
        row["group"],
        clean,
        half_size,
        {
            name.removeprefix(SIGNAL): float(value)
            for name, value in row.items()
            if name.startswith(SIGNAL) and not pd.isna(value)
        },
        _unpacked(row, FORMER if f"{FORMER}/scores" in row else REFERENCE),
    )


def _with_current_names(made_with: dict[str, Any]) -> dict[str, Any]:
    """Name the settings in an older folder as they are named now."""
    if "detector" in made_with:
        made_with = {**made_with, "detector": of_plain_pass(made_with["detector"])}
    settings = made_with.get("pass")
    if settings is None:
        return made_with
    rest = {
        name: setting
        for name, setting in settings.items()
        if name not in (FORMER, *FORMER_SETTINGS)
    }
    reference = {REFERENCE: settings[FORMER]} if FORMER in settings else {}
    return {**made_with, "pass": rest | reference}


def _packed(boxes: Detections | None, part: str) -> bytes | None:
    if boxes is None:
        return None
    column = getattr(boxes, part)
    return column.astype(LABEL if part == "labels" else column.dtype.newbyteorder("<")).tobytes()


def _unpacked(row: Mapping[str, Any], name: str) -> Detections | None:
    packed: dict[str, Any] = {part: row.get(f"{name}/{part}") for part in PARTS}
    if not isinstance(packed["scores"], bytes):  # NaN where only other rows of the file have them
        return None
    labels = np.frombuffer(packed["labels"], LABEL)
    # float32 of a network, float64 of a file
    kind = f"<f{len(packed['scores']) // len(labels)}" if len(labels) else "<f8"
    boxes = np.frombuffer(packed["boxes"], kind).reshape(-1, 4)
    return Detections(boxes, np.frombuffer(packed["scores"], kind), labels)


class RecordStore:
    """Records by site, read back file by file so that memory does not grow with their number.

    Every row also has a ``stamp`` (another one means another image, or other boxes),
    ``taken_from`` (where the time is from), ``unreadable`` (why there are no boxes; empty
    otherwise), ``observed_s`` (seconds since 1970) and, where boxes were read from files,
    ``number`` (the order of the images; 0 otherwise). Of an image that was observed again the last
    row counts. The folder is made on the first write; `rows` writes each batch whole or not at all.
    """

    def __init__(self, folder: PathLike) -> None:
        self.folder = Path(folder)
        self.rows = RowStore(self.folder / ROWS)
        self._read = lru_cache(KEPT_OPEN)(self._part)

    def check(self, made_with: Mapping[str, Any]) -> None:
        """Note the detector and its settings; InputError if what is here was made with others."""
        path = self.folder / NOTE
        now = json.loads(json.dumps(made_with))
        if not path.exists():
            write_json(path, now)
            return
        before = _with_current_names(json.loads(path.read_text()))
        different = sorted(k for k in before.keys() | now.keys() if before.get(k) != now.get(k))
        if different:
            raise InputError(
                f"{self.folder} holds what another detector, or the same with other settings, left "
                f"of these images (different: {', '.join(different)}). Name another folder with "
                "--work-dir, or use the estimator that it was made with."
            )

    def release(self) -> None:
        """Forget with what settings a run began that left no image, as after a wrong option."""
        if self.index().empty:
            (self.folder / NOTE).unlink(missing_ok=True)

    def add_words(self, words: Iterable[str]) -> tuple[str, ...]:
        """Note words of the detector, and return all, which the labels of the records index.

        Those that were noted before keep their places.
        """
        path = self.folder / WORDS
        before = json.loads(path.read_text()) if path.exists() else []
        all_words = tuple(dict.fromkeys([*before, *words]))
        if len(all_words) > len(before):
            write_json(path, list(all_words))
        return all_words

    def index(self) -> pd.DataFrame:
        """List the images that were observed, without their boxes.

        Columns are `INDEX`, and ``part``: the batch that holds the record. A damaged file is left
        out with a warning, so that its images are observed again.
        """
        parts = [part for part in map(self._index_of, self._parts()) if part is not None]
        if not parts:
            return pd.DataFrame(columns=[*INDEX, "part"])
        observed = pd.concat(parts, ignore_index=True).sort_values("observed_s", kind="stable")
        return observed.drop_duplicates("file_name", keep="last").reset_index(drop=True)

    def tidy(self) -> None:
        """Join small files, such as those that a run each hour leaves, into larger ones.

        For one process at a time. A kill in between leaves records twice, which changes nothing.
        """
        small = [part for part in self._parts() if self._n_rows(part) < SMALL]
        if len(small) <= MANY:
            return
        rows = [self._part(part) for part in small]
        joined = pd.concat([part for part in rows if len(part)], ignore_index=True)
        joined = joined.sort_values("observed_s", kind="stable")
        joined = joined.drop_duplicates("file_name", keep="last")
        digest = hashlib.sha256("".join(small).encode()).hexdigest()[:20]
        self.rows.write(f"joined-{digest}", joined.to_dict("records"))
        for part in small:
            self.rows.path(part).unlink()
        self._read.cache_clear()

    def read(self, index: pd.DataFrame) -> list[CameraImage]:
        """Return the records of some rows of `index`, in their order.

        Those of a batch that was damaged since are left out, with a warning.
        """
        records: dict[str, CameraImage] = {}
        for part, rows in index[index["unreadable"] == ""].groupby("part", sort=False):
            wanted = self._read(str(part))
            wanted = wanted[wanted["file_name"].isin(set(rows["file_name"]))]
            records |= {row["file_name"]: record_of(row) for row in wanted.to_dict("records")}
        return [records[name] for name in index["file_name"] if name in records]

    def _parts(self) -> list[str]:
        names = (p.stem for p in self.rows.folder.glob("*.parquet") if not p.name.startswith("."))
        return sorted(names)

    def _index_of(self, part: str) -> pd.DataFrame | None:
        try:
            with pyarrow.parquet.ParquetFile(self.rows.path(part)) as file:
                if "stamp" not in file.schema_arrow.names:  # the row of a failure
                    return None
                columns = [name for name in INDEX if name in file.schema_arrow.names]
                rows = file.read(columns=[*columns, "status"]).to_pandas()
        except (OSError, pyarrow.ArrowException) as error:
            warnings.warn(f"{part} cannot be read and is observed again: {error}", stacklevel=3)
            return None
        rows = rows[rows.pop("status") == OK].reindex(columns=INDEX)
        return rows.assign(number=rows["number"].fillna(0).astype(int), part=part)

    def _n_rows(self, part: str) -> int:
        """Count the observed images of a file; those of a failure or a damaged one as many."""
        try:
            with pyarrow.parquet.ParquetFile(self.rows.path(part)) as file:
                return int(file.metadata.num_rows) if "stamp" in file.schema_arrow.names else SMALL
        except (OSError, pyarrow.ArrowException):
            return SMALL

    def _part(self, part: str) -> pd.DataFrame:
        try:
            return read_row_file(self.rows.path(part), part)
        except DamagedRowsError as error:
            warnings.warn(f"{part} {error}; its images are left out.", stacklevel=4)
            return pd.DataFrame(columns=["file_name"])
