"""The options that name predictions of a detector that is not at hand."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from autoeval.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autoeval.estimation.predictions.fit_predictions import Files


def add_predictions_options(parser: argparse.ArgumentParser, what: str) -> None:
    """Declare them.

    Parameters
    ----------
    parser : ArgumentParser
    what : str
        What ``--predictions`` is.
    """
    group = parser.add_argument_group("predictions", "of any detector; no network is run")
    group.add_argument("--predictions", metavar="PATH", help=what)
    group.add_argument(
        "--half-size-predictions",
        metavar="PATH",
        help="the same of a second pass at half the size, in pixels of the full size",
    )
    group.add_argument(
        "--names",
        metavar="FILE",
        help="words for the numbers of categories: data.yaml, or a text file with a word a line, "
        "counted from 0",
    )
    group.add_argument(
        "--truncated",
        action="store_true",
        help="go on although boxes with a score under .3 are missing",
    )


def files_of(args: argparse.Namespace) -> Files:
    """Return the predictions of one set of images that the options name."""
    from autoeval.estimation.predictions.fit_predictions import Files

    return Files(
        args.predictions, args.half_size_predictions, _names(args.names), truncated=args.truncated
    )


def files_by_source(args: argparse.Namespace) -> dict[str, Files]:
    """Return the predictions of each source out of the folders that the options name.

    Raises
    ------
    InputError
        If there is no such folder.
    """
    from autoeval.data.predictions.of_place import files_by_place
    from autoeval.estimation.predictions.fit_predictions import Files

    folder, half = Path(args.predictions), args.half_size_predictions
    if not folder.is_dir():
        raise InputError(
            f"No folder {folder}: with --task, --predictions is a folder with NAME.json for each "
            "source."
        )
    names = _names(args.names)
    return {
        place: Files(
            path, Path(half) / path.name if half else None, names, truncated=args.truncated
        )
        for place, path in files_by_place(folder).items()
    }


def _names(path: str | None) -> Mapping[str, str]:
    from autoeval.data.predictions.category_words import read_names

    return read_names(Path(path)) if path else {}
