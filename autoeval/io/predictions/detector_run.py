"""What `autoeval detect` notes in its Parquet file: the detector, and all of its images.

`autoeval.api.detect_objects` writes boxes by `BoxWriter` and the note by `note_of`;
`autoeval.io.predictions.formats` reads it again by `read_note`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from autoeval.boxes import DetectorRun, LabelledImage, as_xywh
from autoeval.errors import InputError
from autoeval.words import printable

KEY = b"autoeval.detect"
FORMAT = 1
# A million images are some 60 MB; pyarrow reads 100 MB by default.
LONGEST_NOTE = 1 << 30
ROWS_AT_ONCE = 1 << 17
SCHEMA = pa.schema(
    [
        ("file_name", pa.dictionary(pa.int32(), pa.string())),
        ("category", pa.dictionary(pa.int32(), pa.string())),
        *((name, pa.float64()) for name in ("x", "y", "w", "h", "score")),
    ]
)


def note_of(run: DetectorRun, images: Sequence[LabelledImage]) -> bytes:
    """Write a run and its images as the value of `KEY` in a file's metadata.

    Parameters
    ----------
    run : DetectorRun
        Which detector was run, and what it could not read.
    images : sequence of LabelledImage
        Those that could be read, with their sizes.

    Returns
    -------
    bytes
        JSON, with the number of its format.
    """
    alone = np.array_equal(run.blocks, np.arange(len(images)))
    content = {
        "format": FORMAT,
        "detector": {
            "name": run.name,
            "fingerprint": run.fingerprint,
            "identified": run.is_identified,
            "backbone": run.backbone,
            "settings": run.settings,
        },
        "versions": run.versions,
        "categories": list(run.categories),
        "images": {
            "image_id": [image.image_id for image in images],
            "file_name": [image.file_name for image in images],
            "height": [image.size[0] if image.size else None for image in images],
            "width": [image.size[1] if image.size else None for image in images],
            "block": None if alone else run.blocks.tolist(),
        },
        "copies": np.flatnonzero(run.copies).tolist(),
        "unreadable": list(run.unreadable),
    }
    return json.dumps(content).encode()


def read_note(path: Path) -> tuple[DetectorRun, tuple[LabelledImage, ...]] | None:
    """Read what `note_of` wrote into a Parquet file.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    tuple of DetectorRun and tuple of LabelledImage, or None
        None where another program wrote the file.

    Raises
    ------
    InputError
        If the file, or what it says of its images, cannot be read.
    """
    try:
        with pyarrow.parquet.ParquetFile(path, thrift_string_size_limit=LONGEST_NOTE) as file:
            note = (file.metadata.metadata or {}).get(KEY)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"Cannot read the predictions file {printable(path)}: {error}.") from error
    if note is None:
        return None
    try:
        content = json.loads(note)
        if content["format"] != FORMAT:
            raise ValueError(f"format {content['format']}, and this version reads {FORMAT}")
        return _run_of(content), _images_of(content["images"])
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise InputError(
            f"{printable(path)}: cannot read what `autoeval detect` noted of its detector and "
            f"images ({type(error).__name__}: {error}). Run it again."
        ) from error


def _images_of(columns: dict[str, Any]) -> tuple[LabelledImage, ...]:
    """Return the images of a note."""
    ids, files = columns["image_id"], columns["file_name"]
    rows = zip(ids, files, columns["height"], columns["width"], strict=True)
    return tuple(
        LabelledImage(image_id, file_name, (height, width) if height and width else None)
        for image_id, file_name, height, width in rows
    )


def _run_of(content: dict[str, Any]) -> DetectorRun:
    """Return the run of a note."""
    detector, n = content["detector"], len(content["images"]["image_id"])
    copies, blocks = np.zeros(n, bool), content["images"]["block"]
    copies[np.array(content["copies"], np.int64)] = True
    return DetectorRun(
        detector["name"],
        detector["settings"],
        detector["fingerprint"],
        bool(detector["identified"]),
        detector["backbone"],
        content["versions"],
        tuple(content["categories"]),
        tuple(content["unreadable"]),
        copies,
        np.arange(n) if blocks is None else np.array(blocks, np.int64),
    )


class BoxWriter:
    """Writes boxes of one image after another into a Parquet file; `close` writes the note.

    Each row is a box: ``file_name``, ``category``, and as float64 ``x``, ``y``, ``w``, ``h`` (left,
    top, width, height, pixels) and ``score``.

    Parameters
    ----------
    path : Path
        The file.

    Attributes
    ----------
    n_boxes : int
        Boxes that were taken in.
    """

    def __init__(self, path: Path) -> None:
        self._writer = pyarrow.parquet.ParquetWriter(path, SCHEMA)
        self._names: list[str] = []
        self._counts: list[int] = []
        self._words: list[str] = []
        self._numbers: list[np.ndarray] = []
        self.n_boxes = 0

    def add(
        self, file_name: str, boxes: np.ndarray, scores: np.ndarray, words: Sequence[str]
    ) -> None:
        """Take in the N boxes of an image.

        Parameters
        ----------
        file_name : str
            Of the image.
        boxes : ndarray of shape (N, 4)
            xyxy, pixels.
        scores : ndarray of shape (N,)
            In [0, 1].
        words : sequence of str
            Category of each box.
        """
        xyxy = boxes.astype(np.float64).reshape(-1, 4)
        self._names.append(file_name)
        self._counts.append(len(xyxy))
        self._words += words
        self._numbers.append(np.column_stack([as_xywh(xyxy), scores.astype(np.float64)]))
        self.n_boxes += len(xyxy)
        if len(self._words) >= ROWS_AT_ONCE:
            self._flush()

    def close(self, note: bytes) -> None:
        """Write the boxes that are left, and the note.

        Parameters
        ----------
        note : bytes
            See `note_of`.
        """
        self._flush()
        self._writer.add_key_value_metadata({KEY: note})
        self._writer.close()

    def abandon(self) -> None:
        """Let the file go, unfinished."""
        self._writer.close()

    def _flush(self) -> None:
        """Write what was taken in since the last time."""
        if not self._words:
            return
        numbers = np.concatenate(self._numbers)
        names = np.repeat(np.arange(len(self._names), dtype=np.int32), self._counts)
        columns = [
            pa.DictionaryArray.from_arrays(pa.array(names), pa.array(self._names, pa.string())),
            pa.array(self._words, pa.string()).dictionary_encode(),
            *(pa.array(column) for column in numbers.T.copy()),
        ]
        self._writer.write_table(pa.Table.from_arrays(columns, schema=SCHEMA))
        self._names, self._counts, self._words, self._numbers = [], [], [], []
