"""Study the method on your data: each study writes a picture, a table (CSV) and a page (Markdown).

Studies of a score table take the work dir of an estimate-map run. Studies of boxes run the detector
over the data of a task, once: what --work-dir holds is not observed again.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from autoeval.commands.given_words import named_pairs
from autoeval.commands.run_options import DETECTOR_DETAILS, add_detector_options, add_work_dir
from autoeval.commands.task_options import add_metaset_option, add_task_option
from autoeval.commands.typed_options import refuse_beside
from autoeval.errors import InputError
from autoeval.stability.commands.meta_set_options import STAGES
from autoeval.stability.commands.studies.inputs import DATA, NO_NAMES, NO_NUMBERS, option
from autoeval.stability.commands.studies.registry import studies

NOTHING = (NO_NAMES, NO_NUMBERS)
TRUTHS = {"yes": True, "true": True, "no": False, "false": False}
INPUTS = (*DATA, "scores")
FACTS = {  # behind an input, which is then a default or given
    "detector": tuple(detail.name for detail in (*DETECTOR_DETAILS, STAGES)),
    "metaset": ("n_sets", "n_images"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the studies and their options."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _overview()
    parser.add_argument("study", choices=studies(), metavar="NAME", help="one of the studies below")
    parser.add_argument(
        "--set",
        nargs="+",
        action="extend",
        default=[],
        metavar="KEY=VALUE",
        help="settings of the study, such as draws=20 methods=bos,ac; each study lists its own",
    )
    parser.add_argument(
        "--scores",
        type=Path,
        metavar="PATH",
        help="the work dir of an estimate-map run or of fit, or its scores.parquet",
    )
    add_detector_options(parser, (STAGES,))
    data = parser.add_argument_group("data")
    add_task_option(
        data, "; of several, shared images are observed once", required=False, several=True
    )
    add_metaset_option(data)
    about = "for what is written, and keeps the boxes of a pass (%(default)s)"
    add_work_dir(parser, "work_dirs/studies", about)
    parser.add_argument("--seed", type=int, default=0, help="of every draw (%(default)s)")


def run(args: argparse.Namespace) -> int:
    """Make the study, print its tables and name its files."""
    from autoeval.report.text import written_files

    study = studies()[args.study]
    named = ", ".join(option(name) for name in study.inputs)
    unread = [name for name in INPUTS if name not in study.inputs]
    facts = [fact for name in unread for fact in FACTS.get(name, ())]
    refuse_beside(
        args, [*unread, *facts], f"has no use in the study '{args.study}', which takes {named}."
    )
    if "repeats" not in study.passes:
        reason = f"is about feature dropout, which the study '{args.study}' does not run."
        refuse_beside(args, [STAGES.name], reason)
    report = study.make(args, read_settings(args.set, {**study.settings, **study.passes}))
    written = report.write(args.work_dir)
    for warning in report.warnings:
        print(f"note: left out: {warning}", file=sys.stderr)
    print(f"{report.text()}\n\n{written_files(written)}")
    return 0


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


def _overview() -> str:
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
