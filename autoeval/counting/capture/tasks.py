"""The tasks: prompt, privileged facts and true answer of an item."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np

from autoeval.counting.capture.split import INPAINTED, OCCLUDED, ORIGINAL, CaptureItem
from autoeval.data.config_file import read_config, shipped_config
from autoeval.errors import InputError

COUNT, CHOICE = "count", "choice"


class PromptBook:
    """The prompts of every task for a `model`, as in ``configs/counting/capture/prompts.py``."""

    def __init__(self, templates: Mapping[str, Any], *, model: str = "default") -> None:
        absent = [name for name in _NEEDED if name not in templates]
        if absent:
            raise InputError(f"The prompts lack {', '.join(absent)}.")
        known = sorted(templates["total"]["real"]["occluded"])
        if model not in known:
            raise InputError(f"No prompts for '{model}'; there are some for {', '.join(known)}.")
        self.templates = templates
        self.model = model

    def total(self, item: CaptureItem, variant: str) -> str:
        """Return the question for the total number in the ``occluded`` or ``original`` image."""
        return _fill(self.templates["total"][item.split][variant][self.model], item)

    def fill(self, name: str, item: CaptureItem, **values: str) -> str:
        """Return the question of another task with ``values`` in its places."""
        return _fill(self.templates[name], item, **values)


Question = Callable[[CaptureItem, PromptBook], str]
Truth = Callable[[CaptureItem], int | str | None]
PATTERN_CHOICES = ("rectangle", "triangle", "circle")
SAMPLES = 20  # answers a question for the sampled confidence (appendix C.3)


@dataclass(frozen=True)
class CaptureTask:
    """A task of CAPTURe.

    `variant` is the image shown: original, occluded or inpainted. An item whose `truth` is None
    does not have the task. `oracle_fact` is the fact that the question gives away (see `fact`).
    """

    name: str
    variant: str
    question: Question
    truth: Truth
    kind: str = COUNT
    oracle_fact: str | None = None
    samples: int = 1
    prompted_confidence: bool = False

    def items(self, items: tuple[CaptureItem, ...]) -> list[CaptureItem]:
        """Return the items that have this task."""
        return [
            item
            for item in items
            if self.truth(item) is not None
            and (self.oracle_fact is None or fact(item, self.oracle_fact) is not None)
            and (self.variant != INPAINTED or item.box is not None)
        ]


_ground_truth = attrgetter("ground_truth")


def _total(variant: str) -> Question:
    return lambda item, book: book.total(item, variant)


def _confident(variant: str) -> Question:
    return lambda item, book: book.fill("confidence", item, question=book.total(item, variant))


def _oracle(name: str, prompt: str) -> Question:
    return lambda item, book: book.fill(
        prompt, item, question=book.total(item, OCCLUDED), coordinates=coordinates(fact(item, name))
    )


def _pattern(item: CaptureItem, book: PromptBook) -> str:
    return book.fill("pattern", item, choices=", ".join(PATTERN_CHOICES))


def _shape(item: CaptureItem) -> str | None:
    return item.shape if item.shape in PATTERN_CHOICES else None


def _both(
    name: str, ask: Callable[[str], Question], truth: Truth = _ground_truth, **options: Any
) -> list[CaptureTask]:
    """Make a task on original and one on occluded images."""
    variants = (ORIGINAL, OCCLUDED)
    return [CaptureTask(f"{name}-{v}", v, ask(v), truth, **options) for v in variants]


def _oracle_task(which: str) -> CaptureTask:
    known = f"{which}_points"
    ask = _oracle(known, f"oracle_{which}")
    return CaptureTask(f"oracle-{which}", OCCLUDED, ask, _ground_truth, oracle_fact=known)


TASKS = {
    task.name: task
    for task in (
        *_both("total", _total),
        CaptureTask(
            "occluded-only",
            OCCLUDED,
            lambda item, book: book.fill("occluded_only", item),
            attrgetter("num_occluded"),
        ),
        *_both("pattern", lambda variant: _pattern, _shape, kind=CHOICE),
        _oracle_task("all"),
        _oracle_task("visible"),
        CaptureTask("inpainted", INPAINTED, _total(ORIGINAL), _ground_truth),
        *_both("confidence", _confident, prompted_confidence=True),
        *_both("sampled", _total, samples=SAMPLES),
    )
}
SHIPPED = shipped_config("counting", "capture", "prompts.py")
_NEEDED = ("total", "occluded_only", "pattern", "oracle_all", "oracle_visible", "confidence")


def fact(item: CaptureItem, name: str, variant: str = OCCLUDED) -> Any:
    """Return something privileged about an item, fit for JSON; None where it is not known."""
    if name == "radius":
        return item.record.get("radius")
    original = variant == ORIGINAL
    values = {
        "all_points": item.points,
        "visible_points": item.points_in_image if original else item.visible_points,
        "box": None if original else item.box,
    }
    return None if values[name] is None else np.asarray(values[name]).tolist()


def coordinates(points: list[list[float]]) -> str:
    """Write centres as a question does.

    Examples
    --------
    >>> coordinates([[115.45, 147.55], [50.0, 100.0]])
    '(115, 148), (50, 100)'
    """
    return ", ".join(f"({x:.0f}, {y:.0f})" for x, y in points)


def get_task(name: str) -> CaptureTask:
    """Return a task by its name, or raise `InputError` with all there are."""
    if name not in TASKS:
        raise InputError(f"No task '{name}'. There are {', '.join(TASKS)}.")
    return TASKS[name]


def load_prompts(
    path: str | os.PathLike[str] | None = None, *, model: str = "default"
) -> PromptBook:
    """Read prompts from a Python file, by default the shipped one, or raise `InputError`."""
    return PromptBook(read_config(path or SHIPPED), model=model)


def _fill(template: str, item: CaptureItem, **values: str) -> str:
    for name, value in {"objects": item.object_name, **values}.items():
        template = template.replace(f"{{{name}}}", value)
    return template
