"""Asking a counter about one picture: prompts, privileged information, answers that fail."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, TypeVar

import numpy as np

from autoeval.counting.counters.base import Counter, CountResult, count_prompts
from autoeval.data.wording import listed
from autoeval.errors import InputError
from autoeval.runtime.states import FAILED, OK
from autoeval.runtime.threads import as_done

Item = TypeVar("Item")
Result = TypeVar("Result")


BATCH_SIZE = 8


@dataclass(frozen=True, eq=False)
class Question:
    """What is asked about one image.

    Parameters
    ----------
    image : ndarray of shape (H, W, 3), uint8, BGR
    classes : sequence of str
        Which classes to count.
    image_id : str
    true_class : str
        Of the (upper) image.
    """

    image: np.ndarray
    classes: Sequence[str]
    image_id: str
    true_class: str


@dataclass(frozen=True)
class Asker:
    """A counter and the way it is asked.

    Parameters
    ----------
    counter : Counter
        Whom to ask.
    prompt : str
        Template of a prompt, with ``{}`` for the class.
    reference : bool
        Whether the counter is told the true class of the (upper) image in its context, as
        ``positive_class``; it is then recorded with every answer. DAVE's published figures need it.
    workers : int
        Threads that read images and ask. A counter that does not say that it is ``concurrent`` is
        asked by one at a time, so that no answer depends on their number.
    batch_size : int
        Images that a counter with ``count_batch`` is given at once; others get one.
    """

    counter: Counter
    prompt: str = "{}"
    reference: bool = False
    workers: int = 1
    batch_size: int = BATCH_SIZE
    _turn: AbstractContextManager = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_turn", turn_of(self.counter))

    def parts(self, work: Callable[[Sequence[Item]], Result], items: Sequence[Item]) -> Iterator:
        """Yield what becomes of batches of items that are worked on by the asker's threads."""
        size = max(self.batch_size, 1) if hasattr(self.counter, "count_batch") else 1
        batches = [items[start : start + size] for start in range(0, len(items), size)]
        return as_done(work, batches, self.workers)

    def ask(
        self, image: np.ndarray, classes: Sequence[str], image_id: str, true_class: str
    ) -> list[CountResult]:
        """Count each of ``classes`` in one image; see `ask_all` and `Question`."""
        return self.ask_all([Question(image, classes, image_id, true_class)])[0]

    def ask_all(self, questions: Sequence[Question]) -> list[list[CountResult]]:
        """Answer the questions about each image; an error becomes a status.

        A batch that fails is asked again image by image, so that an error is its image's alone.

        Raises
        ------
        InputError
            As raised by the counter, for instance because it knows no such class.
        ImportError
            If the counter needs a package that is not installed.
        """
        batched = getattr(self.counter, "count_batch", None)
        if batched is not None and len(questions) > 1:
            images = [q.image for q in questions]
            prompts, contexts = [self._prompts(q) for q in questions], map(self._context, questions)
            try:
                with self._turn:
                    found = batched(images, prompts, list(contexts))
                return [self._checked(r, q) for r, q in zip(found, questions, strict=True)]
            except (InputError, ImportError):
                raise
            except Exception:
                pass
        return [self._ask_alone(question) for question in questions]

    def _ask_alone(self, question: Question) -> list[CountResult]:
        prompts, context = self._prompts(question), self._context(question)
        try:
            with self._turn:
                results = count_prompts(self.counter, question.image, prompts, context)
        except (InputError, ImportError):
            raise
        except Exception as error:
            status = f"{FAILED}: {type(error).__name__}: {error}"
            return [CountResult(math.nan, status=status, context=context)] * len(prompts)
        return self._checked(results, question)

    def _checked(self, results: list[CountResult], question: Question) -> list[CountResult]:
        if len(results) != len(question.classes):
            raise InputError(
                f"The counter {self.counter.name} gave {len(results)} answers to "
                f"{len(question.classes)} prompts."
            )
        return results

    def _prompts(self, question: Question) -> list[str]:
        return [self.prompt.format(name) for name in question.classes]

    def _context(self, question: Question) -> dict[str, Any]:
        return {"image_id": question.image_id, **self.privileged(question.true_class)}

    def privileged(self, true_class: str) -> dict[str, str]:
        """Return what the counter is told beyond the image and the prompt."""
        return {"positive_class": self.prompt.format(true_class)} if self.reference else {}


def turn_of(counter: Counter) -> AbstractContextManager:
    """Return what to enter while a counter is asked: a lock, unless it is ``concurrent``."""
    return nullcontext() if getattr(counter, "concurrent", False) else Lock()


def answer_fields(result: CountResult, told: Mapping[str, str]) -> dict[str, Any]:
    """Return ``status``, warnings where there are any, and what the counter was told."""
    status = result.status
    if status == OK and not math.isfinite(result.count):
        status = f"{FAILED}: the count is {result.count}"
    fields: dict[str, Any] = {"status": status, **told}
    if result.warnings:
        fields["warnings"] = list(result.warnings)
    return fields


def number(value: float) -> float | None:
    """Return a finite count, or None."""
    return float(value) if math.isfinite(value) else None


def is_answered(cell: Mapping[str, Any]) -> bool:
    """Tell whether a cell holds an answer, be it that there is none; failures are asked again."""
    return not str(cell["status"]).startswith(FAILED)


def check_names(names: Sequence[str]) -> None:
    """Raise `InputError` where two models carry one name."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(
            f"Models need different names, but {listed(twice)} came twice: set `name` in the "
            "counter's config."
        )
