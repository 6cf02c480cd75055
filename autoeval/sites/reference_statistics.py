"""Reference statistics: how the predictions of a fit look, to compare new ones with."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from autoeval.boxes import Boxes
from autoeval.detections import SCORE_THR
from autoeval.errors import InputError
from autoeval.io.wording import listed
from autoeval.notices import Notice, codes_of, notices_of
from autoeval.sites.category_numbers import frequencies, kind_of
from autoeval.sites.confident_boxes import ConfidentBoxes, unlike_fit
from autoeval.sites.list_starts import (
    ENOUGH_BOXES,
    NEVER,
    SURELY_NOT,
    ListStart,
    begin_apart,
    log_chance,
    open_lists,
)
from autoeval.sites.score_range import LOW_FLOOR, another_scale, unseen_share
from autoeval.words import counted

SAME_FLOOR = 0.01  # difference of lowest scores of files that were cut alike
MOST_ABOVE = 0.05  # that lists may begin above those of the fit
FEW, NEAREST, FARTHEST, ROUNDING = 3, 0.003, 0.03, 1e-6
"""How far the lowest of n scores lies above its threshold: 3 / n, if that is between. One of n
boxes is mostly so near where their density is 1 there. Scores on another scale begin higher, too,
but seldom so near to a threshold that somebody chose."""


@dataclass(frozen=True)
class ReferenceStatistics:
    """How a detector's files look.

    numbers: the word of each number of a category, where its files or the labels have numbers.
    confident: how the confident boxes of each labelled set look.
    n_boxes: boxes that the floor is the lowest score of; 0 where it is not known.
    highest: highest score; 0 where it is not known.
    floors: thresholds that the fit is known at, too, rising, and the share of its boxes over each;
        see `autoeval.estimation.score_floors`.
    frequencies, kind: how often each category was found, and what kind of numbers the files have;
        see `autoeval.sites.category_numbers`.
    detector: its settings, where they are known; see `DetectorRun`.
    warnings: what was found wrong in the fit, which every estimate repeats.
    """

    categories: tuple[str, ...]
    numbers: dict[str, str] = field(default_factory=dict)
    floor: float = 0.0
    most_boxes: int = 0
    highest: float = 0.0
    unseen: float = 0.0
    warnings: tuple[str, ...] = ()
    widening: float = 0.0
    floors: tuple[tuple[float, float], ...] = ()
    n_boxes: int = 0
    frequencies: dict[str, float] = field(default_factory=dict)
    kind: str = ""
    confident: tuple[ConfidentBoxes, ...] = ()
    detector: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, boxes: Boxes) -> ReferenceStatistics:
        """Look at predictions."""
        return cls(
            boxes.categories,
            boxes.numbers,
            boxes.floor,
            boxes.most_boxes,
            boxes.highest,
            unseen_share(boxes),
            n_boxes=len(boxes),
            confident=(ConfidentBoxes.of(boxes),),
            frequencies=frequencies(boxes),
            kind=kind_of(boxes),
            detector=dict(boxes.run.settings) if boxes.run else {},
        )

    def warning(self, *warnings: str) -> ReferenceStatistics:
        """Add what was found wrong in the fit."""
        return replace(self, warnings=(*self.warnings, *warnings))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        plain = asdict(self)
        if not self.detector:
            del plain["detector"]
        return {
            **plain,
            "categories": list(self.categories),
            # A list of pairs: JSON with sorted keys would put 10 before 2, and their order counts.
            "numbers": [[number, word] for number, word in self.numbers.items()],
            "warnings": list(self.warnings),
            "floors": [list(floor_and_share) for floor_and_share in self.floors],
            "confident": [list(one) for one in self.confident],
            "warning_codes": codes_of(self.warnings),
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> ReferenceStatistics:
        """Read what `to_dict` wrote."""
        return cls(
            **{
                **{name: value for name, value in values.items() if name != "warning_codes"},
                "categories": tuple(values["categories"]),
                "warnings": notices_of(values["warning_codes"]),
                "floors": tuple((float(a), float(b)) for a, b in values["floors"]),
                "confident": tuple(ConfidentBoxes(*one) for one in values["confident"]),
                "numbers": {str(k): word for k, word in values["numbers"]},
            }
        )

    def differences(self, boxes: Boxes) -> tuple[str, ...]:
        """Say how new predictions look other than those of the fit, as of another detector."""
        unknown = [word for word in _used(boxes) if word not in self.categories]
        if len(unknown) == len(_used(boxes)) > 0:
            raise InputError(
                f"These predictions are of another detector: it knows {listed(unknown, 10)}, the "
                f"one that the estimator was fitted for {listed(self.categories, 10)}."
            )
        return tuple(self._differences(boxes, unknown))

    def under_floor(self, boxes: Boxes) -> np.ndarray:
        """Mask the boxes (N,) of new predictions that files of the fit would not hold.

        All under the lowest score of the fit, unless they are so few that one threshold explains
        both files.
        """
        under = boxes.scores < self.floor
        n_under = np.count_nonzero(under)
        # The lowest of n + m scores over one threshold lie in either file by chance, so that k of m
        # are under all n with a probability of less than (m / (n + m))^k.
        if n_under * math.log((self.n_boxes + len(boxes)) / max(len(boxes), 1)) > -math.log(NEVER):
            return under
        return under if n_under and not self.n_boxes else np.zeros(len(boxes), bool)

    def start_of(self, boxes: Boxes) -> ListStart:
        """Say why new predictions begin where they do.

        Raises InputError where they begin higher than those of the fit, and nothing explains it but
        another scale of scores.
        """
        if not len(boxes) or not boxes.floor > self.floor + SAME_FLOOR:
            return ListStart()
        shown = open_lists(boxes)
        few_shown = len(shown) < min(len(boxes), ENOUGH_BOXES)  # nearly all lists are full
        shown = shown if len(shown) else boxes
        cut = begin_apart(shown)
        within = min(max(FEW / len(shown), NEAREST), FARTHEST)
        for floor, _ in () if cut else reversed(self.floors):
            by_chance = log_chance(len(shown), floor, self.floors)  # that no box is under it
            if -ROUNDING < shown.floor - floor <= within and by_chance < math.log(SURELY_NOT):
                return ListStart(floor)
        if cut or few_shown:
            return ListStart(cut=True)
        n_images = len(np.unique(shown.image))  # boxes of one image are dependent
        if log_chance(n_images, shown.floor, self.floors) >= math.log(SURELY_NOT):
            return ListStart(by_chance=True)
        if boxes.floor <= self.floor + MOST_ABOVE:
            return ListStart()
        if len(boxes) < ENOUGH_BOXES:
            return ListStart(unlikely=True)
        floors = listed([f"{floor:g}" for floor, _ in self.floors], most=12) or "none above it"
        raise InputError(
            f"The lowest score is {boxes.floor:.3g}, in the fit it was {self.floor:.3g}: the "
            f"scores do not compare (thresholds that this fit knows: {floors}). Export both from "
            f".01 on (Ultralytics: conf=0.01), or leave out boxes below {boxes.floor:.2g} of the "
            "labelled images, too, and fit again."
        )

    def confident_unlike(self, boxes: Boxes) -> tuple[str, ...]:
        """Warn of confident boxes unlike those of the fit; see `unlike_fit`."""
        cut = boxes.floor > self.floor + SAME_FLOOR
        return unlike_fit(self.confident, ConfidentBoxes.of(boxes), cut=cut)

    def unseen_of(self, boxes: Boxes, start: ListStart) -> float:
        """Return `unseen_share` of new predictions, as far as the fit is read."""
        if start.cut or start.unlikely:
            return unseen_share(boxes, max(self.floor, SCORE_THR))
        return 0.0 if start.by_chance else unseen_share(boxes)

    def _differences(self, boxes: Boxes, unknown: list[str]) -> Iterator[str]:
        if unknown:
            yield Notice(
                "another-detector",
                f"categories that the fit did not know: {listed(unknown, 10)}: another detector?",
            )
        start = self.start_of(boxes)
        begins = f"the lowest score is {boxes.floor:.3g}, in the fit it was {self.floor:.3g}: "
        if start.floor:
            yield Notice(
                "low-scores-missing",
                f"{begins}boxes under {start.floor:g} are taken to have been left out, and the "
                "estimate is of the boxes in this file; export from .01 on (Ultralytics: "
                "conf=0.01) for one of all",
            )
        elif start.cut:
            yield Notice(
                "boxes-limited",
                f"{begins}each image lists its best boxes only, down to a score of its own. The "
                "interval is wider by what is missing; export all boxes from .01 on",
            )
        elif start.unlikely:
            yield Notice(
                "another-threshold",
                f"{begins}by chance {counted(len(boxes), 'box', 'boxes')} would hardly begin so "
                "high. The interval is wider by what may be missing; check that both were exported "
                "with one threshold",
            )
        plain = start == ListStart()
        floor = self.floor if plain else start.floor or boxes.floor
        yield from another_scale(boxes, floor, self.highest)
        if boxes.most_boxes > 2 * self.most_boxes:
            yield (
                Notice(
                    "another-detector",
                    f"up to {boxes.most_boxes} boxes an image, in the fit up to {self.most_boxes}: "
                    "another limit, or another detector?",
                )
            )


def _used(boxes: Boxes) -> list[str]:
    return [boxes.categories[k] for k in np.flatnonzero(np.bincount(boxes.label))]


def joined_statistics(parts: Sequence[ReferenceStatistics]) -> ReferenceStatistics:
    """Describe the files of several labelled sets together; numbers count where they agree."""
    words = dict.fromkeys(word for part in parts for word in part.categories)
    numbers = {k: word for part in parts for k, word in part.numbers.items()}
    numbers = {
        k: word
        for k, word in numbers.items()
        if all(part.numbers.get(k, word) == word for part in parts)
    }
    totals: dict[str, float] = {}
    for part in parts:
        for word, total in part.frequencies.items():
            totals[word] = totals.get(word, 0.0) + total
    kinds = {part.kind for part in parts}
    return ReferenceStatistics(
        tuple(words),
        numbers,
        min(part.floor for part in parts),
        max(part.most_boxes for part in parts),
        max(part.highest for part in parts),
        sum(part.unseen for part in parts) / len(parts),
        widening=max(part.widening for part in parts),
        floors=_common_floors([dict(part.floors) for part in parts]),
        n_boxes=sum(part.n_boxes for part in parts),
        confident=tuple(one for part in parts for one in part.confident),
        frequencies=totals,
        kind=kinds.pop() if len(kinds) == 1 else "",
        detector=_one_detector([part.detector for part in parts]),
    )


def _one_detector(settings: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the settings of the detector of all labelled sets; none where one is not known."""
    known = [one for one in settings if one]
    for other in known[1:]:
        names = known[0].keys() | other.keys()
        different = sorted(n for n in names if known[0].get(n) != other.get(n))
        if different:
            raise InputError(
                "The boxes of the labelled sets are of several detectors, which differ in "
                f"{listed(different, 5)}: detect objects on all sets with one, or fit each alone."
            )
    return known[0] if known and len(known) == len(settings) else {}


def _common_floors(parts: Sequence[dict[float, float]]) -> tuple[tuple[float, float], ...]:
    """Keep the thresholds that all know, each with the largest share of boxes over it."""
    common = [floor for floor in parts[0] if all(floor in shares for shares in parts)]
    return tuple((floor, max(shares[floor] for shares in parts)) for floor in common)


def different_floors(parts: Sequence[ReferenceStatistics], names: Sequence[str]) -> list[str]:
    """Warn of labelled sets whose files look as if another detector had written them."""
    floors = pd.Series([part.floor for part in parts], index=names)
    odd = floors[(floors > 3 * floors.median()) & (floors > LOW_FLOOR)]
    return [
        Notice(
            "another-threshold",
            f"{name}: its lowest score is {floor:.3g}, that of most others {floors.median():.3g}: "
            "another threshold, or another detector?",
        )
        for name, floor in odd.items()
    ]
