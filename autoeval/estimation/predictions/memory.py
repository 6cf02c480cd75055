"""What an estimator remembers of the predictions it was fitted on, and what has changed since."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from autoeval.data.predictions import Predictions
from autoeval.data.wording import listed
from autoeval.errors import InputError

LOW_FLOOR, HIGH_FLOOR = 0.05, 0.3
ANOTHER_FLOOR = 3.0


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
    """

    categories: tuple[str, ...]
    numbers: dict[str, str] = field(default_factory=dict)
    floor: float = 0.0
    most_boxes: int = 0
    half_size: bool = False

    @classmethod
    def of(cls, found: Predictions, *, half_size: bool = False) -> Memory:
        """Look at predictions."""
        return cls(found.categories, found.numbers, found.floor, found.most_boxes, half_size)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {**asdict(self), "categories": list(self.categories)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Memory:
        """Read what `to_dict` wrote."""
        return cls(**{**values, "categories": tuple(values["categories"])})

    def differences(self, found: Predictions) -> tuple[str, ...]:
        """Say how new predictions look other than those of the fit, as of another detector.

        Raises
        ------
        InputError
            If they have none of the words.
        """
        strange = [word for word in _used(found) if word not in self.categories]
        if len(strange) == len(_used(found)) > 0:
            raise InputError(
                f"These predictions are of another detector: it knows {listed(strange, 10)}, the "
                f"one that the estimator was fitted for {listed(self.categories, 10)}."
            )
        return tuple(self._differences(found, strange))

    def _differences(self, found: Predictions, strange: list[str]) -> Iterator[str]:
        if strange:
            yield f"categories that the fit did not know: {listed(strange, 10)}: another detector?"
        low, high = sorted((max(found.floor, 1e-3), max(self.floor, 1e-3)))
        if high > ANOTHER_FLOOR * low and high > LOW_FLOOR:
            yield (
                f"the lowest score is {found.floor:.3g}, in the fit it was {self.floor:.3g}: "
                "export both with one threshold, or the scores do not compare"
            )
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
    return [found.categories[k] for k in sorted(set(found.label.tolist()))]
