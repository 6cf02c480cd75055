"""Study the method on your data: each study writes a picture, a table and a page."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from typing_extensions import Unpack

from autoeval.commands.given_words import named_pairs
from autoeval.errors import InputError
from autoeval.stability.commands.meta_set_options import (
    MetaSetOptions,
    StagedDetector,
    arguments_of,
    refuse_beside,
)
from autoeval.stability.commands.studies.inputs import DATA, NO_NAMES, NO_NUMBERS, option
from autoeval.stability.commands.studies.registry import studies

NOTHING = (NO_NAMES, NO_NUMBERS)
TRUTHS = {"yes": True, "true": True, "no": False, "false": False}
INPUTS = (*DATA, "scores")
FACTS = {  # behind an input, which is then a default or given
    "detector": ("classes", "network_precision", "trust_checkpoint", "stages"),
    "metaset": ("n_sets", "n_images"),
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
        Such as configs/tasks/vehicle.py; of several, shared images are observed once.
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
    from autoeval.report.text import written_files

    if study not in studies():
        raise InputError(f"Expected a study, one of {', '.join(studies())}, but got '{study}'.")
    args = arguments_of(options, StudyOptions, seed=0, work_dir="work_dirs/studies")
    args.study, args.work_dir = study, Path(args.work_dir)
    if not args.task:
        refuse_beside(args, ["data_root"], "goes with --task: give that, too.")
    chosen = studies()[study]
    named = ", ".join(option(name) for name in chosen.inputs)
    unread = [name for name in INPUTS if name not in chosen.inputs]
    facts = [fact for name in unread for fact in FACTS.get(name, ())]
    reason = f"has no use in the study '{study}', which takes {named}."
    refuse_beside(args, [*unread, *facts], reason)
    if "repeats" not in chosen.passes:
        reason = f"is about feature dropout, which the study '{study}' does not run."
        refuse_beside(args, ["stages"], reason)
    report = chosen.make(args, read_settings(args.set or (), {**chosen.settings, **chosen.passes}))
    written = report.write(args.work_dir)
    for warning in report.warnings:
        print(f"note: left out: {warning}", file=sys.stderr)
    print(f"{report.text()}\n\n{written_files(written)}")


def read_settings(words: Sequence[str], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Read ``KEY=VALUE`` words by the types of the defaults; what is not given keeps its default.

    A default that is a tuple takes ``VALUE,VALUE,...``, one of a single empty value means none.
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
    return {
        key: () if value in NOTHING else None if value == "" else value
        for key, value in values.items()
    }


def overview() -> str:
    """List the studies with their inputs and settings."""
    lines = ["studies:"]
    for name, study in studies().items():
        settings = [
            f"{key}={_text(value)}" for key, value in {**study.settings, **study.passes}.items()
        ]
        lines += [
            f"  {name}: {study.question}",
            f"      from {', '.join(option(taken) for taken in study.inputs)}",
            *([f"      --set {' '.join(settings)}"] if settings else []),
        ]
    return "\n".join(lines)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
