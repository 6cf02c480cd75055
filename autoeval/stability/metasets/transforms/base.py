"""What a transform is, the registry, and applying one step to an image and its boxes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autoeval.boxes import box_area
from autoeval.errors import InputError

ChangeImage = Callable[[np.ndarray, float, np.random.Generator], np.ndarray]
MoveBoxes = Callable[[np.ndarray, float, tuple[int, int]], np.ndarray]


@dataclass(frozen=True)
class Transform:
    """One way to change an image, with one magnitude.

    Magnitudes are `low` plus multiples of `step` up to `high`, all equally likely, so that recipes
    hold short numbers.

    Parameters
    ----------
    name : str
        By which recipes name it.
    low, high, step : float
        Range of the magnitude.
    meaning : str
        What the magnitude is, with its unit.
    change : callable
        Takes an image (H, W, 3) uint8 BGR, the magnitude and a generator; returns the changed
        image.
    move : callable, optional
        Takes boxes (N, 4) xyxy pixels, the magnitude and (height, width), and returns the moved
        boxes, not clipped; None where objects stay in their place.
    """

    name: str
    low: float
    high: float
    step: float
    meaning: str
    change: ChangeImage
    move: MoveBoxes | None = None

    @property
    def n_magnitudes(self) -> int:
        """Number of different magnitudes."""
        return round((self.high - self.low) / self.step) + 1

    def magnitude(self, index: int) -> float:
        """Return the magnitude at a position in their order.

        Parameters
        ----------
        index : int
            From 0.
        """
        return round(float(self.low + self.step * index), 6)

    def draw(self, rng: np.random.Generator) -> float:
        """Draw a magnitude.

        Parameters
        ----------
        rng : Generator
            Draws one of `n_magnitudes`, all with equal probability.
        """
        return self.magnitude(int(rng.integers(self.n_magnitudes)))


@dataclass(frozen=True)
class TransformStep:
    """A transform in a recipe.

    Parameters
    ----------
    name : str
        Of the transform.
    magnitude : float, optional
        None is drawn afresh for every image.
    """

    name: str
    magnitude: float | None

    def __str__(self) -> str:
        return f"{self.name} {'varies' if self.magnitude is None else f'{self.magnitude:g}'}"


_REGISTRY: dict[str, Transform] = {}


def register(transform: Transform) -> Transform:
    """Make a transform known to recipes by its name.

    Parameters
    ----------
    transform : Transform
        Returned as it is.

    Raises
    ------
    ValueError
        If there is already one of its name.
    """
    if transform.name in _REGISTRY:
        raise ValueError(f"There is already a transform named {transform.name!r}.")
    _REGISTRY[transform.name] = transform
    return transform


def get_transform(name: str) -> Transform:
    """Return a registered transform.

    Parameters
    ----------
    name : str
        Of the transform.

    Raises
    ------
    InputError
        If there is none.
    """
    if name not in _REGISTRY:
        raise InputError(f"No transform named {name!r}. There are: {', '.join(sorted(_REGISTRY))}.")
    return _REGISTRY[name]


def apply_step(
    step: TransformStep,
    image: np.ndarray,
    boxes: np.ndarray,
    *,
    rng: np.random.Generator,
    min_visibility: float | np.ndarray = 0.25,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Apply one transform to an image and its boxes.

    A moved box is dropped where less than `min_visibility` of its area is left inside the image.

    Parameters
    ----------
    step : TransformStep
        The transform; without a magnitude it is drawn.
    image : ndarray of shape (H, W, 3), uint8, BGR
        The image.
    boxes : ndarray of shape (N, 4)
        xyxy, pixels.
    rng : Generator
        For all that is drawn.
    min_visibility : float or ndarray of shape (N,)
        In [0, 1], for all boxes or for each.

    Returns
    -------
    image : ndarray of shape (H, W, 3), uint8, BGR
        The changed image.
    boxes : ndarray of shape (M, 4)
        Those that are left, clipped to it.
    kept : ndarray of shape (M,), int
        Their positions among the boxes given.

    Raises
    ------
    InputError
        If there is no such transform.
    """
    transform = get_transform(step.name)
    magnitude = transform.draw(rng) if step.magnitude is None else step.magnitude
    changed = np.ascontiguousarray(transform.change(image, magnitude, rng))
    if transform.move is None:
        return changed, boxes, np.arange(len(boxes))
    height, width = image.shape[:2]
    moved = transform.move(boxes, magnitude, (height, width))
    clipped = moved.clip(0, [width, height, width, height])
    # Written so that a box without area, whose share is undefined, is dropped.
    kept = np.flatnonzero(
        (box_area(clipped) > 0) & (box_area(clipped) >= min_visibility * box_area(moved))
    )
    return changed, clipped[kept], kept


def register_corruption(
    name: str,
    change: Callable[..., np.ndarray],
    table: Sequence[dict[str, Any]],
    *,
    move: Callable[..., np.ndarray] | None = None,
) -> str:
    """Make a corruption known to recipes by its name, which is returned.

    Parameters
    ----------
    name : str
        Of the corruption.
    change : callable
        Of an image, a generator, and the keywords of a row of `table`; returns the changed image,
        see `Transform`.
    table : sequence of dict
        Keywords for each severity, the mildest first. A recipe with a severity that is not one of
        1 to their number raises `InputError` when it is applied.
    move : callable, optional
        Of boxes, (height, width), and the same keywords; returns the moved boxes, see `Transform`.

    Raises
    ------
    ValueError
        If there is already a transform of this name.
    """

    def row(severity: float) -> dict[str, Any]:
        if severity not in range(1, len(table) + 1):
            raise InputError(
                f"{name} expects a whole number from 1 to {len(table)} as its severity, "
                f"got {severity:g}: correct the recipe."
            )
        return table[int(severity) - 1]

    def change_at(image: np.ndarray, severity: float, rng: np.random.Generator) -> np.ndarray:
        return change(image, rng, **row(severity))

    def move_at(boxes: np.ndarray, severity: float, size: tuple[int, int]) -> np.ndarray:
        assert move is not None
        return move(boxes, size, **row(severity))

    moves = None if move is None else move_at
    return register(Transform(name, 1, len(table), 1, "severity", change_at, moves)).name


def rows(**columns: Sequence[Any]) -> list[dict[str, Any]]:
    """Turn columns of a table into its rows.

    Parameters
    ----------
    **columns : sequence
        By name, all of one length.

    Examples
    --------
    >>> rows(radius=[3, 4], sigma=[0.1, 0.5])
    [{'radius': 3, 'sigma': 0.1}, {'radius': 4, 'sigma': 0.5}]
    """
    return [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]


def to_bytes(values: np.ndarray) -> np.ndarray:
    """Round to whole numbers and clip to 0..255, uint8.

    Parameters
    ----------
    values : ndarray of float
        Of any shape.
    """
    whole = np.rint(values)
    return np.clip(whole, 0, 255, out=whole).astype(np.uint8)
