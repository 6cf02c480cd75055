"""Questions from a configuration file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from autoeval.counting.capture.records import CaptureItem
from autoeval.data.config_file import read_config
from autoeval.data.shipped import shipped_config
from autoeval.errors import InputError

SHIPPED = shipped_config("counting", "capture", "prompts.py")
_NEEDED = ("total", "occluded_only", "pattern", "oracle_all", "oracle_visible", "confidence")


class PromptBook:
    """The prompts of every task.

    Parameters
    ----------
    templates : mapping
        As in ``configs/counting/capture/prompts.py``.
    model : str
        Which model's published prompts to use: ``"gpt-4o"``, ``"internvl2"``, ``"molmo"``,
        ``"qwen2-vl"`` or ``"default"``.

    Raises
    ------
    InputError
        If a template or the model is missing.
    """

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


def load_prompts(
    path: str | os.PathLike[str] | None = None, *, model: str = "default"
) -> PromptBook:
    """Read prompts from a Python configuration file, the shipped one by default.

    Raises
    ------
    InputError
        If the file is missing or broken.
    """
    return PromptBook(read_config(path or SHIPPED), model=model)


def _fill(template: str, item: CaptureItem, **values: str) -> str:
    for name, value in {"objects": item.object_name, **values}.items():
        template = template.replace(f"{{{name}}}", value)
    return template
