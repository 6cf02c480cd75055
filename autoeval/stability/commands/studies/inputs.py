"""What studies start from: score tables, or the boxes of a pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoeval.errors import InputError
from autoeval.stability.commands.meta_set_options import named_detector, named_stages

if TYPE_CHECKING:
    import pandas as pd

    from autoeval.io.tasks.task import Task
    from autoeval.stability.commands.studies.registry import StudyRun
    from autoeval.stability.studies.kept_boxes import Observations

TARGET = {"target": "mAP"}
BY_METHOD: dict[str, Any] = {"methods": ("bos", "bos_strict", "ac", "constant"), **TARGET}
NO_NAMES, NO_NUMBERS = ("",), (0,)  # defaults of settings that are lists, where none is given
DATA = ("detector", "checkpoint", "cfg_options", "device", "task", "metaset")
PASS = {"preset": "paper", "repeats": 3, "own_images": 5000, "batch_size": 4}


def option(name: str) -> str:
    """Return an option as it is typed.

    >>> option("cfg_options")
    '--cfg-options'
    """
    return f"--{name.replace('_', '-')}"


def needed(args: Any, *names: str) -> Any:
    """Return the arguments; `InputError` where one of these is not given."""
    missing = [option(name) for name in names if not getattr(args, name)]
    if missing:
        raise InputError(f"'{args.study}' needs {' and '.join(missing)}.")
    return args


def score_table(args: Any) -> pd.DataFrame:
    """Read the score table of ``--scores``."""
    from autoeval.stability.methods.score_rows import read_scores

    return read_scores(Path(needed(args, "scores").scores))


def one_task(args: Any) -> Task:
    """Load the one task of ``--task``, over which the detector is run."""
    from autoeval.io.tasks.task import load_task

    files: Sequence[str] = needed(args, "task", "detector").task
    if len(files) > 1:
        raise InputError(f"--task: '{args.study}' takes one task but got {len(files)}.")
    return load_task(files[0], args.data_root)


def observed_boxes(run: StudyRun, task: Task, *, sample_sets: bool = False) -> Observations:
    """Run the detector over the own images of the task, and over sample sets where asked."""
    from autoeval.estimation.observation.observing import Observer
    from autoeval.stability.metasets import load_metaset_config
    from autoeval.stability.passes import presets
    from autoeval.stability.studies.kept_boxes import observe_task

    args, passes = run.args, run.passes
    # No score is computed here: what the studies need is measured anew from the kept boxes.
    settings = replace(
        presets.preset(passes["preset"], repeats=passes["repeats"], seed=args.seed, least=1),
        wants=(),
        stages=named_stages(args),
    )
    observer = Observer(
        named_detector(args).loaded, task, settings, batch_size=passes["batch_size"]
    )
    sizes = {"n_sets": args.n_sets, "n_images": args.n_images}
    return observe_task(
        observer,
        meta_set=load_metaset_config(args.metaset, **sizes) if sample_sets else None,
        own_images=passes["own_images"],
        folder=args.work_dir / "boxes",
    )
