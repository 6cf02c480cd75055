"""What can be estimated, and how each is bounded, doubted and printed."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from typing_extensions import Self

from autoeval.errors import InputError

AP_TARGETS = ("mAP", "mAP50", "mAP75")
IN_OBJECTS = ("count_mae", "count_rmse", "count_pooled_mae", "count_pooled_std")  # an image
MEASURES = ("precision", "recall", "f1")
IOUS = tuple(round(0.5 + 0.05 * k, 2) for k in range(10))  # of COCO's evaluation
LOWEST_MAP = 0.15  # paper, appendix C.3

Numbers = TypeVar("Numbers", float, np.ndarray)


@dataclass(frozen=True)
class Target:
    """A column of the score table that scores are to estimate, called `name`.

    Values are printed times `scale`, in `unit`, with so many `digits`. No value is above `upper`;
    none is below 0. Estimates below `doubtful` are known to be unreliable; 0 for none.

    Examples
    --------
    >>> precision, error = find_target("mAP50"), find_target("count_mae")
    >>> precision.text(.256), error.text(2.5), float(error.clip(-1.0))
    ('25.6', '2.50', 0.0)
    """

    name: str
    unit: str = "points of 100"
    scale: float = 100.0
    digits: int = 1
    upper: float = 1.0
    doubtful: float = LOWEST_MAP

    def clip(self, values: Numbers) -> Numbers:
        """Bring estimates into the range of possible values."""
        return np.clip(values, 0.0, self.upper)

    @property
    def title(self) -> str:
        """The name, with the unit where it is not that of mAP."""
        return self.name if self.unit == Target.unit else f"{self.name} ({self.unit})"

    @property
    def format(self) -> str:
        """Format of a value that is already scaled."""
        return f"{{:.{self.digits}f}}"

    def text(self, value: float) -> str:
        """Write a value in the unit, without naming it."""
        return f"{self.scale * value:.{self.digits}f}"


@dataclass(frozen=True)
class OperatingPoint:
    """Precision, recall or F1 of the boxes over a score threshold, as a target.

    A box over the threshold is a true positive if COCO's matching gives it a labelled object at
    that IoU; boxes in crowds do not count. Over several categories true positives, boxes and
    objects are summed first (micro average). `measure` is ``precision``, ``recall`` or ``f1``;
    boxes with a higher score than `score_thr` count, over 0 and under 1; `iou` is .5, .55, ... .95.
    Other numbers raise `InputError`.

    Examples
    --------
    >>> str(OperatingPoint("recall", .3)), str(OperatingPoint("f1", .25, .75))
    ('recall@0.3', 'f1@0.25:0.75')
    >>> OperatingPoint.of("f1@0.25:0.75/car")
    OperatingPoint(measure='f1', score_thr=0.25, iou=0.75)
    """

    measure: str
    score_thr: float
    iou: float = IOUS[0]

    def __post_init__(self) -> None:
        if not 0 < self.score_thr < 1:
            raise InputError(
                f"Expected a score threshold over 0 and under 1 but got {self.score_thr:g}."
            )
        if round(self.iou, 6) not in IOUS:
            raise InputError(
                f"Expected an IoU of COCO's evaluation ({', '.join(map(str, IOUS))}) but got "
                f"{self.iou:g}."
            )

    def __str__(self) -> str:
        iou = "" if self.iou == IOUS[0] else f":{self.iou:g}"
        return f"{self.measure}@{self.score_thr:g}{iou}"

    @property
    def level(self) -> int:
        """Index of the IoU among those of COCO's evaluation."""
        return IOUS.index(round(self.iou, 6))

    @classmethod
    def of(cls, name: str) -> Self | None:
        """Read the name of a target or score; None for a name without ``@``.

        Raises `InputError` if what follows ``@`` is no threshold.
        """
        measure, at, rest = name.partition("/")[0].partition("@")
        if not at:
            return None
        threshold, _, iou = rest.partition(":")
        try:
            return cls(measure, float(threshold), float(iou or IOUS[0]))
        except ValueError as error:
            raise InputError(
                f"Expected a score threshold after @, such as recall@0.3, but got '{name}'."
            ) from error


def points_at(score_thr: float, iou: float = IOUS[0]) -> tuple[str, ...]:
    """Name precision, recall and F1 at a threshold.

    Examples
    --------
    >>> points_at(.3)
    ('precision@0.3', 'recall@0.3', 'f1@0.3')
    """
    return tuple(str(OperatingPoint(measure, score_thr, iou)) for measure in MEASURES)


def named_target(name: str, score_thr: float | None = None, iou: float = IOUS[0]) -> str:
    """Return the name of a target whose threshold is given apart.

    Raises `InputError` if there is no such target, or a measure has no threshold.

    Examples
    --------
    >>> named_target("recall", .3), named_target("mAP")
    ('recall@0.3', 'mAP')
    """
    if name in MEASURES:
        if score_thr is None:
            raise InputError(f"{name} is that of a score threshold: name it with --score-thr .3.")
        return str(OperatingPoint(name, score_thr, iou))
    return find_target(name).name


TARGETS = {
    **{name: Target(name) for name in AP_TARGETS},
    **{
        name: Target(name, "objects an image", scale=1.0, digits=2, upper=math.inf, doubtful=0.0)
        for name in IN_OBJECTS
    },
    "count_relative_mae": Target(
        "count_relative_mae", "percent of the mean true count", upper=math.inf, doubtful=0.0
    ),
}


def find_target(name: str) -> Target:
    """Return a target by the name of its column; ``mAP/<category>`` is that of one category.

    Raises `InputError` if there is no such target.
    """
    whole, _, category = name.partition("/")
    point = OperatingPoint.of(whole)
    if point is not None and point.measure in MEASURES:
        return Target(name, doubtful=0.0)
    if whole not in TARGETS or (category and not whole.startswith("mAP")):
        raise InputError(
            f"Expected a target out of {', '.join(TARGETS)}, or precision, recall or f1 at a "
            f"score threshold, such as recall@0.3, but got '{name}'."
        )
    return replace(TARGETS[whole], name=name)
