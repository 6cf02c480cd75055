"""The tasks: prompt, privileged facts and true answer of an item."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from autoeval.counting.capture.split import INPAINTED, OCCLUDED, ORIGINAL, CaptureItem
from autoeval.errors import InputError
from autoeval.io.documents import read_config, shipped_config
from autoeval.runtime.files import PathLike

COUNT, CHOICE = "count", "choice"
FOUND = "found_points"  # what another counter found in the occluded image
PATTERN_CHOICES = ("rectangle", "triangle", "circle")
SAMPLES = 20  # answers a question for the sampled confidence (appendix C.3)
SHIPPED = shipped_config("counting", "capture", "prompts.py")
_NEEDED = ("total", "occluded_only", "pattern", "oracle_all", "oracle_visible", "confidence")


class PromptBook:
    """The prompts of every task for a `model`, as in ``configs/counting/capture/prompts.py``."""

    def __init__(self, templates: Mapping[str, Any], *, model: str = "default") -> None:
        absent = [name for name in _NEEDED if name not in templates]
        if absent:
            raise InputError(f"The prompts lack {', '.join(absent)}.")
        models = sorted(templates["total"]["real"]["occluded"])
        if model not in models:
            raise InputError(f"No prompts for '{model}'; there are some for {', '.join(models)}.")
        self.templates = templates
        self.model = model

    def total(self, item: CaptureItem, variant: str) -> str:
        """Return the question for the total number in the ``occluded`` or ``original`` image."""
        return _fill(self.templates["total"][item.split][variant][self.model], item)


@dataclass(frozen=True)
class CaptureTask:
    """A task of CAPTURe.

    `variant` is the image shown: original, occluded or inpainted. `prompt` is the question's name
    in a `PromptBook`, `answer` the field of an item that answers it. `oracle_fact` is the fact that
    the question gives away (see `fact`).
    """

    name: str
    variant: str
    prompt: str = "total"
    answer: str = "ground_truth"
    kind: str = COUNT
    oracle_fact: str | None = None
    samples: int = 1
    prompted_confidence: bool = False

    def question(self, item: CaptureItem, book: PromptBook) -> str:
        """Return the question about an item."""
        if self.prompt not in book.templates:
            raise InputError(f"The prompts lack '{self.prompt}', which the task {self.name} needs.")
        template = "{question}" if self.prompt == "total" else book.templates[self.prompt]
        values = {"choices": ", ".join(PATTERN_CHOICES)}
        if "{question}" in template:
            values["question"] = book.total(
                item, ORIGINAL if self.variant == INPAINTED else self.variant
            )
        if self.oracle_fact is not None:
            given = fact(item, self.oracle_fact)
            values |= {"coordinates": coordinates(given), "found": str(len(given))}
        return _fill(template, item, **values)

    def truth(self, item: CaptureItem) -> int | str | None:
        """Return the right answer; None where an item does not have the task."""
        answer = getattr(item, self.answer)
        return answer if self.kind == COUNT or answer in PATTERN_CHOICES else None

    def items(self, items: Iterable[CaptureItem]) -> list[CaptureItem]:
        """Return the items that have this task, whether another counter looked at them or not."""
        return [
            item
            for item in items
            if self.truth(item) is not None
            and (
                self.oracle_fact is None
                or self.oracle_fact == FOUND
                or fact(item, self.oracle_fact) is not None
            )
            and (self.variant != INPAINTED or item.box is not None)
        ]


def _both(name: str, **options: Any) -> list[CaptureTask]:
    """Make a task on original and one on occluded images."""
    return [CaptureTask(f"{name}-{v}", v, **options) for v in (ORIGINAL, OCCLUDED)]


TASKS = {
    task.name: task
    for task in (
        *_both("total"),
        CaptureTask("occluded-only", OCCLUDED, "occluded_only", "num_occluded"),
        *_both("pattern", prompt="pattern", answer="shape", kind=CHOICE),
        CaptureTask("oracle-all", OCCLUDED, "oracle_all", oracle_fact="all_points"),
        CaptureTask("oracle-visible", OCCLUDED, "oracle_visible", oracle_fact="visible_points"),
        CaptureTask("hybrid", OCCLUDED, "hybrid", oracle_fact=FOUND),
        CaptureTask("inpainted", INPAINTED),
        *_both("confidence", prompt="confidence", prompted_confidence=True),
        *_both("sampled", samples=SAMPLES),
    )
}


def fact(item: CaptureItem, name: str, variant: str = OCCLUDED) -> Any:
    """Return something privileged about an item, fit for JSON; None where it is not known."""
    if name in ("radius", FOUND):
        return item.record.get(name)
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


def load_prompts(path: PathLike | None = None, *, model: str = "default") -> PromptBook:
    """Read prompts from a Python file, by default the shipped one, or raise `InputError`."""
    return PromptBook(read_config(path or SHIPPED), model=model)


def _fill(template: str, item: CaptureItem, **values: str) -> str:
    for name, value in {"objects": item.object_name, **values}.items():
        template = template.replace(f"{{{name}}}", value)
    return template
