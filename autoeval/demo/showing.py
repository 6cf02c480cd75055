"""The demo: estimates at an environment held back, without and with labels."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill

from autoeval.api import estimate_with_labels
from autoeval.demo.training import measure_samples
from autoeval.detectors.detector_spec import DetectorSpec
from autoeval.errors import InputError
from autoeval.estimation.estimate import Estimate
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.label_planning import PlanRequest, plan_in_folder
from autoeval.estimation.observation.kept_observer import Keeping
from autoeval.estimation.observation.observing import Observer
from autoeval.io.image_lists import load_image_folder
from autoeval.labels.labelled_estimate import LabelledEstimate
from autoeval.labels.plan import LabelPlan
from autoeval.labels.plan_folder import EMPTY
from autoeval.model.regression import DEFAULT_METHOD
from autoeval.report.estimate import estimate_page
from autoeval.report.labels import labelled_page, unplanned_text, unplanned_values
from autoeval.report.page import PAGE, Heading, Page, Text, written_files
from autoeval.roadworld import DETECTOR, ENVIRONMENTS
from autoeval.roadworld.environments_task import environments_task, render_environments
from autoeval.runtime.files import write_json, write_text
from autoeval.stability.fitting.fit_task import fit_task
from autoeval.stability.metasets import MetaSetConfig, SampleSet, own_images
from autoeval.stability.passes.presets import light, preset

SEED = 0
PUBLISHED = ("fused", "ac", "bos")


@dataclass(frozen=True)
class DemoSizes:
    """How much there is of everything.

    Parameters
    ----------
    images : int
        Rendered in each environment.
    sample_sets, sample_images, repeats : int
        For the published scores: sample sets of each source, their images, perturbed passes.
    labels : int
        Images of the environment held back that get labels.
    """

    images: int = 60
    sample_sets: int = 8
    sample_images: int = 20
    repeats: int = 2
    labels: int = 20


def show_method(folder: Path, *, held_back: str, published: bool) -> str:
    """Render, fit, estimate an environment held back, label some of it, compare with the truth.

    Parameters
    ----------
    folder : Path
        Gets the estimator, the page, the tables as text (``tables.txt``) and the plan of the
        labels.
    held_back : str
        One of `ENVIRONMENTS`.
    published : bool
        Whether published methods are fitted and compared, too.

    Returns
    -------
    str
        The files, and one paragraph: both estimates with their intervals, and the truth.

    Raises
    ------
    InputError
        If there is no such environment.
    """
    if held_back not in ENVIRONMENTS:
        raise InputError(f"--held-back is one of {', '.join(ENVIRONMENTS)}, got {held_back}.")
    sizes, data = DemoSizes(), folder / "data"
    render_environments(data, sizes.images, seed=SEED)
    task = environments_task(data, [name for name in ENVIRONMENTS if name != held_back])
    settings = preset("paper", repeats=sizes.repeats, seed=SEED) if published else light(seed=SEED)
    meta_set = MetaSetConfig(n_sets=sizes.sample_sets, n_images=sizes.sample_images)
    spec = DetectorSpec(DETECTOR)
    observer = Observer(spec(), task, settings)
    estimator = fit_task(
        observer,
        task.load_seed_sets(),
        Keeping(folder, load=spec),
        meta_set=meta_set if published else None,
        methods=(DEFAULT_METHOD, *PUBLISHED * published),
        loading={"detector": spec.to_dict(), "reference": None},
    )
    assert isinstance(estimator, AccuracyEstimator)  # the first method is the default
    estimate = estimator.predict(images=load_image_folder(data / held_back / "images"))
    drawn = folder / "labels" / held_back  # images of all environments have the same names
    plan = plan_in_folder(estimator, estimate, drawn, PlanRequest(sizes.labels, seed=SEED))
    labels = _label(plan, data / held_back / EMPTY, drawn / EMPTY)
    labelled = estimate_with_labels(plan, labels)
    (truth,) = environments_task(data, [held_back]).load_seed_sets()
    samples = SampleSet(truth, own_images(truth))
    true = measure_samples(observer.detector, samples, held_back).compute()["mAP"]
    paragraph = in_words(held_back, estimate, labelled, true)
    values = {"demo": [paragraph], **unplanned_values(labelled, estimate, estimator)}
    title, heads = "The demo", (Heading("In short"), Text(paragraph))
    of_estimate = estimate_page(title, estimator, estimate, detector=DETECTOR).blocks
    page = Page(title, [*heads, *labelled_page(labelled).blocks, *of_estimate])
    tables = folder / "tables.txt"
    text = unplanned_text(labelled, estimate, estimator)
    write_text(tables, f"In short\n  {paragraph}\n\n{text}\n")
    pages = [*page.write(folder / PAGE, values), tables]
    return f"{written_files(pages)}\n\n{fill(paragraph, 100)}"


def _label(plan: LabelPlan, truth: Path, target: Path) -> Path:
    """Write the true labels of the images that a plan drew, as if somebody had labelled them."""
    document = json.loads(truth.read_bytes())
    drawn = {plan.found.images[k].file_name for k in plan.drawn}
    images = [image for image in document["images"] if image["file_name"] in drawn]
    ids = {image["id"] for image in images}
    boxes = [box for box in document["annotations"] if box["image_id"] in ids]
    return write_json(target, {**document, "images": images, "annotations": boxes}, indent=None)


def in_words(site: str, estimate: Estimate, labelled: LabelledEstimate, true: float) -> str:
    """State both estimates of a site with their intervals, then the truth, in points of 100.

    Parameters
    ----------
    site : str
        The environment.
    estimate : Estimate
        From its boxes alone.
    labelled : LabelledEstimate
        With labels.
    true : float
        mAP by all labels, in [0, 1].
    """
    free = "The boxes alone give no estimate of its mAP there: the interval would be too wide."
    if not math.isnan(estimate.value):
        ends = _interval(estimate.lower, estimate.upper, estimate.level)
        free = (
            f"From its boxes alone, its mAP there is estimated at {100 * estimate.value:.1f}{ends}."
        )
    within = {
        "the first": estimate.lower <= true <= estimate.upper,
        "the second": labelled.interval[0] <= true <= labelled.interval[1],
    }
    holding = [name for name, holds in within.items() if holds]
    words = "both intervals contain it"
    if len(holding) < 2:
        words = f"{next(iter(holding), 'neither')} of the two intervals contains it"
    return (
        f"A vehicle detector was run on {labelled.n_pool} unlabelled images of '{site}', which was "
        f"no part of the fit. {free} With labels of {labelled.n_labelled} of these images the "
        f"estimate is {100 * labelled.value:.1f}{_interval(*labelled.interval, labelled.level)}. "
        f"The labels of all images give the true mAP, {100 * true:.1f}: {words}."
    )


def _interval(lower: float, upper: float, level: float) -> str:
    if math.isnan(lower):
        return ""
    return f" ({level:.0%} interval {100 * lower:.1f} to {100 * upper:.1f})"
