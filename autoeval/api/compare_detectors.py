"""Compare detectors on the same images."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from autoeval.api.estimator_paths import named_estimators
from autoeval.errors import InputError
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.given_boxes import Detector, GivenBoxes, Predictions, given_boxes
from autoeval.estimation.labelled_files import GivenLabels, plan_beside, read_labels
from autoeval.estimation.observation.kept_observer import Keeping
from autoeval.estimation.read_site import named_categories
from autoeval.io.wording import listed
from autoeval.labels.plan_file import load_plan
from autoeval.model.prediction_interval import check_level
from autoeval.runtime.files import PathLike

if TYPE_CHECKING:
    from autoeval.comparison.comparison import Comparison
    from autoeval.estimation.read_site import Categories


def compare(
    estimators: Mapping[str, AccuracyEstimator | PathLike] | Sequence[AccuracyEstimator | PathLike],
    boxes: Sequence[GivenBoxes | None] | None = None,
    *,
    images: Any = None,
    labels: GivenLabels | None = None,
    img_dir: PathLike | None = None,
    words: Mapping[str, str] | None = None,
    categories: Categories | None = None,
    present: Collection[str] = (),
    target: str | None = None,
    level: float = 0.9,
    seed: int = 0,
    keep: Mapping[str, Keeping] | None = None,
    trained_here: Collection[str] = (),
    known: Mapping[str, float] | None = None,
) -> Comparison:
    """Compare detectors on the same images: which is better, by how much, with what probability.

    Parameters
    ----------
    estimators : mapping or sequence of AccuracyEstimator or path-like
        Fitted, best on the same labelled set: one a detector, by name; those of a sequence are
        named after their folders. A work dir of `fit` stands for the estimator in it.
    boxes : sequence of path-like, Predictions, Detector, ImageDetector or None, optional
        What each detector found on the images, in the order of `estimators`, as in `fit`; None for
        one that is run as it was fitted.
    images : path-like or sequence, optional
        See `AccuracyEstimator.predict`.
    labels : path-like, optional
        Labels of some of the images: the same for all detectors. Those in a folder that
        `plan_labels` wrote are taken as its plan drew them, others as a simple random sample.
    img_dir : path-like, optional
        Folder of the labelled images, where their format does not say.
    words : mapping of str to str, optional
        Category for each word of the labels; by default equal words.
    categories : mapping of str to sequence of str, optional
        See `AccuracyEstimator.predict`.
    present : collection of str, optional
        See `AccuracyEstimator.predict`.
    target : str, optional
        See `AccuracyEstimator.for_target`; by default that of the fits.
    level : float
        Nominal coverage of the intervals.
    seed : int
        Of the draws behind the probability of being best.
    keep : mapping of str to Keeping, optional
        Where to keep what each detector that is run observes.
    trained_here : collection of str
        Names of detectors that were trained on images like the labelled ones, such as others of the
        same site: the difference there says little of elsewhere and is not used, and their
        estimates are lowered. For average precision only.
    known : mapping of str to float, optional
        The accuracy here, in [0, 1], of one of the detectors, such as one that was measured when
        labels were at hand. The others' values are it plus the estimated difference.

    Raises
    ------
    InputError
        If fewer than two detectors are given or one twice, or what is about labels without them; as
        `AccuracyEstimator.predict` and `autoeval.comparison.compare_sites.compare_sites`.
    """
    from autoeval.comparison.compare_sites import compare_sites

    check_level(level)
    categories = named_categories(categories)
    if labels is None and (words or img_dir is not None):
        unread = "words" if words else "img_dir"
        raise InputError(f"`{unread}` is about labels: give `labels`, or leave it out.")
    fits = named_estimators(estimators)
    if target is not None:
        fits = {name: fitted.for_target(target) for name, fitted in fits.items()}
    given = [
        None if detector_boxes is None else given_boxes(detector_boxes)
        for detector_boxes in boxes or [None] * len(fits)
    ]
    _check_keep(fits, given, keep)
    if len(given) != len(fits):
        raise InputError(
            f"Expected predictions of each of {len(fits)} detectors, in their order, but got "
            f"{len(given)}."
        )
    plan = None
    plan_folder = None if labels is None else plan_beside(labels)
    if plan_folder is not None:
        plan = load_plan(plan_folder)
    content = None if labels is None else read_labels(labels, img_dir)
    sites = {
        name: fitted.read_site(
            detector_boxes,
            images=images,
            labels=labels,
            categories=categories,
            labelled=content if plan is None else None,
            present=present,
            **({"keep": keep[name]} if keep and name in keep else {}),
        )
        for (name, fitted), detector_boxes in zip(fits.items(), given, strict=True)
    }
    return compare_sites(
        fits,
        sites,
        labels=content,
        words=words,
        plan=plan,
        categories=categories,
        level=level,
        seed=seed,
        trained_here=trained_here,
        known=known,
    )


def _check_keep(
    fits: Mapping[str, AccuracyEstimator],
    boxes: Sequence[Predictions | Detector | None],
    keep: Mapping[str, Keeping] | None,
) -> None:
    """Refuse a place to keep what is observed where no detector of that name is run."""
    run = [
        name
        for name, detector_boxes in zip(fits, boxes, strict=False)
        if not isinstance(detector_boxes, Predictions)
    ]
    unread = [name for name in keep or () if name not in run]
    if unread:
        raise InputError(
            f"`keep` is for detectors that are run ({listed(run) or 'none is'}), but it names "
            f"{listed(unread)}: leave that out."
        )
