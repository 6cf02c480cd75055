"""Several tasks as one, so that images that they share are observed once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from autoeval.errors import InputError
from autoeval.io.tasks.task import SeedSetFiles, Task


def merge_tasks(tasks: Sequence[Task]) -> Task:
    """Join tasks: all their categories, and each labelled set once with what it has of them."""
    files: dict[str, SeedSetFiles] = {}
    words: dict[str, str] = {}
    for task in tasks:
        for entry in task.seed_sets:
            earlier = files.setdefault(entry.name, entry)
            files[entry.name] = _merged(earlier, entry)
        clash = [word for word, c in task.detector_mapping.items() if words.get(word, c) != c]
        if clash:
            raise InputError(
                f"The tasks {', '.join(t.name for t in tasks)} take the detector's "
                f"'{clash[0]}' for different categories: observe them one at a time."
            )
        words.update(task.detector_mapping)
    categories = tuple(dict.fromkeys(c for task in tasks for c in task.categories))
    return Task("+".join(task.name for task in tasks), categories, tuple(files.values()), words)


def _merged(a: SeedSetFiles, b: SeedSetFiles) -> SeedSetFiles:
    if (a.labels, a.img_dir, a.group) != (b.labels, b.img_dir, b.group):
        raise InputError(
            f"Two tasks have a seed set '{a.name}', one in {a.labels} (group {a.group}) and one "
            f"in {b.labels} (group {b.group}): rename one of them."
        )
    if a.mapping is None or b.mapping is None:
        return a
    return replace(a, mapping={**a.mapping, **b.mapping})
