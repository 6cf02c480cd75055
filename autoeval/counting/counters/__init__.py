"""What a counter is: an image and a prompt in, a count with its evidence out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from autoeval.errors import InputError
from autoeval.runtime import OK, SKIPPED

Context = Mapping[str, Any] | None  # privileged information, and the id of the image
COUNT = "count"
DENSITY = "density"
POINTS = "points"
TEXT = "text"
SUM_TOLERANCE = 0.05  # of the count, by which the sum of its density map may differ from it
ARRAYS = ("density", "points", "boxes", "scores")  # of a result, which may be tensors
MOST_APART = 0.5  # objects, of a count and the number of points, or the sum of a map
_WIDEST_TABLE = 5  # columns, of xyxy with a score: whatever a counter returns so is no density map
__all__ = ["CountResult", "Counter"]


@dataclass(frozen=True, eq=False)
class CountResult:
    """The answer of a counter about one image and one prompt.

    Parameters
    ----------
    count : float
        NaN where there is none; of a counter that gives points or boxes, their number.
    density : ndarray of shape (H, W), optional
        Density map, which sums to the count.
    points : ndarray of shape (N, 2), optional
        Where the objects are, as xy in pixels of the image.
    boxes : ndarray of shape (N, 4), optional
        As xyxy in pixels of the image.
    scores : ndarray of shape (N,), optional
        Of the points or boxes.
    text : str, optional
        Answer of a language model.
    status : str
        ``"ok"``, ``"skipped"`` (declined) or ``"failed: <reason>"``.
    context : mapping
        The privileged information that the counter was given.
    warnings : tuple of str
        Why the count may be wrong.
    """

    count: float
    density: np.ndarray | None = None
    points: np.ndarray | None = None
    boxes: np.ndarray | None = None
    scores: np.ndarray | None = None
    text: str | None = None
    status: str = OK
    context: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @property
    def centres(self) -> np.ndarray | None:
        """Centres (N, 2), xy, of the objects: the points, else the middles of the boxes, if any."""
        if self.points is not None:
            return np.asarray(self.points, np.float64).reshape(-1, 2)
        if self.boxes is None:
            return None
        boxes = np.asarray(self.boxes, np.float64).reshape(-1, 4)
        return (boxes[:, :2] + boxes[:, 2:]) / 2


@runtime_checkable
class Counter(Protocol):
    """Anything that counts.

    Attributes
    ----------
    name : str
        Identifies it in result files and resume keys.
    capabilities : frozenset of str
        Those of ``"count"``, ``"density"``, ``"points"``, ``"text"`` that its results have.
    """

    name: str
    capabilities: frozenset[str]

    def count(self, image: np.ndarray, prompt: str, context: Context = None) -> CountResult:
        """Count what a prompt names in an image.

        Parameters
        ----------
        image : ndarray of shape (H, W, 3), uint8
            BGR.
        prompt : str
        context : mapping, optional
            Privileged information, and the id of the image as ``image_id``.
        """
        ...


def count_prompts(
    counter: Counter,
    image: np.ndarray,
    prompts: list[str],
    context: Context = None,
) -> list[CountResult]:
    """Ask for several prompts on one image, encoding the image once where the counter can.

    Parameters
    ----------
    counter : Counter
        With a method ``count_prompts`` it takes all prompts at once.
    image : ndarray of shape (H, W, 3), uint8
        BGR.
    prompts : list of str
    context : mapping, optional
        See `Counter.count`.

    Returns
    -------
    list of CountResult
        One a prompt.

    Raises
    ------
    InputError
        As `as_result`.
    """
    batched = getattr(counter, "count_prompts", None)
    if batched is not None:
        answers = batched(image, prompts, context)
    else:
        answers = [counter.count(image, prompt, context) for prompt in prompts]
    return [as_result(answer, counter.name, context) for answer in answers]


def as_result(answer: Any, name: str, context: Context = None) -> CountResult:
    """Make a result of what a counter returned.

    Parameters
    ----------
    answer : CountResult, float, array-like, str or None
        A number; points (N, 2) as xy in pixels, none for an empty array; a density map (H, W) whose
        sum is the count, more than 5 wide (6 with no value over 1; narrower ones as a
        `CountResult`); the text of an answer; None for a skipped one. All arrays may be tensors,
        and a density map may have leading dimensions of 1.
    name : str
        Of the counter, for messages.
    context : mapping, optional
        What the result records; that of a `CountResult` stays.

    Raises
    ------
    InputError
        If it is anything else, or a `CountResult` whose density map does not sum to its count, by
        more than half an object and `SUM_TOLERANCE` of the count, whose points or boxes are not as
        many as it counts, to half an object, or malformed.
    """
    if isinstance(answer, CountResult):
        arrays: dict[str, Any] = {kind: getattr(answer, kind) for kind in ARRAYS}
        tensors = {kind: array for kind, array in arrays.items() if hasattr(array, "detach")}
        if tensors:  # maybe on an accelerator
            held = {kind: array.detach().cpu().numpy() for kind, array in tensors.items()}
            answer = replace(answer, **held)
        _check_places(answer, name)
        return _with_map(answer, name) if answer.density is not None else answer
    facts = dict(context or {})
    if answer is None:
        return CountResult(float("nan"), status=SKIPPED, context=facts)
    if isinstance(answer, str):
        from autoeval.counting.capture.answers import extract_count

        value = extract_count(answer).value
        count, status = (float("nan"), SKIPPED) if value is None else (float(value), OK)
        return CountResult(count, text=answer, status=status, context=facts)
    if hasattr(answer, "detach"):  # a tensor, maybe on an accelerator
        answer = answer.detach().cpu()
    try:
        array = np.asarray(answer, np.float64)
    except (TypeError, ValueError):
        array = None
    if array is None or isinstance(answer, bool | np.bool_):
        raise InputError(
            f"The counter {name} returned {type(answer).__name__}: expected a number, points "
            "(N, 2), a density map (H, W), a text, None or a CountResult."
        )
    if array.ndim == 0 or array.shape == (1,):
        return CountResult(float(array.reshape(())), context=facts)
    if array.size == 0 or (array.ndim == 2 and array.shape[1] == 2):
        points = array.reshape(-1, 2)
        return CountResult(float(len(points)), points=points, context=facts)
    density = _plane(array, name)
    with_classes = density.shape[1] == _WIDEST_TABLE + 1 and density.max() > 1
    if density.shape[1] <= _WIDEST_TABLE or with_classes:
        raise InputError(
            f"The counter {name} returned an array of shape {array.shape}, which may be a table of "
            "boxes or of points with scores: expected points (N, 2), a wider density map, "
            "CountResult(len(boxes), boxes=boxes), or CountResult(density.sum(), density=density)."
        )
    return CountResult(float(density.sum()), density=density, context=facts)


def _plane(density: np.ndarray, name: str) -> np.ndarray:
    """Return a density map as (H, W), without leading dimensions of 1."""
    if density.ndim < 2 or any(length != 1 for length in density.shape[:-2]):
        raise InputError(
            f"The counter {name} returned an array of shape {density.shape}: expected points "
            "(N, 2) or one density map (H, W)."
        )
    return density.reshape(density.shape[-2:])


def _check_places(result: CountResult, name: str) -> None:
    """Refuse points and boxes that are malformed, or not as many as the result counts.

    Parts of an image are counted by them and the whole image by the count, which have to agree.
    """
    for kind, places, columns in (("points", result.points, 2), ("boxes", result.boxes, 4)):
        shape = () if places is None else np.shape(places)
        if 0 not in shape and shape[1:] not in ((), (columns,)):
            raise InputError(
                f"The counter {name} gave {kind} of shape {tuple(shape)}: expected (N, {columns})."
            )
    centres = result.centres
    if centres is None or not np.isfinite(result.count):
        return
    n_scores = len(centres) if result.scores is None else len(np.ravel(result.scores))
    if not np.isfinite(centres).all() or n_scores != len(centres):
        raise InputError(
            f"The counter {name} gave {len(centres)} points or boxes with {n_scores} scores: "
            "expected finite coordinates, and a score for each where there are scores."
        )
    if abs(len(centres) - result.count) > MOST_APART:
        raise InputError(
            f"The counter {name} counts {result.count:g}, but gives {len(centres)} points or "
            "boxes: give their number as the count, or leave them out."
        )


def _with_map(result: CountResult, name: str) -> CountResult:
    density = _plane(np.asarray(result.density, np.float64), name)
    total = density.sum()
    if np.isfinite(result.count) and not (
        abs(total - result.count) <= max(MOST_APART, SUM_TOLERANCE * abs(result.count))
    ):
        raise InputError(
            f"The counter {name} counts {result.count:g}, but its density map sums to {total:g}"
            + (f" ({total / result.count:.3g} times)" if result.count else "")
            + ": a map that is resized has to keep its sum."
        )
    return replace(result, density=density)


def missing_of_counter(candidate: Any) -> list[str]:
    """Return what an object lacks to be a `Counter`, in words; empty where it lacks nothing.

    Parameters
    ----------
    candidate : object
    """
    parts = {
        "name": "`name`, a text",
        "capabilities": 'frozenset({"count", ...}) as `capabilities`',
        "count": "a method `count(image, prompt, context=None)`",
    }
    return [words for part, words in parts.items() if not hasattr(candidate, part)]
