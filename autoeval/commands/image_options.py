"""The options that name unlabelled images."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autoeval.data.film import FilmFrame
    from autoeval.data.image_folder import ImageFile


def add_image_options(group: argparse._ActionsContainer, purpose: str) -> None:
    """Declare where images come from, and what is done with them."""
    group.add_argument(
        "--images",
        metavar="PATH",
        help="folder, COCO JSON, video, image, pattern ('site/**/*.jpg'), text file of paths, or - "
        f"for paths on standard input: images to {purpose}",
    )
    add_image_details(group)


def add_image_details(group: argparse._ActionsContainer) -> None:
    """Declare what a COCO JSON and a video need with their path."""
    group.add_argument("--img-dir", metavar="DIR", help="where the files of that COCO JSON lie")
    group.add_argument(
        "--every", metavar="2s|N", help="frames of videos: one in so many seconds, or every Nth"
    )


def named_images(args: argparse.Namespace) -> Sequence[ImageFile | FilmFrame] | None:
    """Find the images that the options name, None without any, and name what is passed over.

    Raises `InputError`; see `find_images`.
    """
    from autoeval.data.find_images import FILMS_SKIPPED, find_images

    if not args.images:
        return None
    found = find_images(args.images, args.img_dir, every=args.every)
    for skipped in found.skipped:
        hint = ": --every 2s takes their frames" if skipped.startswith(FILMS_SKIPPED) else ""
        print(f"note: {skipped}{hint}", file=sys.stderr)
    return found.images
