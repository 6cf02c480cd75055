"""A plan: which images of a pool to label, and all that the estimate from their labels needs.

The draw is a random sequence of all images, of which the first n are labelled: `balanced_order`, or
`unequal_order` where some images are drawn more often. `autoeval.estimation.label_planning` takes
it for a site and makes a `LabelPlan`; `autoeval.labels.labelled_estimate` reads that.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import Self

from autoeval.accuracy.measures import IOUS, ROUNDING, OperatingPoint, denominators, influence_on
from autoeval.boxes import Boxes, LabelledImage, over_threshold
from autoeval.errors import InputError
from autoeval.io.find_images import UnlabelledImage, file_name_of
from autoeval.io.image_identity import names_before_upload
from autoeval.io.image_lists import split_at_time, times_in_names
from autoeval.io.video import time_blocks
from autoeval.labels.assistance import MODEL, MixingWeights
from autoeval.labels.joint import (
    USUAL_SIZES,
    JointOutlook,
    JointPrior,
    Outlook,
    WidthForecast,
)
from autoeval.labels.values import (
    DOF,
    LEAST_INFLUENCE,
    LEVELS,
    NOTHING,
    PER_OBJECT,
    UNKNOWN_VALUE,
    ValueWithError,
    VariancePrior,
    object_variance,
)
from autoeval.result_base import Result
from autoeval.words import Notice, listed

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_NUMBER = re.compile(r"(\d+)(?=\D*$)")
BY_INFLUENCE = "predicted influence"
BY_TIME = "time"
BY_CHANCE = "nothing (a simple random sample)"
BY_DISAGREEMENT = "predicted influence, images on which a reference detector disagrees more often"
KEPT_BITS = 12  # of the 23 of a single-precision fraction: a relative error of 1e-4


def balanced_order(order: np.ndarray, *, seed: int) -> np.ndarray:
    """Put images into a random sequence whose every beginning is spread evenly over an order.

    The order, in which similar images are neighbours, is closed to a ring and turned by a
    random number of places, and halved again and again; the sequences of two halves are merged by
    the keys ``(position + u) / length``, with a random u for one half and u + 1/2 for the other. By
    the turn each image stands at each place equally often, so it is among the first n with
    probability n / N exactly; by the keys the first n hold as many of each half, quarter and eighth
    as its share asks for. That is a stratified draw with proportional strata for each n at once, in
    which a larger draw keeps a smaller one.

    Parameters
    ----------
    order : ndarray of shape (N,), int
        Positions of all images, similar ones next to each other.
    seed : int
        Of the draw.

    Returns
    -------
    ndarray of shape (N,), int
        The same positions, in random sequence.

    Examples
    --------
    >>> drawn = balanced_order(np.arange(8), seed=0)
    >>> np.sort(drawn[:4] // 2)
    array([0, 1, 2, 3])
    """
    rng, n = np.random.default_rng(seed), len(order)
    order = np.roll(order, rng.integers(n))
    starts = rng.random(max(n - 1, 0))  # u of each merge of two halves
    # All parts of one depth at once: where each begins, how long it is, and how many merges come
    # before its own ones. A part of m images takes m - 1 merges, its left half's first, its own
    # last.
    begin, size, before = np.array([0]), np.array([n]), np.array([0])
    depths = []
    while size.max(initial=0) > 1:
        depths.append((begin, size, before))
        left = (size + 1) // 2
        begin = np.column_stack([begin, begin + left]).ravel()
        before = np.column_stack([before, before + left - 1]).ravel()
        size = np.column_stack([left, size - left]).ravel()
        begin, size, before = begin[size > 0], size[size > 0], before[size > 0]
    for begin, size, before in reversed(depths):
        part, left = np.repeat(np.arange(len(size)), size), (size + 1) // 2
        place = np.arange(n) - begin[part]
        is_right = place >= left[part]
        length = np.where(is_right, size[part] - left[part], left[part])
        start = starts[np.maximum(before + size - 2, 0)][part]
        offset = np.where(is_right, (start + 0.5) % 1, start)
        keys = (place - is_right * left[part] + offset) / length
        order = order[np.lexsort((keys, part))]
    return order


def unequal_order(order: np.ndarray, sizes: np.ndarray, *, seed: int) -> np.ndarray:
    """Put images into a random sequence whose every beginning holds some more often than others.

    An image with a number u, uniform in (0, 1), comes in the order of u over its size: sequential
    Poisson sampling (Ohlsson 1998). The first n then hold an image with a probability close to
    `inclusion_probabilities`, and a larger draw keeps a smaller one. The numbers are the places in
    `balanced_order`, so that images of one size are spread evenly over `order`.

    Parameters
    ----------
    order : ndarray of shape (N,), int
        As in `balanced_order`.
    sizes : ndarray of shape (N,)
        Of each image, by its position, positive; twice as large is twice as often.
    seed : int
        Of the draw.

    Returns
    -------
    ndarray of shape (N,), int
        Positions of all images, in random sequence.
    """
    n = len(order)
    numbers = np.empty(n)
    rng = np.random.default_rng([seed, n])
    numbers[balanced_order(order, seed=seed)] = (np.arange(n) + rng.random(n)) / n
    return np.argsort(numbers / sizes, kind="stable")


def inclusion_probabilities(sizes: np.ndarray, n: int) -> np.ndarray:
    """Return the probability of each image to be among n, in proportion to its size, at most 1.

    Images whose share would exceed 1 are certain, and the rest of n is divided again.

    Parameters
    ----------
    sizes : ndarray of shape (N,)
        Of each image, positive.
    n : int
        Images to draw, of N.

    Returns
    -------
    ndarray of shape (N,)
        Probabilities with the sum n.

    Examples
    --------
    >>> inclusion_probabilities(np.array([1.0, 1, 2, 8]), 2)
    array([0.25, 0.25, 0.5 , 1.  ])
    """
    certain = np.zeros(len(sizes), bool)
    while True:
        rest = sizes[~certain].sum()
        drawn = (n - certain.sum()) * sizes / rest if rest > 0 else np.ones(len(sizes))
        more = ~certain & (drawn >= 1)
        if not more.any():
            return np.where(certain, 1.0, drawn)
        certain |= more


def inverse_probabilities(sizes: np.ndarray | None, images: np.ndarray) -> np.ndarray | None:
    """Return the weight of each of k images drawn with `unequal_order`.

    Parameters
    ----------
    sizes : ndarray of shape (N,), optional
        Of all images; None where all were equally likely.
    images : ndarray of shape (k,), int
        Positions of the drawn ones.

    Returns
    -------
    ndarray of shape (k,), optional
        Inverse inclusion probabilities. None where all have the same, without `sizes` or with all
        images.
    """
    if sizes is None or len(images) == len(sizes):
        return None
    weights = np.asarray(1 / inclusion_probabilities(sizes, len(images))[images])
    return None if np.allclose(weights, weights[0], rtol=ROUNDING, atol=0) else weights


def blocks_of(
    images: Sequence[UnlabelledImage | LabelledImage],
    *,
    files: Iterable[UnlabelledImage] = (),
    frames: int | None = None,
    known: np.ndarray | None = None,
) -> np.ndarray:
    """Return the number of the block of time of each image, (M,), int, from 0.

    Parameters
    ----------
    images : sequence of UnlabelledImage or LabelledImage
        In their order.
    files : iterable of UnlabelledImage
        Files of some of them, which know their times; frames of videos go by `time_blocks`.
    frames : int, optional
        Files whose names differ in their last number alone, or in a time, see `times_in_names`, and
        numbers behind it, are frames in that order, too, and so many neighbours make a block.
        Frames of a clip, which share the time, go by number. Not by default, since unrelated
        photographs are numbered, too.
    known : ndarray of shape (M,), int, optional
        Blocks that are known otherwise, as a file of `autoeval detect` has them; images that share
        one stay in it.

    Raises
    ------
    InputError
        If `frames` is under 1, or no two images are in one block with it.
    """
    of_id: dict[str, Any] = {image.image_id: image for image in files}
    with_times = [of_id.get(image.image_id, image) for image in images]
    if known is None:
        numbers = time_blocks(with_times)
    else:
        _, first_place, at = np.unique(known, return_index=True, return_inverse=True)
        numbers = np.argsort(np.argsort(first_place))[at]  # in order of appearance
    if frames is None:
        return numbers
    if frames < 1:
        raise InputError(f"Expected 1 frame a block or more (--frames) but got {frames}.")
    series: dict[tuple[str, str | None], list[tuple[datetime, int, int]]] = defaultdict(list)
    n_in_block = np.bincount(numbers)[numbers]
    # ids are numbers in no order of time
    names = names_before_upload(map(file_name_of, with_times))
    without_number = [_NUMBER.sub("\0", name) for name in names]
    n_alike, times = Counter(without_number), times_in_names(names)
    for place, (image, name, time) in enumerate(zip(with_times, names, times, strict=True)):
        number = _NUMBER.search(name)
        if number is None or n_in_block[place] > 1 or getattr(image, "time_s", None) is not None:
            continue
        others = without_number[place]
        key: tuple[str, str | None] = (others, None)
        _, before, behind = split_at_time(name)
        # behind the time of a clip frames are numbered; other numbers are parts of a second, a zone
        if time is not None and (n_alike[others] == 1 or not _NUMBER.search(behind)):
            key = (before, re.sub(r"\d+", "", behind))
        series[key].append((time or datetime.min, int(number[1]), place))
    for members in series.values():
        first = int(numbers.max()) + 1
        for rank, (*_, place) in enumerate(sorted(members)):
            numbers[place] = first + rank // frames
    blocks = np.unique(numbers, return_inverse=True)[1]
    if frames > 1 and blocks.max() + 1 == len(images) > 1:
        raise InputError(
            f"Expected names of frames with --frames {frames}, which differ in their last number "
            f"or in a time alone, but no two of these {len(images)} images have such: leave it out."
        )
    return blocks


@dataclass(frozen=True, eq=False, repr=False)
class LabelPlan(Result):
    """Which images to label, and what is known before: the label-free estimate is its value.

    Made by `autoeval.estimation.label_planning`, kept in a folder by `autoeval.labels.plan_folder`,
    used by `estimate_with_labels`. Each image of the pool was drawn with probability n / M, or in
    proportion to `sizes`, at most 1 (`inclusion_probabilities`). Accuracies and half-widths are in
    [0, 1].

    Parameters
    ----------
    found : Boxes
        The N boxes of the pool of M images, as evaluation takes them, in K categories.
    influence : ByImage
        Predicted influence of each image on the average precision of each category (its influence
        function): one number for each of `LEVELS`, mAP, mAP50 and mAP75.
    holding : ndarray of shape (2, K)
        Share of images that hold a category, in [0, 1], and the mean number of objects on these.
    sequence : ndarray of shape (M,), int
        Positions of all images, in the order in which they are to be labelled.
    n : int
        How many of them are drawn, from the first on.
    seed : int
        Of the draw.
    order : str
        What the draw is spread over: `BY_INFLUENCE`, `BY_DISAGREEMENT`, `BY_TIME` or `BY_CHANCE`.
    blocks : ndarray of shape (M,), int
        Number of the block of time of each image; images of one block are dependent.
    mixing : MixingWeights
        Of the `LabelAssistance` that predicted the influence.
    small_sample_bias : float
        Of the same `LabelAssistance`.
    priors : mapping of str to ValueWithError
        Label-free estimates by name, that of the target, such as ``mAP``, and ``mAP/<category>``,
        with the errors that such estimates had on other sites.
    target : str
        What the plan is for; a name in `autoeval.accuracy.measures.TARGETS`, or precision, recall
        or F1 at a score threshold, such as ``recall@0.3``.
    detector : str
        Fingerprint of the detector.
    level : float
        Nominal coverage of the intervals.
    warnings : tuple of Notice
        What was left out of the pool or assumed of it.
    score_thr : float, optional
        Score over which a box counts for precision, recall and F1, where these are wanted, too.
    cut : bool
        Whether the images of the site without a box over that score are no part of the pool, as for
        precision, which depends on none of them.
    iou : float
        IoU with a labelled object from which such a box is a true positive.
    probabilities : ndarray of shape (N,), optional
        That each box is a true positive at `iou`.
    objects : ByImage, optional
        Expected number of objects: one number for each image and category.
    points : mapping of str to MixingWeights
        The same as `mixing` for ``precision``, ``recall`` and ``f1``.
    named : bool
        Whether the categories were named, rather than those that were found.
    detector_words : mapping of str to str
        Category of each word of the detector, where categories were named by these; labels may be
        in either words.
    rest : Boxes, optional
        Boxes of categories without a likely one, on the same images.
    known : str
        Labelled set of the fit of which these are new images; empty for a new site.
    group : str
        Group of the fit that the site belongs to; empty for none.
    nothing_found : bool
        Whether no category has a likely box: those that count are then the labelled ones.
    printed : mapping of str to mapping
        ``value``, ``lower`` and ``upper`` under the names of `priors`, as the estimate without
        labels printed them.
    sizes : ndarray of shape (M,), optional
        How often each image is drawn, relative to the others; None where all are equally likely.
    files : tuple of Path
        Files that the call wrote; not stored with the plan.
    pictures : tuple of UnlabelledImage
        Where the images lie, where that is known; not stored.
    difference : Outlook, optional
        Forecast of the difference of two detectors that the images were drawn for; not stored.

    Examples
    --------
    `autoeval.plan_labels` makes a plan. By hand, for six images that show a car each:

    >>> from autoeval.boxes import LabelledImage
    >>> from autoeval.labels.assistance import NO_INFLUENCE
    >>> images = tuple(LabelledImage(name, f"{name}.jpg", (480, 640)) for name in "abcdef")
    >>> found = Boxes(  # one box an image, xyxy in pixels
    ...     images, ("car",), image=np.arange(6), label=np.zeros(6, int),
    ...     boxes=np.tile([0.0, 0, 99, 99], (6, 1)), scores=np.full(6, 0.9),
    ... )
    >>> plan = LabelPlan(
    ...     found, ByImage.unknown(1, 3, 6), holding=np.ones((2, 1)),
    ...     sequence=balanced_order(np.arange(6), seed=0), n=2, seed=0, order=BY_CHANCE,
    ...     blocks=np.arange(6), mixing=NO_INFLUENCE, small_sample_bias=0.0,
    ...     priors={"mAP": ValueWithError(0.4, 0.08)}, target="mAP", level=0.9, detector="by hand",
    ... )
    >>> print(plan)
    2 of 6 images to label, for mAP of car; without labels 40.0 (26.8 to 53.2)
      a.jpg
      b.jpg
      car: 40.0 (26.8 to 53.2)
    >>> plan.drawn, plan.larger(3).drawn
    (array([0, 1]), array([0, 1, 4]))
    """

    found: Boxes
    influence: ByImage
    holding: np.ndarray
    sequence: np.ndarray
    n: int
    seed: int
    order: str
    blocks: np.ndarray
    mixing: MixingWeights
    small_sample_bias: float
    priors: Mapping[str, ValueWithError]
    target: str
    detector: str
    level: float = 0.9
    warnings: tuple[Notice, ...] = ()
    score_thr: float | None = None
    cut: bool = False
    iou: float = IOUS[0]
    probabilities: np.ndarray | None = None
    objects: ByImage | None = None
    points: Mapping[str, MixingWeights] = field(default_factory=dict)
    named: bool = False
    detector_words: Mapping[str, str] = field(default_factory=dict)
    rest: Boxes | None = None
    known: str = ""
    group: str = ""
    nothing_found: bool = False
    printed: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    sizes: np.ndarray | None = None
    files: tuple[Path, ...] = ()
    pictures: tuple[UnlabelledImage, ...] = ()
    difference: Outlook | None = None
    kind = "plan"

    def __str__(self) -> str:
        images = [self.found.images[k] for k in self.drawn]
        names = [f"  {image.file_name or image.image_id}" for image in images]
        first, *rest = super().__str__().splitlines()
        return "\n".join([first, *names, *rest])

    def _first_line(self) -> str:
        free = self.interval_text(self._free(self.target))
        return (
            f"{self.n} of {self.n_pool} images to label, for {self.target} of "
            f"{listed(self.found.categories)}; without labels {free}"
        )

    @property
    def title(self) -> str:
        """What the value is, in words."""
        return f"{super().title} without labels"

    @property
    def value(self) -> float:
        """The label-free estimate of the target; NaN where there is none."""
        return self._free(self.target)["value"]

    @property
    def lower(self) -> float:
        """Lower end of the interval of the label-free estimate; NaN where there is none."""
        return self._free(self.target)["lower"]

    @property
    def upper(self) -> float:
        """Upper end of the interval of the label-free estimate; NaN where there is none."""
        return self._free(self.target)["upper"]

    @property
    def per_category(self) -> dict[str, dict[str, float]]:
        """``value``, ``lower`` and ``upper`` of the label-free estimate of each category."""
        return {name: self._free(self.target, name) for name in self.found.categories}

    def _free(self, target: str, category: str | None = None) -> dict[str, float]:
        """Return a label-free estimate as it was printed, or by the error that it had elsewhere."""
        name = target if category is None else f"{target}/{category}"
        if (printed := self.printed.get(name)) is not None:
            return dict(printed)
        prior = self.priors.get(target, NOTHING)
        if category is not None:
            prior = self.label_free(target, category)
        return prior.inside(self.level)

    def to_dict(self) -> dict[str, float]:
        """Return the numbers under flat keys; ``plan/half_width`` is expected with its labels."""
        width = self.forecast(self.n) if self.n > 1 else math.nan
        more = {"plan/n": float(self.n), "plan/half_width": width}
        return super().to_dict() | {name: v for name, v in more.items() if math.isfinite(v)}

    def forecast(self, k: int) -> float:
        """Return the expected half-width of the interval, in [0, 1] rather than points of 100.

        It is that of the target, or of the difference of two detectors that the images were drawn
        for.

        Parameters
        ----------
        k : int
            Number of labelled images, 2 or more; with those of all images the half-width is 0.
        """
        return (self.difference or self.outlook).half_width(k)

    def half_widths(self) -> pd.DataFrame:
        """Return the forecast at `USUAL_SIZES` and at the planned number of labels.

        Returns
        -------
        DataFrame
            ``labels`` and ``half_width``, in [0, 1]; of several categories also
            ``categories_measured``: how many of them `FEWEST_HOLDING` labelled images are expected
            to hold.
        """
        import pandas as pd

        sizes = sorted({k for k in (*USUAL_SIZES, self.n) if 2 <= k <= self.n_pool})
        outlook = self.difference or self.outlook
        widths = [outlook.half_width(k) for k in sizes]
        table = pd.DataFrame({"labels": sizes, "half_width": widths})
        if isinstance(outlook, JointOutlook) and len(self.found.categories) > 1:
            table["categories_measured"] = [round(outlook.measured(k), 1) for k in sizes]
        return table

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the half-width to expect by the number of labels, in points of 100.

        Parameters
        ----------
        ax : Axes, optional
            A new figure by default.
        """
        from matplotlib.figure import Figure

        if ax is None:
            ax = Figure(figsize=(5.6, 3), layout="constrained").subplots()
        widths = self.half_widths()
        ax.plot(widths["labels"], 100 * widths["half_width"], marker="o", color="tab:blue")
        ax.set(xlabel="labelled images", ylabel="half-width (points of 100)", ylim=(0, None))
        ax.grid(alpha=0.25)
        return ax

    @property
    def all_categories(self) -> tuple[str, ...]:
        """Categories that count without labels, then those of `rest`."""
        return (*self.found.categories, *(() if self.rest is None else self.rest.categories))

    @property
    def n_pool(self) -> int:
        """Number of images in the pool."""
        return len(self.found.images)

    @property
    def drawn(self) -> np.ndarray:
        """Positions of the images to label in ``found.images``, (n,), int."""
        return self.sequence[: self.n]

    def measures(self, target: str) -> bool:
        """Whether labels of its images measure a target.

        A plan for precision draws images with a box over its threshold alone, by which no recall is
        known: it measures precision at this threshold and higher ones.

        Parameters
        ----------
        target : str
            A name in `autoeval.accuracy.measures.TARGETS`, or a measure at a score threshold.
        """
        point, plan_point = OperatingPoint.of(target), OperatingPoint.of(self.target)
        if plan_point is None or plan_point.measure != "precision" or target == self.target:
            return True
        return bool(
            point
            and point.measure == plan_point.measure
            and point.score_thr >= plan_point.score_thr
        )

    def larger(self, n: int) -> Self:
        """Return the plan with more images; those that were drawn are kept.

        Parameters
        ----------
        n : int
            Number of images to draw in all, of the same sequence; where the pool is `cut` all of
            it if that has fewer, as when it was planned.

        Raises
        ------
        InputError
            If `n` is less than what was drawn, or more than there are.
        """
        n = min(n, self.n_pool) if self.cut else n
        if not self.n <= n <= self.n_pool:
            raise InputError(
                f"Expected --n of {self.n} (drawn already) to {self.n_pool} (all images) but got "
                f"{n}. For another draw choose another folder."
            )
        return replace(self, n=n)

    def predicted(self, target: str) -> np.ndarray:
        """Return the predicted influence of each of M images on a target.

        Parameters
        ----------
        target : str
            A name in `LEVELS`, or a measure at a score threshold.

        Returns
        -------
        ndarray of shape (K + 1, M)
            On each category, and on all together: the mean of average precisions, the ratio of
            summed counts. 0 where a measure at a threshold is not defined.

        Raises
        ------
        InputError
            If the plan does not know what precision, recall and F1 need, see `expected_counts`.
        """
        point = OperatingPoint.of(target)
        if point is None:
            influence = self.influence[list(LEVELS).index(target)]
            return np.vstack([influence, influence.mean(axis=0)])
        counts = self.expected_counts(point)
        counts = np.concatenate([counts, counts.sum(axis=0, keepdims=True)])
        slope = self.points[point.measure].slopes[MODEL]
        return slope * np.nan_to_num(
            [influence_on(point.measure, category_counts) for category_counts in counts]
        )

    def expected_counts(self, point: OperatingPoint) -> np.ndarray:
        """Return the expected counts of each of M images.

        Parameters
        ----------
        point : OperatingPoint
            Boxes count that score more than its threshold.

        Returns
        -------
        ndarray of shape (K, 3, M)
            For each category true positives, boxes, and objects; only the boxes are whole numbers.

        Raises
        ------
        InputError
            If the plan has no true-positive probabilities, or those of another IoU.
        """
        if self.probabilities is None or self.objects is None or point.measure not in self.points:
            raise InputError(
                f"This plan has no true-positive probabilities of boxes, which {point} needs: fit "
                "again, and plan again into another folder."
            )
        if point.iou != self.iou:
            raise InputError(f"This plan is for an IoU of {self.iou:g}, not {point.iou:g}.")
        boxes, n = self.found, self.n_pool
        shown = over_threshold(boxes.scores, point.score_thr)
        counts = np.zeros((len(boxes.categories), 3, n))
        for k, objects in enumerate(self.objects[0]):
            mine = shown & (boxes.label == k)
            weights = self.probabilities[mine], np.ones(mine.sum())
            counts[k, :2] = [np.bincount(boxes.image[mine], w, minlength=n) for w in weights]
            counts[k, 2] = objects
        return counts

    @cached_property
    def outlook(self) -> WidthForecast:
        """The forecast of the precision that labels give of the target, before there are any."""
        whole, point = self.priors.get(self.target, NOTHING), OperatingPoint.of(self.target)
        influence = self.predicted(self.target)
        if point is not None:
            variance = float(influence[-1].var(ddof=1)) if self.n_pool > 1 else 0.0
            residual = self.points[point.measure].residual.scaled(variance)
            shown = over_threshold(self.found.scores, point.score_thr).any()
            free = whole.value if whole.known else UNKNOWN_VALUE
            # F1 moves by 2 - 2 F with a true positive and by -F with a false box or a missed
            # object, over the sum of boxes and objects: its variance is 1 - F / 2 times that of a
            # share of half as many.
            per_object = 1 - free / 2 if point.measure == "f1" else 1.0
            if shown and not residual.variance > LEAST_INFLUENCE**2:
                # The prediction does not vary, as after a fit without a wrong box: each image then
                # counts as one box or object.
                residual = VariancePrior(float(object_variance(per_object, free, free, 1, 1)), DOF)
            elif shown:
                # The law by boxes or objects is too high by what the prediction explains, what that
                # leaves too low where it foresees no miss: their mean on a logarithmic scale, each
                # by the observations that it counts as. What is missed in one image is correlated,
                # as the law has it; what is right of its boxes hardly is.
                behind = denominators(point.measure, self.expected_counts(point).sum(axis=0))
                n_behind = behind.sum()
                held = np.minimum(behind, 1).sum() if point.measure == "recall" else n_behind
                law = self.n_pool * object_variance(per_object, free, free, n_behind, held)
                share = DOF / (DOF + residual.dof)
                residual = residual.scaled(float(law / residual.variance) ** share)
            return Outlook(residual, self.n_pool, whole, self.level, self.n_blocks)
        estimates = [self.label_free(self.target, name) for name in self.found.categories]
        prior = JointPrior.of(estimates, whole, self.n_objects, self.small_sample_bias)
        per_image = self.mixing.residual.variance * influence[:-1].var(axis=1)
        return JointOutlook(
            prior,
            self.holding,
            PER_OBJECT[self.target],
            per_image,
            self.n_pool,
            self.level,
            n_blocks=self.n_blocks,
        )

    @property
    def n_blocks(self) -> np.ndarray:
        """In how many blocks of time the first k images of the sequence lie, (M + 1,), k from 0."""
        _, first = np.unique(self.blocks[self.sequence], return_index=True)
        return np.searchsorted(np.sort(first), np.arange(self.n_pool + 1))

    @property
    def n_objects(self) -> np.ndarray:
        """Expected number of objects of each category in the pool, (K,)."""
        return np.asarray(self.n_pool * self.holding.prod(axis=0))

    def label_free(self, target: str, category: str) -> ValueWithError:
        """Return the label-free estimate of one category, as it enters the estimate from labels.

        Parameters
        ----------
        target : str
            A name in `LEVELS`, or a measure at a score threshold.
        category : str
            A category of the plan.

        Returns
        -------
        ValueWithError
            With the error that such estimates had on other sites; `NOTHING` where there is none.
            With a single category that of all.
        """
        only = len(self.found.categories) == 1
        whole = self.priors.get(target, NOTHING) if only else NOTHING
        return self.priors.get(f"{target}/{category}", whole)


@dataclass(frozen=True, eq=False)
class ByImage:
    """L numbers of each of M images in each of K categories.

    Images without a box of a category all have the same numbers, so that only the P others are
    kept: with many categories an array (K, L, M) would hold little else.

    Parameters
    ----------
    usual : ndarray of shape (K, L)
        Of images that are not kept.
    category : ndarray of shape (P,), int32
        Category of each entry that is kept.
    image : ndarray of shape (P,), int32
        Its image.
    values : ndarray of shape (P, L), float32
        Its numbers, rounded by `with_few_bits`.
    n_images : int
        M.
    """

    usual: np.ndarray
    category: np.ndarray
    image: np.ndarray
    values: np.ndarray
    n_images: int

    @classmethod
    def of(cls, categories: Iterable[np.ndarray], n_images: int) -> Self:
        """Keep the images of each category that differ from most of them.

        Parameters
        ----------
        categories : iterable of K ndarrays of shape (L, M)
            Numbers of all images in each category, one category at a time.
        n_images : int
            M.

        Examples
        --------
        >>> of = ByImage.of([np.array([[0.5, 2.0, 0.5, 0.5]])], 4)
        >>> of.usual, of.image, of.values
        (array([[0.5]]), array([1], dtype=int32), array([[2.]], dtype=float32))
        >>> of[0]
        array([[0.5, 2. , 0.5, 0.5]])
        """
        usual, category, image, values = [], [], [], []
        for k, numbers in enumerate(categories):
            rounded = with_few_bits(numbers)
            # more than half of the images share a value, or there is little to save
            middle = np.argsort(rounded[0], kind="stable")[n_images // 2]
            unusual_images = np.flatnonzero((rounded != rounded[:, [middle]]).any(axis=0))
            usual.append(rounded[:, middle])
            category.append(np.full(len(unusual_images), k, np.int32))
            image.append(unusual_images.astype(np.int32))
            values.append(rounded[:, unusual_images].T)
        return cls(
            np.array(usual, np.float64),
            np.concatenate(category),
            np.concatenate(image),
            np.concatenate(values),
            n_images,
        )

    @classmethod
    def unknown(cls, n_categories: int, n_numbers: int, n_images: int) -> Self:
        """Return numbers that are 0 for every image, where nobody needs them.

        Parameters
        ----------
        n_categories, n_numbers, n_images : int
            K, L and M.
        """
        none = np.zeros(0, np.int32)
        usual, values = np.zeros((n_categories, n_numbers)), np.zeros((0, n_numbers), np.float32)
        return cls(usual, none, none, values, n_images)

    def __len__(self) -> int:
        """Return the number of categories."""
        return len(self.usual)

    def __getitem__(self, level: int) -> np.ndarray:
        """Return one of the L numbers of all images, (K, M), float64."""
        dense = np.repeat(self.usual[:, level, None], self.n_images, axis=1)
        dense[self.category, self.image] = self.values[:, level]
        return dense

    def of_categories(self, kept: Sequence[int], n_added: int = 0) -> Self:
        """Keep some categories, in the order given, and add some whose numbers are 0.

        Parameters
        ----------
        kept : sequence of int
            Numbers of the categories to keep.
        n_added : int
            How many follow them.
        """
        place = np.full(len(self), -1, np.int32)
        place[list(kept)] = np.arange(len(kept))
        inside = place[self.category] >= 0
        none = np.zeros((n_added, self.usual.shape[1]))
        return type(self)(
            np.concatenate([self.usual[list(kept)], none]),
            place[self.category[inside]],
            self.image[inside],
            self.values[inside],
            self.n_images,
        )


def with_few_bits(values: np.ndarray) -> np.ndarray:
    """Round to single precision with `KEPT_BITS` of the fraction, which compresses to half.

    Parameters
    ----------
    values : ndarray of shape (...)
        Numbers, of any shape with one dimension or more. NaN stays NaN.

    Returns
    -------
    ndarray of shape (...), float32
        The nearest such numbers; those halfway are rounded away from 0.

    Examples
    --------
    >>> with_few_bits(np.array([1.0, 1.0001, 1.0003]))  # steps of 2 ** -12
    array([1.       , 1.       , 1.0002441], dtype=float32)
    """
    dropped = 23 - KEPT_BITS
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    rounded = (bits + np.uint32(1 << (dropped - 1))) >> np.uint32(dropped) << np.uint32(dropped)
    return rounded.view(np.float32)
