"""What a change of a place's condition says of the change of its mAP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from typing_extensions import Self

from autoeval.monitoring.changes.condition import AMOUNTS, CONDITION, condition
from autoeval.monitoring.changes.image_weights import image_moves
from autoeval.monitoring.changes.slopes import Slopes
from autoeval.monitoring.changes.strangeness import strangeness
from autoeval.monitoring.observing.signals import MEANINGS

LEAST_LEVEL = 0.05  # a place estimated at nothing may still have something to lose


@dataclass(frozen=True, eq=False)
class ChangeModel:
    r"""Slopes of the change of mAP, relative to the level that the place had before.

    .. math:: \Delta = \ell\, x^T b, \qquad x_j = t_j \tanh(d_j / t_j)

    with :math:`\ell` the mAP before, d the difference of two conditions and t the largest
    difference that counts; of the logarithms of amounts :math:`x_j = \min(e^{d_j} - 1, t_j)`, the
    share by which they changed: who finds nothing more has lost all there was, not more.

    Parameters
    ----------
    names : tuple of str
        Of `CONDITION`, those that it reads.
    bounds : ndarray of shape (P,)
        The t above, positive.
    slopes : Slopes
    image_weights : ndarray of shape (2, len(CONDITION))
        What single images say; see `autoeval.monitoring.changes.image_weights`.
    whitening : ndarray of shape (len(MEANINGS), len(MEANINGS))
        How signals vary at a place; see `autoeval.monitoring.changes.strangeness`.
    origin : str
        Where the slopes come from, a sentence for people.
    """

    names: tuple[str, ...]
    bounds: np.ndarray
    slopes: Slopes
    image_weights: np.ndarray
    whitening: np.ndarray
    origin: str = ""

    def moves(self, before: np.ndarray, after: np.ndarray, level: float) -> np.ndarray:
        """Return what slopes are taken of, given means of `NUMBERS` in two periods.

        Parameters
        ----------
        before, after : ndarray of shape (..., len(NUMBERS))
        level : float
            mAP before, in [0, 1].

        Returns
        -------
        ndarray of shape (..., P)
        """
        return scaled_moves(condition(after) - condition(before), self.names, self.bounds, level)

    def said(
        self, before: np.ndarray, after: np.ndarray, blocks: np.ndarray | None = None
    ) -> np.ndarray:
        """Return what each image says of a change, those of the baseline first, (3, N + M).

        By all quantities and by the scores of boxes alone, relative to the level before; and how
        strange the camera's signals are, negative: all three fall where something breaks.

        Parameters
        ----------
        before, after : ndarray of shape (N or M, len(NUMBERS))
            Numbers of the images of the baseline, and of later ones.
        blocks : ndarray of shape (N,), int, optional
            Images of the baseline with equal numbers belong together; by default each on its own.
        """
        moves = image_moves(np.concatenate([before, after]), before)
        strange = strangeness(before, after, self.whitening, blocks)
        return np.concatenate([self.image_weights @ moves.T, -strange[None]])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        bounds = dict(zip(self.names, self.bounds.tolist(), strict=True))
        weights = dict(zip(CONDITION, self.image_weights.T.tolist(), strict=True))
        return {
            "bounds": bounds,
            "slopes": self.slopes.to_dict(),
            "image_weights": weights,
            "whitening": dict(zip(MEANINGS, self.whitening.tolist(), strict=True)),
            "origin": self.origin,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Read what `to_dict` wrote."""
        bounds = values["bounds"]
        slopes = Slopes.from_dict(values["slopes"])
        weights = np.array([values["image_weights"][name] for name in CONDITION]).T
        most = np.array(list(bounds.values()))
        whitening = np.array([values["whitening"][name] for name in MEANINGS])
        return cls(tuple(bounds), most, slopes, weights, whitening, values["origin"])


def scaled_moves(
    difference: np.ndarray, names: Sequence[str], bounds: np.ndarray, level: np.ndarray | float
) -> np.ndarray:
    """Bound differences of conditions (..., C) and take them relative to the level, (..., P)."""
    chosen = difference[..., [CONDITION.index(name) for name in names]]
    bounded = bounds * np.tanh(chosen / bounds)
    share = np.minimum(np.expm1(np.minimum(chosen, bounds)), bounds)
    relative = np.maximum(np.asarray(level), LEAST_LEVEL)[..., None]
    return relative * np.where(np.isin(names, AMOUNTS), share, bounded)
