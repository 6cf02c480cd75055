"""Study the method on your data: each study writes a picture, a table and a page."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typing_extensions import Unpack

from autoeval.api.options import check_names
from autoeval.commands.option_values import named_pairs
from autoeval.errors import InputError
from autoeval.stability.commands.meta_set_options import (
    MetaSetOptions,
    StagedDetector,
    named_detector,
    named_stages,
    refuse_options,
)
from autoeval.words import option_of

if TYPE_CHECKING:
    from autoeval.io.tasks.task import Task
    from autoeval.stability.reports.study_report import StudyReport
    from autoeval.stability.studies.kept_boxes import Observations

REPORTS = "autoeval.stability.reports"
# Defaults of settings that are lists, where none is given.
NO_NAMES = ("",)
NO_NUMBERS = (0,)
NOTHING = (NO_NAMES, NO_NUMBERS)
TRUTHS = {"yes": True, "true": True, "no": False, "false": False}
SCORES = ("scores",)
DATA = ("detector", "checkpoint", "cfg_options", "device", "task", "metaset")
FACTS = {  # behind an input, which is then a default or given
    "detector": ("classes", "network_precision", "trust_checkpoint", "stages"),
    "metaset": ("n_sets", "n_images"),
}
TARGET = {"target": "mAP"}
BY_METHOD: dict[str, Any] = {"methods": ("bos", "bos_strict", "ac", "constant"), **TARGET}
PASS = {"preset": "paper", "repeats": 3, "own_images": 5000, "batch_size": 4}


@dataclass(frozen=True)
class Study:
    """What a study asks, what it starts from, and which function makes its report.

    Parameters
    ----------
    question : str
    function : str
        ``MODULE.FUNCTION`` in `autoeval.stability.reports`, imported when the study is run: the
        list of studies is part of ``autoeval study --help``. It takes a score table or observed
        boxes.
    settings : mapping
        Keyword-only parameters of the function, but for the seed, with their defaults, whose types
        say how ``--set`` is read; an empty string is none.
    inputs : tuple of str
        Options that it takes beside ``--set``, ``--work-dir`` and ``--seed``: `SCORES`, or `DATA`,
        over which the detector is run.
    sample_sets : bool
        Whether sample sets are observed beside the own images.
    draws_images : bool
        Whether the function also takes the task, which says where the images are.
    """

    question: str
    function: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    inputs: tuple[str, ...] = SCORES
    sample_sets: bool = False
    draws_images: bool = False

    @property
    def passes(self) -> Mapping[str, Any]:
        """Settings of the pass that observes the boxes, with their defaults."""
        return PASS if self.inputs == DATA else {}

    def report_function(self) -> Callable[..., StudyReport]:
        """Import the function that makes the report."""
        module, name = self.function.split(".")
        return getattr(importlib.import_module(f"{REPORTS}.{module}"), name)


STUDIES = {
    "box-level": Study(
        "is a box that stays put a good box", "box_quality.box_level_report", inputs=DATA
    ),
    "correlation": Study(
        "R² and ρ of every score with the accuracy",
        "score_correlation.correlation_report",
        {**TARGET, "features": NO_NAMES, "most": 12},
    ),
    "examples": Study(
        "the least and the most stable images, with their boxes",
        "box_quality.examples_report",
        {"most": 4, "per_source": 1, "min_boxes": 2},
        inputs=DATA,
        draws_images=True,
    ),
    "fusion": Study(
        "does a second score help the first, beyond chance",
        "score_correlation.fusion_report",
        BY_METHOD,
    ),
    "meta-set-size": Study(
        "error by the number of sample sets",
        "errors_by_size.meta_set_size_report",
        {**BY_METHOD, "sizes": NO_NUMBERS, "draws": 20},
    ),
    "repeats": Study(
        "error by the number of dropout repeats", "errors_by_size.repeats_report", BY_METHOD
    ),
    "sample-set-size": Study(
        "error by the images in a sample set",
        "errors_by_size.sample_set_size_report",
        {**BY_METHOD, "sizes": NO_NUMBERS, "draws": 5},
        inputs=DATA,
        sample_sets=True,
    ),
    "test-set-size": Study(
        "error by the number of test images",
        "errors_by_size.test_set_size_report",
        {**BY_METHOD, "sizes": NO_NUMBERS, "draws": 10},
        inputs=DATA,
        sample_sets=True,
    ),
    "thresholds": Study(
        "R² of thresholded scores at every threshold",
        "score_correlation.thresholds_report",
        {**TARGET, "families": NO_NAMES},
    ),
}


class StudyOptions(MetaSetOptions, StagedDetector, total=False):
    """What a study starts from; and as `MetaSetOptions` and `StagedDetector`.

    Parameters
    ----------
    set : sequence of str
        Settings of the study, as KEY=VALUE such as draws=20 methods=bos,ac; each study lists its
        own.
    scores : path-like
        The work dir of an estimate-map run or of fit, or its scores.parquet.
    task : sequence of path-like
        Such as configs/tasks/vehicle.py; one alone.
    data_root : path-like
        Folder with the data of the task.
    seed : int
        Of every draw (default: 0).
    work_dir : path-like
        For what is written, and keeps the boxes of a pass (default: work_dirs/studies).
    """

    set: Sequence[str]
    scores: str
    task: Sequence[str]
    data_root: str
    seed: int
    work_dir: str


def make_study(study: str, **options: Unpack[StudyOptions]) -> None:
    """Study the method on your data: each study writes a picture, a table (CSV) and a page.

    Studies of a score table take the work dir of an estimate-map run. Studies of boxes run the
    detector over the data of a task, once: what --work-dir holds is not observed again.

    Parameters
    ----------
    study : str
        One of the studies below.
    **options
        See `StudyOptions`.
    """
    from autoeval.report.page import written_files

    if study not in STUDIES:
        raise InputError(f"Expected a study, one of {', '.join(STUDIES)}, but got '{study}'.")
    check_names(options, StudyOptions)
    if not options.get("task"):
        refuse_options(options, ["data_root"], "goes with --task: give that, too.")
    chosen = STUDIES[study]
    named = ", ".join(option_of(name) for name in chosen.inputs)
    unread = [name for name in (*DATA, *SCORES) if name not in chosen.inputs]
    facts = [fact for name in unread for fact in FACTS.get(name, ())]
    reason = f"has no use in the study '{study}', which takes {named}."
    refuse_options(options, [*unread, *facts], reason)
    if not chosen.passes:
        reason = f"is about feature dropout, which the study '{study}' does not run."
        refuse_options(options, ["stages"], reason)
    values = read_settings(options.get("set") or (), {**chosen.settings, **chosen.passes})
    folder = Path(options.get("work_dir") or "work_dirs/studies")
    report = _report(study, options, values, folder)
    written = report.write(folder)
    for warning in report.warnings:
        print(f"note: left out: {warning}", file=sys.stderr)
    print(f"{report.text()}\n\n{written_files(written)}")


def _report(
    name: str, options: StudyOptions, values: Mapping[str, Any], folder: Path
) -> StudyReport:
    """Read what a study starts from, and make its report; `folder` keeps the boxes of a pass."""
    from autoeval.io.tasks.task import load_task
    from autoeval.stability.methods.score_rows import read_scores

    study = STUDIES[name]
    make = study.report_function()
    settings = {key: values[key] for key in study.settings}
    if "seed" in inspect.signature(make).parameters:
        settings["seed"] = options.get("seed") or 0
    if study.inputs == SCORES:
        _check_given(options, name, "scores")
        return make(read_scores(Path(str(options.get("scores")))), **settings)
    _check_given(options, name, "task", "detector")
    files = options["task"]
    if len(files) > 1:
        raise InputError(f"--task: '{name}' takes one task but got {len(files)}.")
    task = load_task(files[0], options.get("data_root"))
    boxes = _observed_boxes(options, task, values, folder, sample_sets=study.sample_sets)
    return make(boxes, task, **settings) if study.draws_images else make(boxes, **settings)


def _check_given(options: Mapping[str, Any], study: str, *names: str) -> None:
    """Raise `InputError` where one of these is not given."""
    missing = [option_of(name) for name in names if not options.get(name)]
    if missing:
        raise InputError(f"'{study}' needs {' and '.join(missing)}.")


def _observed_boxes(
    options: StudyOptions,
    task: Task,
    passes: Mapping[str, Any],
    folder: Path,
    *,
    sample_sets: bool,
) -> Observations:
    """Run the detector over the own images of the task, and over sample sets where asked."""
    from autoeval.estimation.observation.observing import Observer
    from autoeval.estimation.observation.samples import ImageLoading
    from autoeval.stability.metasets import load_metaset_config
    from autoeval.stability.passes import presets
    from autoeval.stability.studies.kept_boxes import observe_task

    # No score is computed here: what the studies need is measured anew from the kept boxes.
    settings = replace(
        presets.preset(
            passes["preset"], repeats=passes["repeats"], seed=options.get("seed") or 0, least=1
        ),
        wants=(),
        stages=named_stages(options),
    )
    meta_set = load_metaset_config(
        options.get("metaset"), n_sets=options.get("n_sets"), n_images=options.get("n_images")
    )
    reading = ImageLoading(passes["batch_size"])
    observer = Observer(named_detector(options).loaded, task, settings, reading=reading)
    return observe_task(
        observer,
        meta_set=meta_set if sample_sets else None,
        own_images=passes["own_images"],
        folder=folder / "boxes",
    )


def read_settings(words: Sequence[str], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Read ``KEY=VALUE`` words by the types of the defaults; what is not given keeps its default.

    A default that is a tuple takes ``VALUE,VALUE,...``, one of a single empty value means none.

    Parameters
    ----------
    words : sequence of str
        The options ``--set``.
    defaults : mapping of str
        Of the study, with underscores.

    Raises
    ------
    InputError
        If there is no such setting, or a value is of another type.
    """
    values = dict(defaults)
    for name, text in named_pairs(words, "--set", "KEY=VALUE"):
        key = name.replace("-", "_")
        if key not in defaults:
            names = ", ".join(defaults) or "none"
            raise InputError(f"--set {name}: this study has no such setting, only {names}.")
        default = defaults[key]
        try:
            if isinstance(default, tuple):
                values[key] = tuple(type(default[0])(part) for part in text.split(","))
            elif isinstance(default, bool):
                values[key] = TRUTHS[text.lower()]
            else:
                values[key] = type(default)(text)
        except (ValueError, KeyError) as error:
            raise InputError(
                f"Expected --set {name}= as {_text(default)!r} is but got {text!r}."
            ) from error
        if type(default) is int and key not in PASS and values[key] < 1:  # a pass checks its own
            raise InputError(f"Expected --set {name}= as a number from 1 but got {text}.")
    return {
        key: () if value in NOTHING else None if value == "" else value
        for key, value in values.items()
    }


def overview() -> str:
    """List the studies with their inputs and settings."""
    lines = ["studies:"]
    for name, study in STUDIES.items():
        defaults = {**study.settings, **study.passes}
        settings = [f"{key}={_text(value)}" for key, value in defaults.items()]
        lines += [
            f"  {name}: {study.question}",
            f"      from {', '.join(option_of(taken) for taken in study.inputs)}",
            *([f"      --set {' '.join(settings)}"] if settings else []),
        ]
    return "\n".join(lines)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
