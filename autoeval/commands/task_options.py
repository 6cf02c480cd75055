"""The options of a task and of its sample sets."""

from __future__ import annotations

import argparse
from typing import Any

from autoeval.commands.given_input import Detail, add_input
from autoeval.commands.site_options import add_image_options

ROAD_WORLD_SERVES = " (default: the road world, rendered on first use)"
LIGHT = "light"  # the preset without dropout and without sample sets
MAX_IMAGES = Detail("max_images", "images of each source, at equal distances", int, metavar="N")
N_SETS, N_IMAGES = 50, 250  # as in `MetaSetConfig`, which takes a second to import


def add_data_options(
    parser: argparse.ArgumentParser,
    *more: Detail,
    images: str | None = None,
    required: bool = False,
) -> None:
    """Declare where images come from; `images` is what is done with ``--images``, if there is.

    `required` is whether a task has to be given; the road world serves where it has not.
    """
    data = parser.add_argument_group("data")
    thinned = () if required else (MAX_IMAGES, *more)
    add_task_option(data, "" if required else ROAD_WORLD_SERVES, *thinned, required=required)
    if images is not None:
        add_image_options(data, images)
    add_metaset_option(data)


def add_task_option(
    group: argparse._ActionsContainer,
    about: str = "",
    *more: Detail,
    required: bool = False,
    several: bool = False,
) -> None:
    """Declare the task, or several, and where its data lie; `about` ends the help."""
    declared: dict[str, Any] = {"nargs": "+", "action": "extend"} if several else {}
    add_input(
        group,
        "--task",
        (Detail("data_root", "folder with the data of the task", metavar="DIR"), *more),
        metavar="FILE",
        required=required,
        help=f"such as configs/tasks/vehicle.py{about}",
        **declared,
    )


def add_metaset_option(group: argparse._ActionsContainer, *more: Detail) -> None:
    """Declare which sample sets are made, how many, and of how many images."""
    add_input(
        group,
        "--metaset",
        (
            Detail(
                "n_sets",
                f"sample sets of each seed set (those of the file, else {N_SETS})",
                int,
                metavar="N",
            ),
            Detail(
                "n_images",
                f"images of each sample set (those of the file, else {N_IMAGES})",
                int,
                metavar="N",
            ),
            *more,
        ),
        alone=True,  # of the default sample sets
        metavar="FILE",
        help="sample sets, as configs/metasets/mild.py",
    )
