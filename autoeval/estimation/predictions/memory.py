"""What an estimator remembers of the predictions it was fitted on, and what has changed since."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from autoeval.data.predictions import Predictions
from autoeval.data.wording import listed
from autoeval.errors import InputError
from autoeval.estimation.predictions.doubts.score_scale import ENOUGH_BOXES, another_scale
from autoeval.estimation.predictions.doubts.unseen_range import unseen_share

LOW_FLOOR, HIGH_FLOOR = 0.05, 0.3


@dataclass(frozen=True)
class Memory:
    """How a detector's files look.

    Parameters
    ----------
    categories : tuple of str
        Its words.
    numbers : dict of str to str
        The word of each number, where its files have numbers.
    floor : float
        Lowest score.
    most_boxes : int
        Most boxes in an image.
    half_size : bool
        Whether there was a second pass at half the size.
    highest : float
        Highest score; 0 where it is not known.
    unseen : float
        See `unseen_share`.
    doubts : tuple of str
        What was doubtful in the fit on one labelled set, which makes every estimate so.
    """

    categories: tuple[str, ...]
    numbers: dict[str, str] = field(default_factory=dict)
    floor: float = 0.0
    most_boxes: int = 0
    half_size: bool = False
    highest: float = 0.0
    unseen: float = 0.0
    doubts: tuple[str, ...] = ()

    @classmethod
    def of(cls, found: Predictions, *, half_size: bool = False) -> Memory:
        """Look at predictions."""
        return cls(
            found.categories,
            found.numbers,
            found.floor,
            found.most_boxes,
            half_size,
            found.highest,
            unseen_share(found),
        )

    def doubting(self, *doubts: str) -> Memory:
        """Add what was doubtful in the fit."""
        return replace(self, doubts=(*self.doubts, *doubts))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {**asdict(self), "categories": list(self.categories), "doubts": list(self.doubts)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Memory:
        """Read what `to_dict` wrote, of this version or an older one."""
        lists = {name: tuple(values.get(name, ())) for name in ("categories", "doubts")}
        return cls(**{**values, **lists})

    def differences(self, found: Predictions) -> tuple[str, ...]:
        """Say how new predictions look other than those of the fit, as of another detector.

        Raises
        ------
        InputError
            If they have none of the words, or hold nothing but the boxes over .3 where those of the
            fit held others.
        """
        strange = [word for word in _used(found) if word not in self.categories]
        if len(strange) == len(_used(found)) > 0:
            raise InputError(
                f"These predictions are of another detector: it knows {listed(strange, 10)}, the "
                f"one that the estimator was fitted for {listed(self.categories, 10)}."
            )
        if found.floor > HIGH_FLOOR >= self.floor and len(found) >= ENOUGH_BOXES:
            raise InputError(
                f"The lowest score is {found.floor:.3g}, in the fit it was {self.floor:.3g}: the "
                "scores do not compare. Export both from .01 on (Ultralytics: conf=0.01)."
            )
        return tuple(self._differences(found, strange))

    def _differences(self, found: Predictions, strange: list[str]) -> Iterator[str]:
        if strange:
            yield f"categories that the fit did not know: {listed(strange, 10)}: another detector?"
        yield from another_scale(found, self.floor, self.highest)
        if found.most_boxes > 2 * self.most_boxes:
            yield (
                f"up to {found.most_boxes} boxes an image, in the fit up to {self.most_boxes}: "
                "another limit, or another detector?"
            )


def check_floor(found: Predictions, name: str, *, truncated: bool = False) -> tuple[str, ...]:
    """Doubt predictions whose low scores were cut off.

    Raises
    ------
    InputError
        If all scores are over .3 and it was not said that this is meant so.
    """
    if not found.floor > LOW_FLOOR:
        return ()
    told = (
        f"the lowest score in {name} is {found.floor:.3g}: boxes below it are missing, which "
        "lowers the recall that can be measured and the scores that rest on them; export from .01 "
        "on"
    )
    if found.floor > HIGH_FLOOR and not truncated:
        raise InputError(
            f"{told[0].upper()}{told[1:]} (Ultralytics: conf=0.01), or pass --truncated to go on."
        )
    return (told,)


def _used(found: Predictions) -> list[str]:
    return [found.categories[k] for k in np.flatnonzero(np.bincount(found.label))]
