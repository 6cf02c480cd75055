"""Prediction files in the form the authors released theirs: images by classes, as CSV."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd

from autoeval.counting.praco.data import CountingSet
from autoeval.counting.praco.result import PracoResult
from autoeval.counting.predictions import ALIASES, CLASS_NAMES, match_ids, read_long, separator_of
from autoeval.errors import InputError
from autoeval.runtime.files import PathLike, write_text
from autoeval.words import listed

DECIMALS = 2
NEGATIVE = "Test1"
UPPER = "Test2_Upper"
LOWER = "Test2_Lower"
NOT_IN_FILE = "no row, or no column of its class, in the prediction file"


def file_name(test: str, model: str, split: str) -> str:
    """Return the name of a file of the authors' form.

    Parameters
    ----------
    test : str
        `NEGATIVE`, `UPPER` or `LOWER`.
    model, split : str
    """
    return f"Inference_{test}_{model}_{split}.csv"


def write_released(
    folder: PathLike,
    model: str,
    counting_set: CountingSet,
    counts: pd.DataFrame,
    mosaics: pd.DataFrame | None,
) -> list[Path]:
    """Write the files of one model in the authors' form, counts rounded to two decimals.

    Parameters
    ----------
    folder : path-like
    model : str
        Its name; spaces and slashes become dashes.
    counting_set : CountingSet
        Gives the split and the order of classes.
    counts : DataFrame
        Images (rows) by classes.
    mosaics : DataFrame or None
        ``positive``, ``negative_class``, ``upper`` and ``lower``.

    Returns
    -------
    list of Path
        One file, or three with mosaics; those of an earlier run that this one lacks are removed.

    Raises
    ------
    InputError
        If there are several mosaics of an image and a negative class.
    """
    model = re.sub(r"[\s/\\]+", "-", model)
    tables = {NEGATIVE: counts}
    if mosaics is not None:
        cells = mosaics.set_index(["positive", "negative_class"])
        if cells.index.has_duplicates:
            raise InputError(
                "The released form holds one mosaic for each image and negative class, but there "
                "are several: Parquet holds them all."
            )
        tables |= {UPPER: cells["upper"].unstack(), LOWER: cells["lower"].unstack()}
    written = []
    for test in (NEGATIVE, UPPER, LOWER):
        path = Path(folder) / file_name(test, model, counting_set.name)
        table = tables.get(test)
        if table is None:
            path.unlink(missing_ok=True)  # of an earlier run with mosaics
            continue
        whole = table.reindex(index=counts.index, columns=list(counting_set.classes))
        text = whole.round(DECIMALS).rename_axis(index=None, columns=None).to_csv()
        write_text(path, text)
        written.append(path)
    return written


def find_released(
    folder: PathLike,
    split: str,
    warnings: dict[str, list[str]] | None = None,
    *,
    multi_class: bool = False,
) -> dict[str, Path]:
    """Find the negative-label file of each model in a folder and the folders within it.

    Parameters
    ----------
    folder : path-like
    split : str
    warnings : dict of str to list of str, optional
        Receives by model which of its files are left out.
    multi_class : bool
        Whether ``multiclass_MODEL_SPLIT1.csv``, the name of PrACo++, counts as well.

    Returns
    -------
    dict of str to Path
        By model; of several files of one model the first, those of the folder itself before others.
    """
    forms = [file_name(NEGATIVE, "\0", split), *([f"multiclass_\0_{split}1.csv"] * multi_class)]
    patterns = [re.compile(re.escape(form).replace("\0", "(.+)")) for form in forms]
    folder = Path(folder)
    files: dict[str, Path] = {}
    for path in [*sorted(folder.glob("*.csv")), *sorted(folder.glob("*/*.csv"))]:
        for pattern in patterns:
            if match := pattern.fullmatch(path.name):
                kept = files.setdefault(match.group(1), path)
                if kept != path and warnings is not None:
                    text = f"{path} is left out: {kept} was read"
                    warnings.setdefault(match.group(1), []).append(text)
    return files


def evaluate_table(
    path: PathLike, counting_set: CountingSet, *, mode: str = "paper"
) -> PracoResult:
    """Measure a table of counts of one model, without mosaics.

    Parameters
    ----------
    path : path-like
        In long form (image, class, count) or the authors'; the model has its name.
    counting_set : CountingSet
        Of one class an image. Images without a row, or without the column of their class, are not
        measured.
    mode : {"paper", "released"}
        See `PracoResult`.

    Raises
    ------
    InputError
        If the file cannot be read or does not fit.
    """
    warnings: list[str] = []
    path = Path(path)
    counts, counting_set = _counts_with_own(path, counting_set, warnings)
    return PracoResult(path.stem, counts, counting_set.truth(), None, mode, tuple(warnings))


def _counts_with_own(
    path: Path, counting_set: CountingSet, warnings: list[str]
) -> tuple[pd.DataFrame, CountingSet]:
    """Read counts, and leave out images without a row or without the column of their class."""
    counts = read_counts(path, counting_set, warnings)
    answered = {im.image_id for im in counting_set.kept if im.category in counts.columns}
    counts = counts.loc[counts.index.isin(answered)].reindex(columns=list(counting_set.classes))
    left_out = set(counting_set.by_id) - set(counts.index)
    return counts, counting_set.exclude(left_out, NOT_IN_FILE)


def evaluate_files(
    folder: PathLike, model: str, counting_set: CountingSet, *, mode: str = "paper"
) -> PracoResult:
    """Measure predictions made elsewhere on the images that they have.

    Parameters
    ----------
    folder : path-like
        With the files of the authors' form; see `file_name`.
    model : str
        Its name in them.
    counting_set : CountingSet
        Of one class an image, and the split. Images without a row, or without the column of their
        class, are not measured; other missing columns become undefined cells, and rows of other
        images are passed over. The notes name all.
    mode : {"paper", "released"}
        See `PracoResult`.

    Returns
    -------
    PracoResult
        Its `mosaics` have a row for each that has a cell in the upper file, filled or empty; None
        without such files.

    Raises
    ------
    InputError
        If a file cannot be read or does not fit, or one half of the mosaics is missing.
    """
    warnings: list[str] = []
    folder, split = Path(folder), counting_set.name
    file = folder / file_name(NEGATIVE, model, split)
    counts, counting_set = _counts_with_own(file, counting_set, warnings)
    paths = [folder / file_name(test, model, split) for test in (UPPER, LOWER)]
    present = [path for path in paths if path.exists()]
    if len(present) == 1:
        [lacking] = set(paths) - set(present)
        raise InputError(f"{present[0]} needs its other half, {lacking.name}: it is missing.")
    truth = counting_set.truth()
    if not present:
        return PracoResult(model, counts, truth, None, mode, tuple(warnings))
    upper, file = _read(present[0], counting_set, warnings, mosaics=True)
    lower, _ = _read(present[1], counting_set, warnings, mosaics=True)
    common_cells = upper.index.isin(file.index)[:, None] & upper.columns.isin(file.columns)
    row, column = np.nonzero(_mosaic_cells(counting_set) & common_cells)
    categories = np.array([image.category for image in counting_set.kept], object)
    mosaics = pd.DataFrame(
        {
            "positive": upper.index.to_numpy(object)[row],
            "positive_class": categories[row],
            "negative_class": upper.columns.to_numpy(object)[column],
            "upper": upper.to_numpy()[row, column],
            "lower": lower.to_numpy()[row, column],
        }
    )
    return PracoResult(model, counts, truth, mosaics, mode, tuple(warnings))


def read_counts(path: Path, counting_set: CountingSet, warnings: list[str]) -> pd.DataFrame:
    """Read what a file has of the measured images and the classes.

    Parameters
    ----------
    path : Path
        In long form (image, class, count), or CSV of images by classes.
    counting_set : CountingSet
    warnings : list of str
        Receives the gaps of the file.

    Returns
    -------
    DataFrame
        Images (rows) by classes, those that the file has, in the order of the set.

    Raises
    ------
    InputError
        If the file cannot be read, names an unknown class, has an image twice, or none of the set.
    """
    whole, table = _read(path, counting_set, warnings)
    return whole.loc[whole.index.isin(table.index), whole.columns.isin(table.columns)]


def _read(
    path: Path, counting_set: CountingSet, warnings: list[str], *, mosaics: bool = False
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return all measured images by all classes, and the table of the file itself."""
    if path.suffix in (".json", ".jsonl"):  # as CSV, one line of a column for each value
        raise InputError(f"{path} is JSON: expected CSV or Parquet of image, class and count.")
    try:
        table = _long_form(path)
        if table is None:
            table = pd.read_csv(path, index_col=0, dtype={0: str}, sep=separator_of(path))
        table = table.astype(np.float64)
    except InputError:
        raise
    except FileNotFoundError:
        raise InputError(f"No prediction file {path}: check the path.") from None
    except (OSError, ValueError) as error:
        raise InputError(
            f"Cannot read {path}: {error}. Expected image names in the first column and a column "
            "of counts for each class; or the columns image, class and count."
        ) from None
    table.index = table.index.map(str)  # a row without a name, too
    table = table.rename(index=match_ids(list(table.index), counting_set.by_id))
    twice = table.index[table.index.duplicated()].unique()
    if len(twice):
        raise InputError(f"{path}: images must have one row, these have more: {listed(twice)}.")
    if unknown := [name for name in table.columns if name not in counting_set.classes]:
        raise InputError(
            f"{path} has columns that are no class of {counting_set.name}: {listed(unknown)}. Its "
            f"classes are {listed(counting_set.classes)}. Is it of another split? Or "
            "does it lack one of the columns image, class and count?"
        )
    if not table.index.isin(list(counting_set.by_id)).any():
        raise InputError(
            f"{path} has no row for any image of {counting_set.name}: its rows are "
            f"{listed(table.index)}."
        )
    ids = [image.image_id for image in counting_set.kept]
    whole = table.reindex(index=ids, columns=list(counting_set.classes))
    expected = _mosaic_cells(counting_set) if mosaics else np.ones(whole.shape, bool)
    present = whole.index.isin(table.index)[:, None] & whole.columns.isin(table.columns)
    n_empty = int((whole.isna() & present & expected).to_numpy().sum())
    n_infinite = int(np.isinf(whole.to_numpy()[expected]).sum())
    rows = [name for name in whole.index if name not in table.index]
    columns = [name for name in whole.columns if name not in table.columns]
    by_id = counting_set.by_id
    unknown = [name for name in table.index if name not in by_id]
    gaps = {
        f"no row for {len(rows)} images ({listed(rows)})": len(rows),
        f"no column for {len(columns)} classes ({listed(columns)})": len(columns),
        f"{n_empty} cells without a count": n_empty,
        f"{n_infinite} infinite counts, taken as none": n_infinite,
        f"{len(unknown)} rows of unknown images ({listed(unknown)})": len(unknown),
    }
    warnings += [f"{path.name}: {gap}" for gap, n in gaps.items() if n]
    return whole.where(expected).replace([np.inf, -np.inf], np.nan), table


def _long_form(path: Path) -> pd.DataFrame | None:
    """Read a table with the columns image, class and count as images by classes, else None."""
    if path.suffix != ".parquet":  # which `read_long` alone reads
        header = pd.read_csv(path, nrows=0, sep=separator_of(path)).columns
        names = {str(name).strip().lower() for name in header}
        images, counts = {*ALIASES["id"]} & names, {*ALIASES["pred"], "count", "value"} & names
        if not (images and counts and names & {*CLASS_NAMES}):
            return None
    return read_long(path)["count"].unstack("class").rename_axis(index=None, columns=None)


def _mosaic_cells(counting_set: CountingSet) -> np.ndarray:
    """Mask of the cells that hold a mosaic: of other classes, and of classes that have images."""
    categories = np.array([image.category for image in counting_set.kept], object)
    classes = np.array(counting_set.classes, object)
    with_images = set(counting_set.pool.lower.values())
    return (categories[:, None] != classes) & np.array([name in with_images for name in classes])
