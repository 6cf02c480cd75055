"""Labelled sets on which a detector is run: one set of labels, or the sources of a task."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from autoeval.errors import InputError
from autoeval.estimation.given_boxes import Detector
from autoeval.estimation.labelled_files import set_of_detector
from autoeval.estimation.observation.kept_observer import keeping
from autoeval.estimation.observation.observing import Observer
from autoeval.estimation.observation.pass_settings import PassSettings
from autoeval.estimation.observation.samples import PassLog
from autoeval.estimation.read_site import (
    Categories,
    any_task,
    own_words,
    unreadable_warning,
)
from autoeval.io.labels.content import held_out_of_training
from autoeval.io.tasks.task import Task
from autoeval.io.wording import listed
from autoeval.runtime.files import PathLike
from autoeval.sites.site import Site, is_labelled_enough, too_few_labels, truth_of_samples

if TYPE_CHECKING:
    from autoeval.io.tasks.seed_set import SeedSet


def observed_labels(
    run: Detector,
    labels: PathLike,
    *,
    img_dir: PathLike | None = None,
    group: str | None = None,
    folder: Path | None = None,
    categories: Categories | None = None,
) -> tuple[Site, dict[str, Any]]:
    """Run a detector once over a labelled set; every category that both know is a source.

    labels: in any format of `autoeval.load_labels`. The detector should not have seen the images in
        training: its accuracy there would be too high. Those of a split ``train`` are left out.
    group: where the set comes from, if others that it is joined with come from there too.
    folder: where to keep what is observed, so that an interrupted pass goes on.
    categories: instead of every one that both know, expected in all images.

    Returned: the set, and what its scores are made with; see `Observer.context`.
    """
    from autoeval.io.labels.any_format import load_labels
    from autoeval.io.tasks.seed_set import seed_set_of

    words, name = run.loaded.categories, Path(labels).stem
    content = held_out_of_training(load_labels(labels, img_dir))
    if categories:
        task = replace(any_task(categories, words), name=name)
        seed_set = seed_set_of(content, name, task.categories, words=task.detector_mapping)
        place = folder and folder / "sources" / name
        made = _observed(run, seed_set, task, group=group or name, folder=place, everywhere=True)
        return made, _observer(run, task).context()
    common = tuple(dict.fromkeys(word for word in words if word in content.categories))
    if not common:
        raise InputError(
            f"The labels {content.path} and the detector have no word in common. The labels have "
            f"{listed(content.categories, most=10)}; the detector has {listed(words, most=10)}. "
            "Convert the labels to the detector's words, or write a task file with `mapping`."
        )
    seed_set = seed_set_of(content, name, common, {word: word for word in common})
    n_true = [
        np.bincount(image.labels[~image.iscrowd], minlength=len(common))
        for image in seed_set.images
    ]
    if not any(map(is_labelled_enough, np.array(n_true).T)):  # before the detector is run
        raise too_few_labels(name)
    task = any_task({word: [word] for word in common}, words)
    made = _observed(run, seed_set, task, group=group, folder=folder)
    context = _observer(run, own_words(run.loaded)).context()
    del context["task"]  # of every category that is found
    return made, context


def observed_sources(
    run: Detector, task: Task, *, folder: Path | None = None
) -> tuple[list[Site], dict[str, Any]]:
    """Run a detector once over the sources of a task; see `observed_labels`.

    The categories of the task are expected in all images of its sources.
    """
    context = _observer(run, task).context()
    sets = [
        _observed(
            run,
            seed_set,
            task,
            group=task.groups[seed_set.name],
            folder=folder and folder / "sources" / seed_set.name,
            everywhere=True,
        )
        for seed_set in task.load_seed_sets()
    ]
    return sets, context


def _observer(run: Detector, task: Task) -> Observer:
    settings = PassSettings(reference=run.loaded_reference)
    return Observer(run.loaded, task, settings, batch_size=run.batch_size)


def _observed(
    run: Detector, seed_set: SeedSet, task: Task, *, folder: Path | None, **of_set: Any
) -> Site:
    """Run a detector over the images of a seed set, in its own words, and translate its boxes."""
    from autoeval.io.tasks.labelled_samples import SeedSetSamples

    own = own_words(run.loaded)
    observer = keeping(_observer(run, own), run.keeping(folder))
    lookup = task.lookup(own.categories)  # the detector's own may hold one twice, as "N/A"
    samples = SeedSetSamples(seed_set)
    evidence, truth, log = [], [], PassLog()
    with observer.begin(samples, len(samples), f"observing {seed_set.name}") as bar:
        for sample, seen in observer.each(samples, log=log):
            evidence.append(seen.relabel(lookup).boxes_alone())
            truth.append((sample.boxes, sample.labels, sample.iscrowd))
            bar.update()
    log.check(len(evidence))
    lost = unreadable_warning(list(log.unreadable.values()), len(samples))
    site = Site.of_evidence(evidence, task.categories)
    made = set_of_detector(
        site,
        truth_of_samples(site.boxes, truth),
        name=seed_set.name,
        left_out=(*seed_set.warnings, *lost),
        **of_set,
    )
    return replace(made, statistics=replace(made.looks, categories=own.categories))
