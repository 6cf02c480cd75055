"""What a monitor keeps of its sites: one SQLite file that several processes may share.

Every change is one transaction, so that a kill, a full disk or another process leaves the file as
it was before or after it. Images and windows carry checksums; a file or record that was damaged is
refused, never read in part.
"""

from __future__ import annotations

import errno
import json
import sqlite3
import time
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from autoeval.errors import InputError
from autoeval.runtime.files import PathLike

FILE = "monitor.sqlite"
APPLICATION = 0x6175746F  # "auto"
FORMAT = 1  # raise it when the tables change
ROOT = "."  # the site of images in no folder
BUSY_S = 60.0  # how long to wait for another process
BOX = np.dtype([("box", "<f8", 4), ("score", "<f8"), ("label", "<i4")])
TABLES = """
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE words (label INTEGER PRIMARY KEY, word TEXT NOT NULL UNIQUE);
CREATE TABLE files (name TEXT PRIMARY KEY, stamp TEXT NOT NULL, note TEXT NOT NULL);
CREATE TABLE images (
    name TEXT PRIMARY KEY, site TEXT NOT NULL, stamp TEXT NOT NULL, taken INTEGER,
    taken_from TEXT NOT NULL, unreadable TEXT NOT NULL, observed_s REAL NOT NULL,
    number INTEGER NOT NULL, height INTEGER NOT NULL, width INTEGER NOT NULL,
    boxes BLOB, reference BLOB, checksum INTEGER NOT NULL
);
CREATE INDEX images_of_site ON images (site);
CREATE TABLE windows (
    site TEXT NOT NULL, window TEXT NOT NULL, made_with TEXT NOT NULL, digest TEXT NOT NULL,
    content TEXT NOT NULL, PRIMARY KEY (site, window, made_with)
);
CREATE TABLE sent (site TEXT NOT NULL, kind TEXT NOT NULL, PRIMARY KEY (site, kind));
"""
INDEX = (
    *("name", "site", "stamp", "taken", "taken_from", "unreadable", "observed_s", "number"),
    *("kept", "found", "sized"),
)
"""Columns of `MonitorStore.index`."""


@dataclass(frozen=True, eq=False)
class CameraImage:
    """One observed image with its boxes.

    Parameters
    ----------
    name : str
        Relative to the root, with forward slashes; unique within a store.
    site : str
        A folder relative to the root, ``"."`` for the root itself.
    size : (int, int)
        Height and width in pixels; (0, 0) where they are not known.
    taken : datetime, optional
        By the camera's clock, without a time zone; None if not known.
    boxes : ndarray of shape (N,)
        Of type `BOX`: xyxy in pixels, score, label in the words of the store.
    reference : ndarray of shape (R,), optional
        The same of a reference detector; None without one.
    stamp : str
        Another one means another image, or other boxes.
    taken_from : str
        Where the time is from; see `Clock`.
    unreadable : str
        Why there are no boxes; empty otherwise.
    """

    name: str
    site: str
    size: tuple[int, int]
    taken: datetime | None
    boxes: np.ndarray
    reference: np.ndarray | None = None
    stamp: str = ""
    taken_from: str = ""
    unreadable: str = ""


def site_of(name: str, depth: int | None = None) -> str:
    """Return the site of an image by the folders of its name.

    Parameters
    ----------
    name : str
        File name with folders, separated by forward slashes.
    depth : int, optional
        How many folders name a site; all by default.

    Returns
    -------
    str
        ``"."`` where there is no folder.

    Examples
    --------
    >>> site_of("gate/2026/03/1.jpg"), site_of("gate/2026/03/1.jpg", 1), site_of("1.jpg")
    ('gate/2026/03', 'gate', '.')
    """
    folders = name.split("/")[:-1]
    return "/".join(folders[:depth]) or ROOT


def copied_files(index: pd.DataFrame) -> pd.Series:
    """Return which images a detector was run on that are another one's copies, (N,) bool.

    Copies are byte by byte an image of their site that came before, with the same time. A camera
    that stands still sends such images at other times, which count. Files that cannot be read are
    no copies: those of a broken camera are all alike, as where they are empty.

    Parameters
    ----------
    index : DataFrame
        N rows of `MonitorStore.index`, with the digest of each file behind its stamp.
    """
    content = index["stamp"].str.split(" ").str[1]
    again = index.assign(stamp=content).duplicated(["site", "taken", "stamp"])
    return again & content.notna() & (index["unreadable"] == "")


def copied_in_files(index: pd.DataFrame, gone: Mapping[str, float]) -> tuple[pd.Series, pd.Series]:
    """Return which images of results files are copies of others, and which may be, (N,) bool each.

    Copies have the boxes of an image that another file had, at the same site, with the same time
    and size. Images of one file are those that count, see
    `autoeval.io.predictions.covered_images.copies`. Those without a box look alike: two of one time
    are copies where the other images show that their files are.

    An image of a file that is gone counts by its boxes in a file that was read since, if this names
    one so, at its site and time: the file was given another name. Files that were there together,
    as those of two cameras, may name images alike. Without a time it may be another image.

    Parameters
    ----------
    index : DataFrame
        N rows of `MonitorStore.index`, with the name of each file behind its stamp.
    gone : mapping of str to float
        Since when files are gone, see `MonitorStore.gone_since`.
    """
    parts = index["stamp"].str.split(" ", n=1)
    content, file = parts.str[0], parts.str[1].fillna("")
    timed, since = index["taken"].notna(), file.map(dict(gone)).astype(float)
    names = [name.removeprefix(f"{of}/") for name, of in zip(index["name"], file, strict=True)]
    named = index[["site", "taken"]].assign(name=names)
    named_so, read = named.groupby([*named], dropna=False).ngroup(), index["observed_s"]
    renamed = timed & (read.groupby(named_so).transform("max") > since)
    first = file.mask(renamed).groupby([index["site"], content]).transform("first")
    other = (file != first) & ~renamed
    copies = index["found"] & other
    of_files = pd.Series(map(frozenset, zip(first, file, strict=True)), index.index, dtype=object)
    copies |= renamed | (timed & other & of_files.isin(of_files[copies]))
    named_again = read.mask(copies).groupby(named_so).transform("max") > since
    return copies, ~copies & named_again


def box_rows(boxes: np.ndarray, scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Lay out the boxes of an image as rows of `BOX`, (N,).

    Parameters
    ----------
    boxes : ndarray of shape (N, 4)
        xyxy, pixels.
    scores, labels : ndarray of shape (N,)
        Scores, and places of the words in the store.
    """
    rows = np.empty(len(scores), BOX)
    rows["box"], rows["score"], rows["label"] = boxes, scores, labels
    return rows


class MonitorStore:
    """Boxes of images by site, and what was computed of them, in one SQLite file.

    Every method opens the file where needed and is one transaction. It raises InputError where the
    file is damaged or of another program or version, and OSError where SQLite reports another
    error.

    Parameters
    ----------
    folder : path-like
        Of the file ``monitor.sqlite``; made on first use.
    """

    def __init__(self, folder: PathLike) -> None:
        self.folder = Path(folder)
        self.path = self.folder / FILE
        self._connection: sqlite3.Connection | None = None

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def check(self, made_with: Mapping[str, Any]) -> None:
        """Note the detector and its settings.

        Parameters
        ----------
        made_with : mapping
            Nested plain values that the images depend on.

        Raises
        ------
        InputError
            If what is here was made with others.
        """
        now = json.loads(json.dumps(made_with))
        with self._transaction(writing=True) as db:
            rows = db.execute("SELECT name, value FROM settings").fetchall()
            before = {name: json.loads(value) for name, value in rows}
            if not before:
                db.executemany(
                    "INSERT INTO settings VALUES (?, ?)",
                    [(name, json.dumps(value)) for name, value in now.items()],
                )
                return
        different = sorted(k for k in before.keys() | now.keys() if before.get(k) != now.get(k))
        if different:
            raise InputError(
                f"{self.folder} holds what another detector, or the same with other settings, left "
                f"of these images (different: {', '.join(different)}). Name another folder with "
                "--work-dir, or use the estimator that it was made with."
            )

    def release(self) -> None:
        """Forget with what settings a run began that left no image, as after a wrong option."""
        with self._transaction(writing=True) as db:
            if not db.execute("SELECT 1 FROM images LIMIT 1").fetchone():
                db.execute("DELETE FROM settings")

    def add_words(self, words: Iterable[str]) -> tuple[str, ...]:
        """Note words of the detector, and return all, which the labels of the boxes index.

        Parameters
        ----------
        words : iterable of str
            New ones come last, in this order; those that were noted before keep their places.
            Without any, none is added.
        """
        with self._transaction(writing=True) as db:
            stored_words = [word for (word,) in db.execute("SELECT word FROM words ORDER BY label")]
            new = [word for word in dict.fromkeys(words) if word not in set(stored_words)]
            rows = list(enumerate(new, len(stored_words)))
            db.executemany("INSERT INTO words VALUES (?, ?)", rows)
        return (*stored_words, *new)

    def index(self) -> pd.DataFrame:
        """List the images that were observed, without their boxes.

        Returns
        -------
        DataFrame
            Columns are `INDEX`, rows in the order in which images came. ``taken`` is NaT where it
            is not known, ``number`` the place in files whose order counts, ``kept`` whether the
            boxes are still there, see `forget`, ``found`` whether there were any, ``sized`` whether
            the size of the image is known.
        """
        with self._transaction() as db:
            rows = db.execute(
                "SELECT name, site, stamp, taken, taken_from, unreadable, observed_s, number, "
                "boxes IS NOT NULL, boxes IS NULL OR LENGTH(boxes) > 0, MIN(height, width) > 0 "
                "FROM images ORDER BY rowid"
            ).fetchall()
        index = pd.DataFrame(rows, columns=list(INDEX))
        # of the rows: a column of pandas that holds None turns numbers into floats
        taken = [np.datetime64("NaT" if row[3] is None else row[3], "us") for row in rows]
        index["taken"] = np.array(taken, "datetime64[us]")
        flags = dict.fromkeys(("kept", "found", "sized"), bool)
        return index.astype({"number": int, "observed_s": float, **flags})

    def read(self, names: Sequence[str]) -> list[CameraImage]:
        """Return some images, in their order.

        Parameters
        ----------
        names : sequence of str
            Images without boxes, which could not be read or were forgotten, and unknown ones are
            left out.

        Raises
        ------
        InputError
            If a record does not match its checksum.
        """
        rows = []
        with self._transaction() as db:
            for name in names:
                selected = db.execute("SELECT * FROM images WHERE name = ?", (name,))
                selected.row_factory = sqlite3.Row  # whose values have names
                row = selected.fetchone()
                if row is not None and row[-1] != _checksum(row[:-1]):
                    raise self._damaged(f"the record of {name} does not match its checksum")
                rows += [row] if row is not None else []
        images = []
        for row in rows:
            if row["boxes"] is None or row["unreadable"]:
                continue
            taken, reference = row["taken"], row["reference"]
            if taken is not None:
                taken = np.datetime64(taken, "us").astype(datetime)
            if reference is not None:
                reference = np.frombuffer(reference, BOX)
            images.append(
                CameraImage(
                    name=row["name"],
                    site=row["site"],
                    size=(row["height"], row["width"]),
                    taken=taken,
                    boxes=np.frombuffer(row["boxes"], BOX),
                    reference=reference,
                    stamp=row["stamp"],
                    taken_from=row["taken_from"],
                )
            )
        return images

    def add(
        self,
        images: Sequence[CameraImage],
        *,
        numbered: bool = False,
        file: tuple[str, str, Mapping[str, Any]] | None = None,
    ) -> int:
        """Keep images that are new or have changed, in one transaction.

        Parameters
        ----------
        images : sequence of CameraImage
            Those whose stamp is already here are left as they are.
        numbered : bool
            Whether their order counts, as where they come from a file without times. An image keeps
            the number that it had first.
        file : (str, str, mapping), optional
            Name, stamp and note of the results file that they are from; see `files`.

        Returns
        -------
        int
            How many were kept.
        """
        with self._transaction(writing=True) as db:
            stored = {}
            for image in images:
                row = db.execute(
                    "SELECT stamp, number FROM images WHERE name = ?", (image.name,)
                ).fetchone()
                if row is not None:
                    stored[image.name] = row
            (free,) = db.execute("SELECT COALESCE(MAX(number) + 1, 0) FROM images").fetchone()
            new = [image for image in images if stored.get(image.name, ("",))[0] != image.stamp]
            for image in new:
                number = 0
                if numbered and image.name in stored:
                    number = stored[image.name][1]
                elif numbered:
                    number, free = free, free + 1
                taken = image.taken and int(np.datetime64(image.taken, "us").astype(np.int64))
                reference = None if image.reference is None else image.reference.tobytes()
                when = (taken, image.taken_from, image.unreadable, time.time())
                size = (int(image.size[0]), int(image.size[1]))
                passes = (image.boxes.tobytes(), reference)
                values = (image.name, image.site, image.stamp, *when, number, *size, *passes)
                places = ", ".join("?" * (len(values) + 1))
                insert = f"INSERT OR REPLACE INTO images VALUES ({places})"
                db.execute(insert, (*values, _checksum(values)))
            if file is not None:
                name, stamp, note = file
                db.execute(
                    "INSERT OR REPLACE INTO files VALUES (?, ?, ?)", (name, stamp, json.dumps(note))
                )
        return len(new)

    def files(self) -> dict[str, dict[str, Any]]:
        """Return the note of each results file that was read, with its ``stamp``, by name."""
        with self._transaction() as db:
            rows = db.execute("SELECT name, stamp, note FROM files").fetchall()
            return {name: {"stamp": stamp, **json.loads(note)} for name, stamp, note in rows}

    def gone_since(self, there: Collection[str]) -> dict[str, float]:
        """Note which results files are gone, and return since when, in seconds, by name.

        Parameters
        ----------
        there : collection of str
            Names of the files that are there now, before those that are new are read.
        """
        with self._transaction(writing=True) as db:
            rows = db.execute("SELECT name, note FROM files").fetchall()
            notes = {name: json.loads(note) for name, note in rows}
            for name, note in notes.items():
                if name in there and "gone_s" in note:
                    del note["gone_s"]
                elif name not in there and "gone_s" not in note:
                    note["gone_s"] = time.time()
                else:
                    continue
                db.execute("UPDATE files SET note = ? WHERE name = ?", (json.dumps(note), name))
        return {name: note["gone_s"] for name, note in notes.items() if "gone_s" in note}

    def windows(self, made_with: str) -> dict[tuple[str, str], tuple[str, dict[str, Any]]]:
        """Return the windows that were computed and kept.

        Parameters
        ----------
        made_with : str
            Digest of all that the numbers of a window depend on, but for its images. Windows that
            were kept with another one are not returned.

        Returns
        -------
        dict of (str, str) to (str, dict)
            By site and name of the window the digest that it was kept with, and what was computed.

        Raises
        ------
        InputError
            If one does not match its checksum.
        """
        windows: dict[tuple[str, str], tuple[str, dict[str, Any]]] = {}
        with self._transaction() as db:
            rows = db.execute(
                "SELECT site, window, digest, content FROM windows WHERE made_with = ?",
                (made_with,),
            ).fetchall()
            for site, name, stamp, content in rows:
                digest, _, checksum = stamp.partition(" ")  # of an earlier version without one
                values = site, name, made_with, digest, content
                if checksum and checksum != str(_checksum(values)):
                    raise self._damaged(f"window {name} of {site} does not match its checksum")
                windows[site, name] = digest, json.loads(content)
        return windows

    def keep_windows(
        self, made_with: str, windows: Mapping[tuple[str, str], tuple[str, Mapping[str, Any]]]
    ) -> None:
        """Keep what was computed of windows, in place of what was kept of them.

        Parameters
        ----------
        made_with : str
            See `windows`.
        windows : mapping of (str, str) to (str, mapping)
            As `windows` returns them. What was computed is plain values, NaN among them, or
            scalars of NumPy.
        """
        rows = []
        for (site, name), (digest, content) in windows.items():
            text = json.dumps(content, default=lambda value: value.item())
            checksum = _checksum((site, name, made_with, digest, text))
            rows.append((site, name, made_with, f"{digest} {checksum}", text))
        with self._transaction(writing=True) as db:
            db.executemany("INSERT OR REPLACE INTO windows VALUES (?, ?, ?, ?, ?)", rows)

    def forget(self, names: Iterable[str]) -> None:
        """Drop the boxes of some images; that they were observed stays known.

        Parameters
        ----------
        names : iterable of str
            Names of images; those that are not in `index` are passed over.
        """
        with self._transaction(writing=True) as db:
            for name in names:
                row = db.execute("SELECT * FROM images WHERE name = ?", (name,)).fetchone()
                if row is None or not row[10]:  # not here, none was found, or they are gone
                    continue
                without = (*row[:10], None, None)
                db.execute(
                    "UPDATE images SET boxes = NULL, reference = NULL, checksum = ? WHERE name = ?",
                    (_checksum(without), name),
                )

    def sent(self) -> set[tuple[str, str]]:
        """Return site and kind of the alarms that were sent and have not ended."""
        with self._transaction() as db:
            return set(db.execute("SELECT site, kind FROM sent").fetchall())

    def keep_sent(self, alarms: Iterable[tuple[str, str]]) -> None:
        """Note which alarms were sent, in place of those before.

        Parameters
        ----------
        alarms : iterable of (str, str)
            Site and kind, such as ``fell``, of each alarm that has not ended.
        """
        with self._transaction(writing=True) as db:
            db.execute("DELETE FROM sent")
            db.executemany("INSERT INTO sent VALUES (?, ?)", sorted(set(alarms)))

    @contextmanager
    def _transaction(self, *, writing: bool = False) -> Iterator[sqlite3.Connection]:
        """Give the file to queries that see one state of it, or to changes that all happen or none.

        One process at a time writes. What SQLite reports is raised as an error of this program.
        """
        try:
            db = self._opened()
            db.execute("BEGIN IMMEDIATE" if writing else "BEGIN")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise self._damaged(str(error)) from error
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            text, not_utf8, _ = str(error).partition(" with text ")  # Python's own, without a code
            if not code and not_utf8:
                raise self._damaged(text) from error
            if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT):
                raise self._damaged(str(error)) from error
            number = errno.ENOSPC if code == sqlite3.SQLITE_FULL else errno.EIO
            raise OSError(number, str(error), str(self.path)) from error

    def _opened(self) -> sqlite3.Connection:
        """Open the file once; make the tables of a new one, refuse another or a damaged one."""
        if self._connection is not None:
            return self._connection
        self.folder.mkdir(parents=True, exist_ok=True)
        db = sqlite3.connect(self.path, timeout=BUSY_S, isolation_level=None)
        try:
            db.execute("BEGIN")  # all of one moment: another process may be making the tables
            (n_tables,) = db.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
            (application,) = db.execute("PRAGMA application_id").fetchone()
            (version,) = db.execute("PRAGMA user_version").fetchone()
            db.execute("COMMIT")
            if not application and not n_tables:
                db.execute("BEGIN IMMEDIATE")  # another process may have been faster
                if not db.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]:
                    for statement in TABLES.split(";"):
                        db.execute(statement)
                    db.execute(f"PRAGMA application_id = {APPLICATION}")
                    db.execute(f"PRAGMA user_version = {FORMAT}")
                db.execute("COMMIT")
            elif application != APPLICATION or version != FORMAT:
                raise InputError(
                    f"{self.path} is no store of this version of the monitor (format {version}, "
                    f"expected {FORMAT}): name another folder with --work-dir."
                )
            else:
                (state,) = db.execute("PRAGMA quick_check(1)").fetchone()
                if state != "ok":
                    raise self._damaged(state)
        except BaseException:
            db.close()
            raise
        self._connection = db
        return db

    def _damaged(self, reason: str) -> InputError:
        in_a_line = " ".join(reason.split())
        return InputError(
            f"{self.path} is damaged ({in_a_line}), and nothing of it is used: put back a copy of "
            "it, or name another folder with --work-dir."
        )


def _checksum(values: Sequence[Any]) -> int:
    return zlib.crc32(repr(tuple(values)).encode())
