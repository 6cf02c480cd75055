"""The options that name predictions of a detector that is not at hand."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autoeval.estimation.prediction_files import PredictionFiles


def add_predictions_options(parser: argparse.ArgumentParser, what: str) -> None:
    """Declare them.

    Parameters
    ----------
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


def add_image_list_option(group: argparse._ActionsContainer) -> None:
    """Declare which images predictions are of."""
    group.add_argument(
        "--images-list",
        metavar="PATH",
        help="with --predictions all new images: a text file with a name a line, a COCO JSON, or a "
        "folder; those without a box are not in the predictions",
    )


def named_predictions(args: argparse.Namespace) -> PredictionFiles | None:
    """Return the predictions of one set of images that the options name, if they do."""
    from autoeval.data.predictions.category_words import read_names
    from autoeval.estimation.prediction_files import PredictionFiles

    if not args.predictions:
        return None
    return PredictionFiles(
        args.predictions,
        args.half_size_predictions,
        getattr(args, "teacher", None),
        read_names(Path(args.names)) if args.names else {},
        truncated=args.truncated,
    )
