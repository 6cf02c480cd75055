"""The images of sites on disk, and the passes that their estimates need."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from autoeval.data.image_folder import ImageFile
from autoeval.data.same_files import file_stamp
from autoeval.errors import InputError
from autoeval.estimation.bayesian_regression import DEFAULT_METHOD, BayesianRegression
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.site import Categories
from autoeval.scores.registry import needs_of

ROOT = "."
HALF = "half_size"


@dataclass(frozen=True)
class SiteImage:
    """An image file of a site.

    Parameters
    ----------
    file : ImageFile
    group : str
        The site; see `site_of`.
    stamp : str
        See `file_stamp`: another one means another image.
    """

    file: ImageFile
    group: str
    stamp: str


def site_of(name: str, depth: int | None = None) -> str:
    """Return the folder of a file, or its first ``depth`` folders; ``"."`` for the root.

    Examples
    --------
    >>> site_of("gate/2026/03/1.jpg"), site_of("gate/2026/03/1.jpg", 1), site_of("1.jpg")
    ('gate/2026/03', 'gate', '.')
    """
    folders = name.split("/")[:-1]
    return "/".join(folders[:depth]) or ROOT


def site_images(
    files: Iterable[ImageFile], *, depth: int | None = None
) -> tuple[list[SiteImage], list[str]]:
    """Look at the files of all sites; none is opened.

    Returns
    -------
    images : list of SiteImage
    vanished : list of str
        Names of the files that are no longer there.
    """
    images, vanished = [], []
    for file in files:
        try:
            stamp = file_stamp(file.path)
        except OSError:
            vanished.append(file.image_id)
            continue
        images.append(SiteImage(file, site_of(file.image_id, depth), stamp))
    return images, vanished


def unseen(images: Sequence[SiteImage], seen: Iterable[tuple[str, str]]) -> list[SiteImage]:
    """Return the images whose name and stamp are not among those ``seen``."""
    known = set(seen)
    return [image for image in images if (image.file.image_id, image.stamp) not in known]


def needed_passes(estimator: AccuracyEstimator) -> frozenset[str]:
    """Return the passes beside the plain one that an estimator reads: none, or that at half size.

    Raises
    ------
    InputError
        If the estimator is of another method than ``bayes``, the only one that models how errors
        of sites depend on each other, or reads a pass that is not kept of each image.
    """
    if not isinstance(estimator.regression_, BayesianRegression):
        raise InputError(
            f"Expected an estimator of the method '{DEFAULT_METHOD}', the default, but this one is "
            f"of '{estimator.method}': it does not model how the errors of several sites depend on "
            "each other. Fit again without --method."
        )
    needed = needs_of(estimator.regression_.features_)
    if more := sorted(needed - {HALF, "clean"}):
        raise InputError(
            f"This estimator needs {', '.join(more)} of each image, and of the images of sites "
            "only the boxes at full and at half the input size are kept. Fit without it."
        )
    return frozenset(needed - {"clean"})


def expected_categories(estimator: AccuracyEstimator, categories: Categories | None) -> Categories:
    """Return the categories to expect in all images: those given, else those of the task.

    Parameters
    ----------
    estimator : AccuracyEstimator
    categories : mapping of str to sequence of str, optional
        Each with the detector's words for it. An estimator of a labelled set needs them.

    Raises
    ------
    InputError
        If there are none.
    """
    categories = categories or estimator.expected_categories_
    if categories is None:
        raise InputError(
            "This estimator was fitted on the categories of a labelled set: name with "
            "--category those to expect at these sites, such as --category car=car,truck."
        )
    return categories
