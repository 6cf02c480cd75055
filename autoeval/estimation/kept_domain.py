"""The training domain as a run keeps it, so that one that goes on does not observe it again."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from pathlib import Path

from autoeval.errors import InputError
from autoeval.estimation.meta_set import seed_set_digest
from autoeval.estimation.observation.detector_identity import kept_with
from autoeval.estimation.observation.observing import Observer
from autoeval.estimation.observation.observing_domain import observe_source_domain
from autoeval.estimation.observation.source_domain import SourceDomain
from autoeval.metasets.recipe import own_images
from autoeval.metasets.sample_set import SampleSet
from autoeval.metasets.seed_set import SeedSet
from autoeval.runtime.progress import announced_bar
from autoeval.scores.registry import revisions
from autoeval.version import __version__

DOMAINS = "training_domain"


def kept_source_domain(observer: Observer, seed_set: SeedSet, folder: Path) -> SourceDomain:
    """Observe the training domain, or read what an earlier run has observed.

    Parameters
    ----------
    observer : Observer
        See `observe_source_domain`.
    seed_set : SeedSet
        Stands for the training domain.
    folder : Path
        Keeps one file for each detector, setting and data.

    Raises
    ------
    InputError
        As `observe_source_domain`.
    """
    file = folder / f"{_key(observer, seed_set)}.npz"
    if file.exists():
        with suppress(InputError):  # damaged: observed again
            return SourceDomain.load(file, seed_set.name)
    samples = SampleSet(seed_set, own_images(seed_set))
    with announced_bar(len(samples), "observing the training domain") as bar:
        domain = observe_source_domain(observer, samples, advance=bar.update)
    domain.save(file)
    return domain


def reference_domain(observer: Observer, name: str, folder: Path) -> SourceDomain:
    """Observe the source of a task that stands for the detector's training domain.

    Parameters
    ----------
    observer : Observer
        Of the task.
    name : str
        Of the source.
    folder : Path
        Work dir of the run; see `kept_source_domain`.

    Raises
    ------
    InputError
        If the task has no source of that name, or as `observe_source_domain`.
    """
    task = observer.task
    known = [task.load_seed_set(files) for files in task.seed_sets if files.name == name]
    if not known:
        raise InputError(
            f"Expected --reference to name a seed set of task {task.name} out of "
            f"{', '.join(files.name for files in task.seed_sets)} but got '{name}'."
        )
    return kept_source_domain(observer, known[0], folder / DOMAINS)


def _key(observer: Observer, seed_set: SeedSet) -> str:
    """Name all that a training domain depends on."""
    context = observer.context()
    made_with = {
        "version": __version__,
        "scores": revisions(),
        "detector": context["detector"],
        "task": context["task"],
        "score_thr": observer.settings.stability.score_thr,
        "data": seed_set_digest(seed_set),
        **kept_with(observer.detector),
    }
    return hashlib.sha256(json.dumps(made_with, sort_keys=True).encode()).hexdigest()[:16]
