"""Counts that a model predicted, compared with the true ones, and the tables they come in."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from autoeval.boxes import LabelledImage
from autoeval.errors import InputError
from autoeval.io.image_identity import Named, match_images, normal_id
from autoeval.runtime.files import PathLike
from autoeval.words import listed

LARGEST = 1e12  # what is beyond it is no count
BLANK = ("", "nan", "none")  # what stands for a missing number, in any case

ALIASES = {
    "id": (
        *("id", "image_id", "image", "image_file", "image_name", "image_path", "img", "img_id"),
        *("file", "file_name", "filename", "name", "path"),
    ),
    "error": ("error", "target-pred"),
    "target": ("target", "count", "ground_truth", "gt", "true_count", "gt_count", "label"),
    "pred": (
        *("pred", "prediction", "predicted", "predicted_count", "pred_count", "estimate"),
        *("estimated_count", "output"),
    ),
}
CLASS_NAMES = ("class", "category", "object", "prompt", "class_name", "text")
LONG = ("image", "class", "count")
# Files about an image have its name, with another suffix.
ANNOTATION = re.compile(r"\.(?:mat|txt|json)$", re.IGNORECASE)
FORMS = {2: ("id", "pred"), 3: ("id", "target", "pred"), 4: ("id", "error", "target", "pred")}


def read_columns(
    path: PathLike, by_position: Mapping[int, tuple[str, ...]], *, count_means: str = "target"
) -> pd.DataFrame:
    """Read a table of one row for each image.

    A first row of words without a number is a header, whose names are those of `ALIASES`; of
    several for one thing the first of `ALIASES` counts, wherever it stands.

    Parameters
    ----------
    path : path-like
        Parquet, or text with commas, semicolons or tabs.
    by_position : mapping of int to tuple of str
        Names of the columns of a table without a header, by their number.
    count_means : {"target", "pred"}
        Whether a column ``count`` has true or predicted counts.

    Returns
    -------
    DataFrame
        ``id`` (text) and whichever other columns there are, as text or numbers.

    Raises
    ------
    InputError
        If it cannot be read, has other columns or no row, or an id comes twice.
    """
    path = Path(path)
    frame = _read(path)
    if frame.columns.dtype == object or frame.columns.dtype == "str":
        columns = {}
        lower = {str(column).lower(): column for column in reversed(frame.columns)}
        if count_means == "pred" and "count" in lower and not {*ALIASES["pred"]} & {*lower}:
            columns["pred"] = frame[lower.pop("count")]
        for name, aliases in ALIASES.items():
            if matching := [lower[alias] for alias in aliases if alias in lower]:
                columns[name] = frame[matching[0]]
        if "id" not in columns or len(columns) < 2:
            accepted = "; ".join(f"{n}: {', '.join(names)}" for n, names in ALIASES.items())
            raise InputError(
                f"{path} has the columns {listed(frame.columns, most=20)}: expected 'id' and "
                f"'target', 'pred' or both, by one of these names ({accepted})."
            )
        frame = pd.DataFrame(columns)
    elif frame.shape[1] in by_position:
        frame.columns = pd.Index(by_position[frame.shape[1]])
    else:
        forms = " or ".join(",".join(names) for names in by_position.values())
        raise InputError(f"{path} has {frame.shape[1]} columns and no header: expected {forms}.")
    if frame.empty:
        raise InputError(f"{path} has a header but no rows.")
    frame["id"] = _names(frame["id"])
    twice = frame["id"][frame["id"].duplicated()].unique().tolist()
    if twice:
        raise InputError(
            f"{path}: every id must appear once, but {len(twice)} appear more often: "
            f"{listed(twice)}."
        )
    return frame


def numbers(path: PathLike, frame: pd.DataFrame, column: str) -> np.ndarray:
    """Read a column as float64; blank, ``nan`` and ``none`` become NaN.

    Parameters
    ----------
    path : path-like
        The file, for messages.
    frame : DataFrame
        See `read_columns`.
    column : str
        Its name.

    Raises
    ------
    InputError
        If it holds anything else, or a number beyond `LARGEST`.
    """
    text = frame[column].astype(object).where(frame[column].notna(), "")
    values = pd.to_numeric(text, errors="coerce").to_numpy(np.float64, copy=True)
    bad = np.abs(values) > LARGEST
    # Few fields are no plain number, and only these are looked at one by one.
    for row in np.flatnonzero(np.isnan(values)):
        bad[row] = str(text.iloc[row]).strip().lower() not in BLANK
    if bad.any():
        raise InputError(
            f"{path}: column '{column}' should hold numbers up to {LARGEST:g}, but {bad.sum()} of "
            f"{len(bad)} rows do not (ids: {listed(frame['id'][bad].tolist())}; first: "
            f"{str(text[bad].iloc[0])[:40]!r})."
        )
    return values


def _names(column: pd.Series) -> pd.Series:
    """Return names of images as text, a missing one empty; whole floats have no point."""
    return column.convert_dtypes().astype(object).where(column.notna(), "").astype(str).str.strip()


def _read(path: Path) -> pd.DataFrame:
    try:
        if path.suffix == ".parquet":
            frame = pd.read_parquet(path)
            # An index with a name, such as that of the images, was a column of who wrote it.
            return frame.reset_index([name for name in frame.index.names if name is not None])
        separator = separator_of(path)
        frame = pd.read_csv(path, sep=separator, header=None, dtype=str, keep_default_na=False)
    except InputError:
        raise
    except FileNotFoundError:
        raise InputError(f"No file {path}: check the path.") from None
    except pd.errors.EmptyDataError:
        raise InputError(f"{path} is empty.") from None
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path} is not in UTF-8 ({error}): write it with encoding='utf-8', or save it as CSV "
            "UTF-8."
        ) from None
    except (OSError, ValueError) as error:
        raise InputError(f"Cannot read {path}: {error}.") from None
    if separator == ";":  # by people whose decimal point is a comma
        frame = frame.replace(r"^\s*(-?\d+),(\d+)\s*$", r"\1.\2", regex=True)
    *others, last = frame.iloc[0]
    # Behind the counts there may be a word, such as a stratum, or none for a skipped answer.
    if not any(map(_is_number, [*others, last or "nan"])):
        frame.columns = pd.Index(frame.iloc[0].str.strip())
        frame = frame.iloc[1:].reset_index(drop=True)
    return frame


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def separator_of(path: Path) -> str:
    """Return which of comma, semicolon and tab separates the fields of the first line with text.

    Parameters
    ----------
    path : Path
        A text file.

    Raises
    ------
    InputError
        If it is a pipe: the rows that are read here would be lost to those who read the table.
    """
    if path.is_fifo():
        raise InputError(
            f"{path} is a pipe. Expected a file, which is read more than once: write the table "
            "into a file, and name that."
        )
    with path.open(encoding="utf-8-sig", newline="") as stream:
        line = next((line for line in stream if line.strip()), "")
    outside_quotes = "".join(line.split('"')[::2])
    return max(",;\t", key=outside_quotes.count)


def read_long(path: PathLike) -> pd.DataFrame:
    """Read counts in long form: one row for each image and class.

    Parameters
    ----------
    path : path-like
        Parquet or text: ``image,class,count``, or without a class. Columns may have any of the
        names of `ALIASES`, and ``class`` those of `CLASS_NAMES`; without a header there are two or
        three.

    Returns
    -------
    DataFrame
        ``count`` (float64, NaN where blank), indexed by image and class, which is empty where there
        is none; ``attrs["name"]`` is the stem of the file.

    Raises
    ------
    InputError
        If it cannot be read, has other columns, or a row comes twice.
    """
    path = Path(path)
    frame = _read(path)
    if frame.columns.dtype == object or frame.columns.dtype == "str":
        lower = {str(column).strip().lower(): column for column in frame.columns}
        wanted = {
            "image": ALIASES["id"],
            "class": CLASS_NAMES,
            "count": (*ALIASES["pred"], "count", "value"),
        }
        named = {
            name: next((lower[alias] for alias in aliases if alias in lower), None)
            for name, aliases in wanted.items()
        }
    else:
        by_position = {2: ("image", "count"), 3: ("image", "class", "count")}
        columns = by_position.get(frame.shape[1], ())
        named = {name: (columns.index(name) if name in columns else None) for name in LONG}
    if named["image"] is None or named["count"] is None:
        raise InputError(
            f"{path} has the columns {listed(frame.columns, most=20)}: expected image, class and "
            f"count. An image may be called {', '.join(ALIASES['id'])}; a class "
            f"{', '.join(CLASS_NAMES)}; a count {', '.join(ALIASES['pred'])}, count or value."
        )
    blank = pd.Series("", frame.index)
    table = pd.DataFrame(
        {name: blank if column is None else frame[column] for name, column in named.items()}
    )
    table["id"] = table["image"] = _names(table["image"])
    table["class"] = table["class"].astype(str).str.strip()
    table["count"] = numbers(path, table, "count")
    twice = table[table.duplicated(["image", "class"])]
    if len(twice):
        names = [f"{i} {kind}".strip() for i, kind in twice[["image", "class"]].to_numpy().tolist()]
        raise InputError(f"{path}: {len(names)} rows come twice: {listed(names)}.")
    table = table.set_index(["image", "class"])[["count"]]
    table.attrs["name"] = path.stem
    return table


def match_ids(ids: Collection[str], target_ids: Collection[str]) -> dict[str, str]:
    """Return for each of `ids` the one of `target_ids` that names the same image.

    Names are looked up as those of boxes are (`autoeval.io.image_identity.match_images`), with or
    without folders and suffix, and numbers as they are written by floats; those that could be
    several, or are of one, join none.

    Parameters
    ----------
    ids : collection of str
        Names of images.
    target_ids : collection of str
        Other names of the images.

    Examples
    --------
    >>> match_ids(["images/IMG_1.jpg", "images/IMG_2.jpg"], ["IMG_1", "IMG_3"])
    {'images/IMG_1.jpg': 'IMG_1'}
    """
    targets = list(target_ids)
    matches = match_images(
        [Named(None, normal_id(ANNOTATION.sub("", name))) for name in ids],
        [LabelledImage("", normal_id(ANNOTATION.sub("", name)), None) for name in targets],
    )
    places = matches.index.tolist()
    times = Counter(places)
    return {
        name: targets[place]
        for name, place in zip(ids, places, strict=True)
        if place >= 0 and times[place] == 1
    }


def true_counts(path: PathLike, frame: pd.DataFrame) -> np.ndarray:
    """Return the column ``target`` (N,), float64.

    Parameters
    ----------
    path : path-like
        The file, for messages.
    frame : DataFrame
        See `read_columns`.

    Raises
    ------
    InputError
        If a count is missing or negative.
    """
    counts = numbers(path, frame, "target")
    bad = frame["id"][np.isnan(counts) | (counts < 0)].tolist()
    if bad:
        raise InputError(
            f"{path}: a true count must be a number from 0 up, but {len(bad)} of {len(counts)} are "
            f"missing or negative (ids: {listed(bad)})."
        )
    return counts


@dataclass(frozen=True, eq=False)
class CountPredictions:
    """The counts that one model predicted for N images.

    Parameters
    ----------
    name : str
        Of the model.
    ids : tuple of str
        Image ids.
    target : ndarray of shape (N,), float64
        True counts; NaN where they are not known.
    pred : ndarray of shape (N,), float64
        Predicted counts; NaN for a skipped image.
    notes : tuple of str
        What is odd about them, one sentence each.
    """

    name: str
    ids: tuple[str, ...]
    target: np.ndarray
    pred: np.ndarray
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def answered(self) -> np.ndarray:
        """Mask of the images with a prediction, shape (N,)."""
        return ~np.isnan(self.pred)

    def named_as(self, ids: Collection[str]) -> CountPredictions:
        """Return the predictions by other names of their images.

        Parameters
        ----------
        ids : collection of str
            The other names, joined by `match_ids`; what none of them names keeps its own.
        """
        names = match_ids(self.ids, ids)
        return replace(self, ids=tuple(names.get(i, i) for i in self.ids))

    def select(self, rows: np.ndarray, *notes: str) -> CountPredictions:
        """Return some of the images.

        Parameters
        ----------
        rows : ndarray
            Positions, or a mask of shape (N,).
        *notes : str
            Added to those there are.
        """
        index = np.arange(len(self))[rows]
        ids = tuple(self.ids[i] for i in index)
        target, pred = self.target[index], self.pred[index]
        return CountPredictions(self.name, ids, target, pred, self.notes + notes)


def read_predictions(
    path: PathLike, truth: Mapping[str, float] | None = None, name: str | None = None
) -> CountPredictions:
    """Read the predictions of one model.

    Parameters
    ----------
    path : path-like
        CSV or Parquet. Without a header it has ``id,target,pred`` or
        ``id,target-pred,target,pred``, or ``id,pred`` where `truth` is given; with one, the same
        columns in any order.
    truth : mapping of str to float, optional
        True counts by image id.
    name : str, optional
        Of the model; by default the stem of the file.

    Raises
    ------
    InputError
        If it cannot be read, lacks a column, or states true counts that are not those of `truth`.
    """
    frame = read_columns(path, FORMS, count_means="target" if truth is None else "pred")
    if "pred" not in frame:
        raise InputError(
            f"{path} has no column 'pred' (or {', '.join(ALIASES['pred'][1:])}"
            f"{'; a count is taken for the true one unless there is a --truth' * (truth is None)})."
        )
    pred = numbers(path, frame, "pred")
    ids = tuple(frame["id"])
    name = Path(path).stem if name is None else name
    if "target" not in frame:
        if truth is None:
            raise InputError(f"{path} has no true counts: add a column 'target', or give a truth.")
        return counted(name, ids, pred, truth)
    target = true_counts(path, frame)
    if "error" in frame:
        excess = target - pred - numbers(path, frame, "error")
        bad = _where(ids, np.abs(excess) > 1e-3 * (1 + target))
        if bad:
            raise InputError(
                f"{path}: the second column should be target - pred, but it is not in {len(bad)} "
                f"rows (ids: {listed(bad)}). Expected id,target-pred,target,pred."
            )
    predictions = CountPredictions(name, ids, target, pred, odd_predictions(ids, pred))
    return predictions if truth is None else join_truth(predictions, truth)


def predicted_ids(path: PathLike) -> tuple[str, ...]:
    """Return the image ids of a file of predictions.

    Parameters
    ----------
    path : path-like
        See `read_predictions`.

    Raises
    ------
    InputError
        See `read_columns`.
    """
    return tuple(read_columns(path, FORMS, count_means="pred")["id"])


def align(models: Sequence[CountPredictions]) -> list[CountPredictions]:
    """Restrict models to the images that all their files hold, in the order of the first.

    Images are joined by `match_ids` and keep the ids of the first; notes name those left out.

    Parameters
    ----------
    models : sequence of CountPredictions
        With true counts.

    Raises
    ------
    InputError
        If no image is common to all, or true counts differ.
    """
    if len(models) == 1:
        return list(models)
    models = [model.named_as(models[0].ids) for model in models]
    targets = [dict(zip(m.ids, m.target.tolist(), strict=True)) for m in models]
    common = [i for i in models[0].ids if all(i in target for target in targets[1:])]
    if not common:
        raise InputError(
            "The prediction files have no image in common. First ids: "
            + "; ".join(f"{m.name}: {listed(m.ids, most=3)}" for m in models)
        )
    differing = [i for i in common if len({target[i] for target in targets}) > 1]
    if differing:
        raise InputError(
            f"The true counts of {len(differing)} images differ between the prediction files "
            f"(ids: {listed(differing)})."
        )
    kept, aligned = set(common), []
    for model in models:
        row = {image_id: k for k, image_id in enumerate(model.ids)}
        left = [image_id for image_id in row if image_id not in kept]
        notes = [f"{len(left)} images that another file lacks were left out: {listed(left)}"]
        rows = np.array([row[i] for i in common])
        aligned.append(model.select(rows, *(notes if left else [])))
    return aligned


def odd_predictions(ids: Sequence[str], pred: np.ndarray) -> tuple[str, ...]:
    """State which predictions are missing, and which are negative.

    Parameters
    ----------
    ids : sequence of str
        Image ids.
    pred : ndarray of shape (N,)
        Predicted counts; NaN for a skipped image.
    """
    notes = []
    for mask, statement in (
        (np.isnan(pred), "have no prediction (skipped): they enter sMAPE as 100 and nothing else"),
        (pred < 0, "have a negative prediction, which is used as it is"),
    ):
        if mask.any():
            named = listed(_where(ids, mask))
            notes.append(f"{mask.sum()} of {len(ids)} images {statement}: {named}")
    return tuple(notes)


def counted(
    name: str, ids: tuple[str, ...], pred: np.ndarray, truth: Mapping[str, float]
) -> CountPredictions:
    """Join true counts to predicted ones that state none.

    Parameters
    ----------
    name : str
        Of the model.
    ids : tuple of str
        Image ids.
    pred : ndarray of shape (N,), float64
        Predicted counts; NaN for a skipped image.
    truth : mapping of str to float
        See `join_truth`, and what it raises.
    """
    unknown = np.full(len(ids), np.nan)
    return join_truth(CountPredictions(name, ids, unknown, pred, odd_predictions(ids, pred)), truth)


def join_truth(predictions: CountPredictions, truth: Mapping[str, float]) -> CountPredictions:
    """Join true counts to predicted ones; notes name the ids that one side lacks.

    Images are joined by `match_ids` and keep the ids of the truth.

    Parameters
    ----------
    predictions : CountPredictions
        With or without true counts.
    truth : mapping of str to float
        True counts by image id.

    Raises
    ------
    InputError
        If no image is in the truth, or the predictions state other true counts.
    """
    predictions = predictions.named_as(truth)
    with_truth = np.array([image_id in truth for image_id in predictions.ids])
    if not with_truth.any():
        raise InputError(
            f"No id of the predictions of {predictions.name} is in the truth. First ids: "
            f"{listed(predictions.ids, most=3)}; of the truth: {listed(list(truth), most=3)}."
        )
    notes = []
    if lacking := _where(predictions.ids, ~with_truth):
        notes.append(
            f"{len(lacking)} predictions without a true count were left out: {listed(lacking)}"
        )
    predicted = set(predictions.ids)
    if missing := [image_id for image_id in truth if image_id not in predicted]:
        notes.append(f"{len(missing)} images of the truth have no prediction: {listed(missing)}")
    kept = predictions.select(with_truth, *notes)
    target = np.array([truth[image_id] for image_id in kept.ids], np.float64)
    differing = _where(kept.ids, ~np.isnan(kept.target) & (kept.target != target))
    if differing:
        raise InputError(
            f"The true counts of {len(differing)} images in the predictions of {kept.name} differ "
            f"from the truth (ids: {listed(differing)})."
        )
    return CountPredictions(kept.name, kept.ids, target, kept.pred, kept.notes)


def _where(ids: Sequence[str], mask: np.ndarray) -> list[str]:
    return [image_id for image_id, marked in zip(ids, mask, strict=True) if marked]
