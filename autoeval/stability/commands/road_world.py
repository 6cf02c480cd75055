"""What a command assumes where no task is given: the rendered road world, small enough to try.

The world is rendered on first use into `FOLDER`, and kept. The first line that a command prints
names what was assumed, as the options that replace it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoeval.errors import DownloadError, InputError, TooFewLabelsError

if TYPE_CHECKING:
    from autoeval.io.tasks.task import Task

FOLDER = Path("work_dirs/roadworld")
DETECTOR = "roadworld_nano"
HELD_BACK = "dusk_city"  # estimated, and so no source, where no images are given
# Sample sets that the shipped detector is meant for; three minutes of one core with it.
METASET = "configs/metasets/roadworld.py"
REPEATS = 2
DROPOUT = "configs/dropout/roadworld_nano.py"  # found by search-dropout on `search_task`
N_SETS = 5  # mild sample sets that build-metaset draws
N_IMAGES = 20  # of each
IMAGES = 60
IMAGES_VARIABLE = "AUTOEVAL_ROADWORLD_IMAGES"
FEWEST_IMAGES = 2
OF_METASET = ("n_sets", "n_images")


def serves(options: Mapping[str, Any]) -> bool:
    """Say whether the road world takes the place of a task: nothing given belongs to another.

    Parameters
    ----------
    options : mapping of str
        Of the command.
    """
    option_names = ("task", "estimator", "seed_set")
    return not any(options.get(name) for name in option_names)


def assume(options: dict[str, Any], values: Mapping[str, Any], *, command: str) -> None:
    """Fill in the road world's `values` where none was given, and print which.

    Sizes of sample sets are left to ``--metaset FILE`` where that is given.

    Parameters
    ----------
    options : dict of str
        Of the command; changed in place.
    values : mapping of str
        What is assumed, by option.
    command : str
        Its name.

    Raises
    ------
    InputError
        As `number_of_images`.
    """
    words = []
    values = {**values, "work_dir": default_work_dir(command)}
    for name, value in values.items():
        if options.get(name) is not None or (name in OF_METASET and options.get("metaset")):
            continue
        options[name] = value
        shown = list(map(str, value)) if isinstance(value, list) else [str(value)]
        words.append(" ".join([f"--{name.replace('_', '-')}", *([] if value is True else shown)]))
    text = ", ".join(words)
    print(
        f"No --task FILE: assuming the road world, rendered into {FOLDER} "
        f"({number_of_images()} images a site; {IMAGES_VARIABLE}=N for others)"
        + (f", and {text}" if text else "")
        + ". Each is replaced by giving it.",
        file=sys.stderr,
    )


def default_work_dir(command: str) -> Path:
    """Return where a command writes: ``work_dirs/estimate_map`` for ``estimate-map``.

    Parameters
    ----------
    command : str
        Its name.
    """
    return Path("work_dirs") / command.replace("-", "_")


def number_of_images() -> int:
    """Return how many images are rendered of each site.

    Raises
    ------
    InputError
        If `IMAGES_VARIABLE` is no number, or one under `FEWEST_IMAGES`.
    """
    text = os.environ.get(IMAGES_VARIABLE, str(IMAGES))
    if not text.isdecimal() or int(text) < FEWEST_IMAGES:
        raise InputError(
            f"Expected {IMAGES_VARIABLE} as a number of images from {FEWEST_IMAGES}, got '{text}'."
        )
    return int(text)


def images_of(site: str) -> Path:
    """Return the folder with the images of a site.

    Parameters
    ----------
    site : str
        One of `autoeval.roadworld.ENVIRONMENTS`.
    """
    return FOLDER / site / "images"


def road_world_task(options: Mapping[str, Any]) -> Task:
    """Render what is not there yet; return the task of the sites that are not to be estimated.

    Parameters
    ----------
    options : mapping of str
        Of the command; the site whose folder holds ``images`` is the one left out.
    """
    from autoeval.roadworld import ENVIRONMENTS
    from autoeval.roadworld.environments_task import environments_task, render_environments

    render_environments(FOLDER, number_of_images())
    names = list(ENVIRONMENTS)
    if options.get("images"):
        new = Path(options["images"]).resolve()
        names = [name for name in names if (FOLDER / name).resolve() not in (new, *new.parents)]
    return environments_task(FOLDER, names)


def search_task() -> Task:
    """Render what is not there yet; return the task of the sites on which a dropout is searched.

    None of them is a source of `road_world_task`, so that errors there are of unseen sites.
    """
    from autoeval.roadworld.environments import SEARCH_ENVIRONMENTS
    from autoeval.roadworld.environments_task import environments_task, render_environments

    render_environments(FOLDER, number_of_images(), names=SEARCH_ENVIRONMENTS)
    return environments_task(FOLDER, SEARCH_ENVIRONMENTS)


@contextmanager
def offering_the_shipped_detector(command: str, options: Mapping[str, Any]) -> Iterator[None]:
    """Add to the failure of a download a command that needs none, where no task is given.

    Parameters
    ----------
    command : str
        Its name.
    options : mapping of str
        Of the command.

    Raises
    ------
    InputError
        In place of `DownloadError`.
    """
    try:
        yield
    except DownloadError as error:
        if not serves(options):
            raise
        raise InputError(f"{error} {without_download(command)}") from error


@contextmanager
def naming_the_number_of_images(options: Mapping[str, Any]) -> Iterator[None]:
    """Add to a refusal of too few labels how more are rendered, where no task is given.

    Parameters
    ----------
    options : mapping of str
        Of the command.

    Raises
    ------
    InputError
        In place of `TooFewLabelsError`.
    """
    try:
        yield
    except TooFewLabelsError as error:
        if not serves(options):
            raise
        raise InputError(
            f"{error} The road world has {number_of_images()} images a site: "
            f"set {IMAGES_VARIABLE} higher, or leave it out for {IMAGES}."
        ) from error


def without_download(command: str) -> str:
    """Return a sentence with the form of a command that needs no more than the repository.

    Parameters
    ----------
    command : str
        Its name.
    """
    script = Path(sys.argv[0])
    program = f"python {script}" if script.parent.name == "tools" else f"autoeval {command}"
    return f"Without data or a download this runs: {program} --detector {DETECTOR}"
