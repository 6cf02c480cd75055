"""Asking a counter about one picture: prompts, privileged information, answers that fail."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autoeval.counting.counters.base import Counter, CountResult, count_prompts
from autoeval.data.wording import listed
from autoeval.errors import InputError
from autoeval.runtime.states import FAILED, OK


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
    """

    counter: Counter
    prompt: str = "{}"
    reference: bool = False

    def ask(
        self, image: np.ndarray, classes: Sequence[str], image_id: str, true_class: str
    ) -> list[CountResult]:
        """Count each of ``classes`` in one image (H, W, 3) uint8 BGR; an error becomes a status.

        Raises
        ------
        InputError
            As raised by the counter, for instance because it knows no such class.
        ImportError
            If the counter needs a package that is not installed.
        """
        context = {"image_id": image_id, **self.privileged(true_class)}
        prompts = [self.prompt.format(name) for name in classes]
        try:
            results = count_prompts(self.counter, image, prompts, context)
        except (InputError, ImportError):
            raise
        except Exception as error:
            status = f"{FAILED}: {type(error).__name__}: {error}"
            return [CountResult(math.nan, status=status, context=context)] * len(prompts)
        if len(results) != len(prompts):
            raise InputError(
                f"The counter {self.counter.name} gave {len(results)} answers to {len(prompts)} "
                "prompts."
            )
        return results

    def privileged(self, true_class: str) -> dict[str, str]:
        """Return what the counter is told beyond the image and the prompt."""
        return {"positive_class": self.prompt.format(true_class)} if self.reference else {}


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
