"""Reference statistics: how the predictions of a fit look, to compare new ones with."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from autoeval.data.predictions import FoundBoxes
from autoeval.data.wording import listed
from autoeval.errors import InputError
from autoeval.estimation.site_boxes import LOW_FLOOR
from autoeval.estimation.warnings import ENOUGH_BOXES, another_scale, unseen_share
from autoeval.notices import Notice, codes_of, notices_of

MOST_ABOVE = 0.05  # that lists may begin above those of the fit


@dataclass(frozen=True)
class ReferenceStatistics:
    """How a detector's files look.

    numbers: the word of each number of a category, where its files or the labels have numbers.
    highest: highest score; 0 where it is not known.
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

    @classmethod
    def of(cls, found: FoundBoxes) -> ReferenceStatistics:
        """Look at predictions."""
        return cls(
            found.categories,
            found.numbers,
            found.floor,
            found.most_boxes,
            found.highest,
            unseen_share(found),
        )

    def warning(self, *warnings: str) -> ReferenceStatistics:
        """Add what was found wrong in the fit."""
        return replace(self, warnings=(*self.warnings, *warnings))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            **asdict(self),
            "categories": list(self.categories),
            # A list of pairs: JSON with sorted keys would put 10 before 2, and their order counts.
            "numbers": [[number, word] for number, word in self.numbers.items()],
            "warnings": list(self.warnings),
            "warning_codes": codes_of(self.warnings),
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> ReferenceStatistics:
        """Read what `to_dict` wrote."""
        values = dict(values)
        codes = values.pop("warning_codes", ())  # not in files of earlier fits
        warnings = notices_of(values.get("warnings", ()), codes)
        lists = {"categories": tuple(values.get("categories", ())), "warnings": warnings}
        numbers = values.get("numbers", [])
        if isinstance(numbers, dict):  # of a file that was written before the pairs
            numbers = sorted(numbers.items(), key=_in_counting_order)
        return cls(**{**values, **lists, "numbers": {str(k): word for k, word in numbers}})

    def differences(self, found: FoundBoxes) -> tuple[str, ...]:
        """Say how new predictions look other than those of the fit, as of another detector."""
        unknown = [word for word in _used(found) if word not in self.categories]
        if len(unknown) == len(_used(found)) > 0:
            raise InputError(
                f"These predictions are of another detector: it knows {listed(unknown, 10)}, the "
                f"one that the estimator was fitted for {listed(self.categories, 10)}."
            )
        if found.floor > self.floor + MOST_ABOVE and len(found) >= ENOUGH_BOXES:
            raise InputError(
                f"The lowest score is {found.floor:.3g}, in the fit it was {self.floor:.3g}: the "
                "scores do not compare. Export both from .01 on (Ultralytics: conf=0.01), or leave "
                f"out boxes below {found.floor:.2g} of the labelled images, too, and fit again."
            )
        return tuple(self._differences(found, unknown))

    def _differences(self, found: FoundBoxes, unknown: list[str]) -> Iterator[str]:
        if unknown:
            yield Notice(
                "another-detector",
                f"categories that the fit did not know: {listed(unknown, 10)}: another detector?",
            )
        yield from another_scale(found, self.floor, self.highest)
        if found.most_boxes > 2 * self.most_boxes:
            yield (
                Notice(
                    "another-detector",
                    f"up to {found.most_boxes} boxes an image, in the fit up to {self.most_boxes}: "
                    "another limit, or another detector?",
                )
            )


def _in_counting_order(pair: tuple[str, str]) -> tuple[int, str]:
    number, _ = pair
    return (int(number) if number.isdecimal() else sys.maxsize, number)


def _used(found: FoundBoxes) -> list[str]:
    return [found.categories[k] for k in np.flatnonzero(np.bincount(found.label))]


def joined_statistics(parts: Sequence[ReferenceStatistics]) -> ReferenceStatistics:
    """Describe the files of several labelled sets together; numbers count where they agree."""
    words = dict.fromkeys(word for part in parts for word in part.categories)
    numbers = {k: word for part in parts for k, word in part.numbers.items()}
    numbers = {
        k: word
        for k, word in numbers.items()
        if all(part.numbers.get(k, word) == word for part in parts)
    }
    return ReferenceStatistics(
        tuple(words),
        numbers,
        min(part.floor for part in parts),
        max(part.most_boxes for part in parts),
        max(part.highest for part in parts),
        sum(part.unseen for part in parts) / len(parts),
        widening=max(part.widening for part in parts),
    )


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
