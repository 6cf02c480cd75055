"""Predicting the change of a site's mAP from that of its condition; the saved model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from typing_extensions import Self

from autoeval.errors import InputError
from autoeval.io.config_file import shipped_config
from autoeval.io.json_file import read_json
from autoeval.io.wording import listed
from autoeval.monitoring.changes.condition import AMOUNTS, CONDITION, SCORES, condition, image_moves
from autoeval.monitoring.changes.image_numbers import MEANINGS, novelty
from autoeval.monitoring.changes.slopes import Slopes
from autoeval.runtime.files import PathLike, write_json

LEAST_LEVEL = 0.05  # a site estimated at nothing may still have something to lose
SHIPPED = ("changes", "yolox_nano.json")
CLEAN = "clean_boxes"
"""Part of the file: the slopes that read nothing but the boxes at full size."""


@dataclass(frozen=True, eq=False)
class ChangeModel:
    r"""Slopes of the change of mAP, relative to the level that the site had before.

    .. math:: \Delta = \ell\, x^T b, \qquad x_j = t_j \tanh(d_j / t_j)

    with :math:`\ell` the mAP before, d the difference of two conditions and t the largest
    difference that counts; of the logarithms of amounts :math:`x_j = \min(e^{d_j} - 1, t_j)`, the
    share by which they changed, which is at least -1.

    names: of `CONDITION`, those that it reads.
    bounds (P,): the t above, positive.
    image_weights (W, len(CONDITION)): weights of single images, for each of W series; see
        `autoeval.monitoring.changes.condition`. 0 for what is not read.
    whitening (len(MEANINGS), len(MEANINGS)): how signals vary at a site; see
        `autoeval.monitoring.changes.image_numbers`. Without it no novelty of signals is watched.
    origin: where the slopes come from, a sentence for people.
    calibrated: whether scores are true-positive probabilities; otherwise they are confidences.
    """

    names: tuple[str, ...]
    bounds: np.ndarray
    slopes: Slopes
    image_weights: np.ndarray
    whitening: np.ndarray | None
    origin: str = ""
    calibrated: bool = False

    @property
    def needs(self) -> tuple[str, ...]:
        """Names of `CONDITION` that it reads."""
        weighted = np.asarray(self.image_weights.any(axis=0))
        watched = MEANINGS if self.whitening is not None else ()
        return tuple(
            name
            for name, used in zip(CONDITION, weighted, strict=True)
            if used or name in self.names or name in watched
        )

    def check(self, numbers: np.ndarray) -> None:
        """Make sure that images have what it reads.

        numbers (N, len(NUMBERS))
        """
        finite = np.isfinite(condition(numbers)).all(axis=0)
        lacking = [name for name in self.needs if not finite[CONDITION.index(name)]]
        if lacking:
            parts = {
                "signals of the images": [name for name in lacking if name in MEANINGS],
                "boxes at half the input size": [name for name in lacking if name in SCORES],
            }
            what = " and ".join(
                f"{kind} ({listed(names)})" for kind, names in parts.items() if names
            )
            raise InputError(
                f"Expected {what}, which these slopes of change read, but not all images have "
                "them: observe the images again, in another work folder."
            )

    def without_signals(self) -> Self:
        """Return the model that watches the scores of boxes alone, by the last of its series."""
        return replace(self, image_weights=self.image_weights[-1:], whitening=None)

    def moves(self, before: np.ndarray, after: np.ndarray, level: float) -> np.ndarray:
        """Return the regressors of the slopes, given means of `NUMBERS` in two periods.

        before, after (..., len(NUMBERS))
        level: mAP before, in [0, 1].
        Returned: (..., P).
        """
        return scaled_moves(condition(after) - condition(before), self.names, self.bounds, level)

    def image_series(
        self, before: np.ndarray, after: np.ndarray, blocks: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the series that are watched, one value an image, those of the baseline first.

        For each row of `image_weights` the predicted change, relative to the level before; then,
        with a `whitening`, the negative novelty of the camera's signals. All fall where something
        breaks.

        before, after (N or M, len(NUMBERS)): numbers of the images of the baseline, and of later
            ones.
        blocks (N,), int: images of the baseline with equal numbers belong together; by default each
            on its own.
        Returned: (W, N + M), or (W + 1, N + M).
        """
        moves = image_moves(np.concatenate([before, after]), before)
        series = self.image_weights @ np.nan_to_num(moves).T  # what is NaN has no weight
        if self.whitening is None:
            return series
        apart = novelty(before, after, self.whitening, blocks)
        return np.concatenate([series, -apart[None]])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        bounds = dict(zip(self.names, self.bounds.tolist(), strict=True))
        weights = dict(zip(CONDITION, self.image_weights.T.tolist(), strict=True))
        whitening = None
        if self.whitening is not None:
            whitening = dict(zip(MEANINGS, self.whitening.tolist(), strict=True))
        return {
            "bounds": bounds,
            "slopes": self.slopes.to_dict(),
            "image_weights": weights,
            "whitening": whitening,
            "origin": self.origin,
            "calibrated": self.calibrated,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Read what `to_dict` wrote."""
        bounds = values["bounds"]
        slopes = Slopes.from_dict(values["slopes"])
        weights = np.array([values["image_weights"][name] for name in CONDITION]).T
        most = np.array(list(bounds.values()))
        whitening = values["whitening"]
        if whitening is not None:
            whitening = np.array([whitening[name] for name in MEANINGS])
        origin, calibrated = values["origin"], values.get("calibrated", False)
        return cls(tuple(bounds), most, slopes, weights, whitening, origin, calibrated)


def scaled_moves(
    difference: np.ndarray, names: Sequence[str], bounds: np.ndarray, level: np.ndarray | float
) -> np.ndarray:
    """Bound differences of conditions (..., C) and take them relative to the level, (..., P)."""
    chosen = difference[..., [CONDITION.index(name) for name in names]]
    bounded = bounds * np.tanh(chosen / bounds)
    # Bounded before expm1, which would overflow, and after, as the share exceeds its logarithm.
    share = np.minimum(np.expm1(np.minimum(chosen, bounds)), bounds)
    relative = np.maximum(np.asarray(level), LEAST_LEVEL)[..., None]
    return relative * np.where(np.isin(names, AMOUNTS), share, bounded)


def read_change_model(
    path: PathLike | None = None, *, signals: bool = True, half_size: bool = True
) -> ChangeModel:
    """Read slopes of change.

    path: what `write_change_model` wrote; by default the shipped ones, which were fitted with
        another detector than most will have: their `origin` names it.
    signals, half_size: whether signals of the images, and boxes at half the input size, are there
        to be read. Without the latter there are none of the former, either.
    """
    path = path or shipped_config(*SHIPPED)
    content = read_json(path, "slopes of change")
    try:
        model = ChangeModel.from_dict(content)
        clean = ChangeModel.from_dict(content[CLEAN]) if content.get(CLEAN) else None
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(
            f"{path} holds no slopes of change ({error!r}): make them with autoeval fit-change."
        ) from error
    if half_size:
        return model if signals else model.without_signals()
    if clean is None:
        raise InputError(
            f"{path} holds no slopes for boxes at full size alone: make it again with autoeval "
            "fit-change, or give predictions at half the size (--predictions ... half_size=DIR)."
        )
    return clean


def write_change_model(
    path: PathLike, model: ChangeModel, clean_boxes: ChangeModel | None = None
) -> Path:
    """Write slopes of change, and those for boxes at full size alone; return the path."""
    more = {} if clean_boxes is None else {CLEAN: clean_boxes.to_dict()}
    return write_json(path, {**model.to_dict(), **more})
