"""Study the method on your data: each study writes a picture, a table (CSV) and a page (Markdown).

Studies of a score table take the work dir of an estimate-map run. Studies of boxes run the detector
over the data of a task, once: what --work-dir holds is not observed again.
"""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoeval.commands.given_input import Detail, add_input, yes_or_no
from autoeval.commands.run_options import DETECTOR_DETAILS, add_work_dir, load_named_detector
from autoeval.commands.site_options import named_pairs, translation
from autoeval.commands.typed_options import refuse_beside
from autoeval.errors import InputError
from autoeval.published.commands.fit_change import (
    UNTOUCHED,
    add_site_options,
    observe_named_changes,
)
from autoeval.published.commands.meta_set_options import STAGES, named_stages

if TYPE_CHECKING:
    import pandas as pd

    from autoeval.report.sections import StudyReport

METHODS = ("bos", "bos_strict", "ac", "constant")
TARGET: dict[str, Any] = {"target": "mAP"}
BY_METHOD = {"methods": METHODS, **TARGET}
PASS = {"preset": "paper", "repeats": 3, "own_images": 5000, "batch_size": 4}
NOTHING = (("",), (0,))  # settings that are a list, where none is given
DATA = ("detector", "checkpoint", "cfg_options", "device", "task", "metaset")
SEVERAL = ("transfer", "places")
INPUTS = (*DATA, "scores", "fits", "sites", "labels")
FACTS = {  # behind an input, which is then a default or given
    "detector": tuple(detail.dest for detail in (*DETECTOR_DETAILS, STAGES)),
    "metaset": ("n_sets", "n_images"),
}
ROOT = "data_root="  # behind --sites TASK PREDICTIONS


@dataclass(frozen=True)
class Study:
    """What a study asks, where it is, and what it starts from.

    Parameters
    ----------
    module : str
        In `autoeval.published.reports`; the function there has the study's name.
    question : str
    settings : mapping
        Keyword-only parameters of the function, but for the seed, with their defaults.
    inputs : tuple of str
        Options that it takes beside ``--set``, ``--work-dir`` and ``--seed``.
    passes : mapping
        Settings of the pass that observes the boxes, with their defaults.
    """

    module: str
    question: str
    settings: dict[str, Any]
    inputs: tuple[str, ...] = ("scores",)
    passes: dict[str, Any] = field(default_factory=dict)

    def function(self, name: str) -> Callable[..., StudyReport]:
        """Import the function of the study."""
        module = import_module(f"autoeval.published.reports.{self.module}")
        return getattr(module, f"{name.replace('-', '_')}_report")


# Of each setting the type of its default says how it is read; an empty string is none.
STUDIES = {
    "correlation": Study(
        "score_correlation",
        "R² and ρ of every score with the accuracy",
        TARGET | {"features": ("",), "most": 12},
    ),
    "thresholds": Study(
        "score_correlation",
        "R² of thresholded scores at every threshold",
        TARGET | {"families": ("",)},
    ),
    "meta-set-size": Study(
        "errors_by_size",
        "error by the number of sample sets",
        BY_METHOD | {"sizes": (0,), "draws": 20},
    ),
    "fusion": Study(
        "score_correlation", "does a second score help the first, beyond chance", BY_METHOD
    ),
    "repeats": Study("errors_by_size", "error by the number of dropout repeats", BY_METHOD),
    "severity": Study(
        "errors_by_size", "error by severity of a corruption", BY_METHOD | {"fit_on": ""}
    ),
    "labels": Study(
        "few_labels",
        "error, coverage and width with a few labels",
        TARGET
        | {"fewest": 60, "draws": 200, "fit_on": ("",), "pseudo_labels": "", "pseudo_words": ("",)},
        ("scores", "sites", "labels"),
    ),
    "transfer": Study(
        "transfer",
        "errors at other sites and categories",
        TARGET
        | {"labelled": "", "without": ("",), "sizes": (0, 1, 2, 3, 5, 8, 12, 16), "draws": 20},
    ),
    "places": Study(
        "site_order",
        "are probabilities of the order of sites right",
        TARGET | {"draws": 40, "share": 0.5, "worst": 3},
    ),
    "regressors": Study(
        "other_regressors",
        "the default regressor compared with those of scikit-learn",
        {"draws": 2},
        ("fits",),
    ),
    "sample-set-size": Study(
        "errors_by_size",
        "error by the images in a sample set",
        BY_METHOD | {"sizes": (0,), "draws": 5},
        DATA,
        PASS,
    ),
    "test-set-size": Study(
        "errors_by_size",
        "error by the number of test images",
        BY_METHOD | {"sizes": (0,), "draws": 10},
        DATA,
        PASS,
    ),
    "box-level": Study("box_quality", "is a box that stays put a good box", {}, DATA, PASS),
    "examples": Study(
        "image_examples",
        "the least and the most stable images, with their boxes",
        {"most": 4, "per_source": 1, "min_boxes": 2},
        DATA,
        PASS,
    ),
    "changes": Study(
        "changes",
        "which changes of a site are seen, and when an alarm is raised",
        {"alpha": 0.05, "orders": 20, "calibrate": True},
        DATA,
        {"everywhere": ("",), "untouched": UNTOUCHED, "batch_size": 4},
    ),
    "compare": Study(
        "detector_comparison",
        "are differences between detectors right",
        {"draws": 20},
        ("fits", "task"),
    ),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the studies and their options."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _overview()
    parser.add_argument("study", choices=STUDIES, metavar="NAME", help="one of the studies below")
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
        nargs="+",
        metavar="PATH",
        help="work dirs of estimate-map or fit, or their scores.parquet",
    )
    parser.add_argument(
        "--fits",
        nargs="+",
        action="append",
        metavar=("NAME", "PATH"),
        help="a detector and its work dirs of estimate-map or fit (regressors), or its work dir "
        "and a folder with NAME.json for each site (compare); once for each detector",
    )
    parser.add_argument(
        "--sites",
        nargs="+",
        action="append",
        metavar=("TASK", "PREDICTIONS"),
        help="labels, in place of --scores: a task, whose sources are evaluated, and a folder with "
        f"NAME.json for each of them, behind them {ROOT} folder with its data; once for each task",
    )
    add_input(
        parser,
        "--labels",
        (
            Detail("predictions", "of that set", "labels_predictions"),
            Detail("img_dir", "its images, where needed", "labels_img_dir"),
            Detail("group", "its origin, if sites share it", "labels_group"),
        ),
        metavar="PATH",
        help="labels, with --sites: the labelled set that is fitted on",
    )
    add_site_options(parser, required=False)
    about = "for what is written, and keeps the boxes of a pass (%(default)s)"
    add_work_dir(parser, "work_dirs/studies", about)
    parser.add_argument("--seed", type=int, default=0, help="of every draw (%(default)s)")


def run(args: argparse.Namespace) -> int:
    """Make the study, print its tables and name its files."""
    from autoeval.report.terminal import written_files

    study = STUDIES[args.study]
    named = ", ".join(_option(name) for name in study.inputs)
    unread = [name for name in INPUTS if name not in study.inputs]
    facts = [fact for name in unread for fact in FACTS.get(name, ())]
    refuse_beside(
        args, [*unread, *facts], f"has no use in the study '{args.study}', which takes {named}."
    )
    report = _report(args, study)
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
            known = ", ".join(defaults) or "none"
            raise InputError(f"--set {name}: this study has no such setting, only {known}.")
        default = defaults[key]
        try:
            if isinstance(default, tuple):
                values[key] = tuple(type(default[0])(part) for part in text.split(","))
            elif isinstance(default, bool):
                values[key] = yes_or_no(text)
            else:
                values[key] = type(default)(text)
        except ValueError as error:
            raise InputError(f"--set {name}={text}: {error}.") from error
    return {
        key: () if value in NOTHING else None if value == "" else value
        for key, value in values.items()
    }


def _overview() -> str:
    """List the studies with their inputs and settings."""
    lines = ["studies:"]
    for name, study in STUDIES.items():
        settings = [
            f"{key}={_text(value)}" for key, value in (study.settings | study.passes).items()
        ]
        lines += [
            f"  {name}: {study.question}",
            f"      from {', '.join(_option(option) for option in study.inputs)}",
            *([f"      --set {' '.join(settings)}"] if settings else []),
        ]
    return "\n".join(lines)


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _report(args: argparse.Namespace, study: Study) -> StudyReport:
    """Call the study with what it starts from and its settings."""
    import pandas as pd

    from autoeval.published.methods.score_rows import read_scores

    make = study.function(args.study)
    every = read_settings(args.set, {**study.settings, **study.passes})
    settings = {name: every[name] for name in study.settings}
    if "seed" in inspect.signature(make).parameters:
        settings["seed"] = args.seed
    elif not study.passes:
        refuse_beside(
            args, ["seed"], f"has no use in the study '{args.study}', which draws nothing."
        )
    if args.study == "labels":
        return _few_labels(args, make, settings)
    if args.study == "changes":
        passes = {name: every[name] for name in study.passes}
        return make(*observe_named_changes(_needed(args, "task", "detector"), **passes), **settings)
    if args.study == "compare":
        return make(*_detectors(_needed(args, "fits", "task")), **settings)
    if args.study == "regressors":
        return make(_tables(_needed(args, "fits").fits), **settings)
    if study.passes:
        passes = {name: every[name] for name in study.passes}
        return make(*_observe(_needed(args, "task", "detector"), **passes), **settings)
    paths = _needed(args, "scores").scores
    if args.study in SEVERAL:
        tables = [_pairs(path) for path in paths]
        given = tables if args.study == "places" else pd.concat(tables, ignore_index=True)
        return make(given, **settings)
    if args.study == "severity" and settings["fit_on"]:
        settings["fit_on"] = read_scores(Path(settings["fit_on"]))
    if len(paths) > 1:
        raise InputError(f"--scores: '{args.study}' takes one score table but got {len(paths)}.")
    return make(read_scores(paths[0]), **settings)


def _needed(args: argparse.Namespace, *names: str) -> argparse.Namespace:
    """Return the arguments; `InputError` where one of these is not given."""
    lost = [_option(name) for name in names if not getattr(args, name)]
    if lost:
        raise InputError(f"'{args.study}' needs {' and '.join(lost)}.")
    return args


def _few_labels(
    args: argparse.Namespace, make: Callable[..., StudyReport], settings: dict[str, Any]
) -> StudyReport:
    """Make the study of few labels, from score tables or from prediction files."""
    if bool(args.scores) == bool(args.sites):
        raise InputError("Expected either --scores PATH, or --sites TASK PREDICTIONS.")
    target, fit_on = settings.pop("target"), settings.pop("fit_on")
    if not args.sites:
        if args.labels or fit_on or target != TARGET["target"]:
            raise InputError("--labels and --set fit_on=, target= go with --sites.")
        settings["pseudo_words"] = translation(settings["pseudo_words"], "--set pseudo_words=")
        first, *also = args.scores
        return make(first, also=also, **settings)
    from autoeval.published.reports.few_labels import labels_from_files_report

    if any([settings.pop(name) for name in ("pseudo_labels", "pseudo_words")]):
        raise InputError("--set pseudo_labels= and pseudo_words= go with --scores.")
    labelled, sites = _labelled_files(args, fit_on)
    return labels_from_files_report(labelled, sites, target=target, **settings)


def _tables(named: list[list[str]]) -> dict[str, pd.DataFrame]:
    """Read the score tables of each detector: ``[[NAME, PATH, ...], ...]``."""
    import pandas as pd

    alone = [words[0] for words in named if len(words) < 2]
    if alone:
        raise InputError(
            f"--fits {alone[0]}: expected NAME PATH..., its work dirs behind its name."
        )
    return {
        name: pd.concat([_pairs(Path(path)) for path in paths], ignore_index=True)
        for name, *paths in named
    }


def _detectors(args: argparse.Namespace) -> tuple[dict[str, Any], dict[str, Any]]:
    """Load each detector's fit, and read its predictions of the sources of the task."""
    from autoeval.api import load_estimator

    if any(len(words) != 3 for words in args.fits):
        raise InputError("'compare' needs --fits NAME WORK_DIR PREDICTIONS of each detector.")
    (task,) = args.task
    fits = {name: load_estimator(folder) for name, folder, _ in args.fits}
    return fits, {name: _sites(task, folder, args.data_root) for name, _, folder in args.fits}


def _named_sites(words: list[str]) -> list[Any]:
    """Read the sources of ``--sites TASK PREDICTIONS [data_root=DIR]``."""
    task, folder, root = [*words, "", ""][:3]
    if not folder or len(words) > 3 or (root and not root.startswith(ROOT)):
        raise InputError(
            f"Expected --sites TASK PREDICTIONS [{ROOT}DIR] but got {' '.join(words)!r}."
        )
    return _sites(task, folder, root.removeprefix(ROOT) or None)


def _sites(task: str, folder: str, data_root: str | None) -> list[Any]:
    """Read the sources of a task with their predictions."""
    from autoeval.data.predictions.reading import files_by_place
    from autoeval.data.tasks.task import load_task
    from autoeval.estimation.given_boxes import Predictions
    from autoeval.estimation.labelled_files import task_with_files

    files = {name: Predictions(of) for name, of in files_by_place(Path(folder)).items()}
    return task_with_files(load_task(task, data_root), files)


def _labelled_files(args: argparse.Namespace, fit_on: Sequence[str]) -> tuple[list[Any], list[Any]]:
    """Read the labelled sets that are fitted on, and the sites, with their predictions."""
    from autoeval.estimation.given_boxes import Predictions
    from autoeval.estimation.labelled_files import labels_with_files

    if bool(args.labels) == bool(fit_on):
        raise InputError(
            "Expected with --sites either --labels LABELS predictions=FILE or --set fit_on=NAME."
        )
    sites = [site for words in args.sites for site in _named_sites(words)]
    if args.labels:
        if not args.labels_predictions:
            raise InputError("--labels needs predictions=FILE behind it: what was found there.")
        files = Predictions(args.labels_predictions)
        origin = {"img_dir": args.labels_img_dir, "group": args.labels_group}
        return [labels_with_files(args.labels, files, **origin)], sites
    by_name = {site.name: site for site in sites}
    unknown = [name for name in fit_on if name not in by_name]
    if unknown:
        raise InputError(f"--set fit_on=: no site {', '.join(unknown)}, only {', '.join(by_name)}.")
    return [by_name[name] for name in fit_on], sites


def _pairs(path: Path) -> pd.DataFrame:
    """Read a score table that has the scores of the default method."""
    from autoeval.features.calibrated_features import FEATURES
    from autoeval.published.methods.score_rows import read_scores

    table = read_scores(path)
    missing = set(FEATURES) - {str(name).partition("/")[0] for name in table}
    if missing:
        raise InputError(
            f"{path} lacks the scores {', '.join(sorted(missing))}, which the default method "
            "reads: it was made by another version. Fit it again."
        )
    return table


def _observe(
    args: argparse.Namespace, *, preset: str, repeats: int, own_images: int, batch_size: int
) -> tuple[Any, ...]:
    """Run the detector over the task; the examples also need to know where the images lie."""
    from autoeval.data.tasks.task import load_task
    from autoeval.estimation.observation.observing import Observer
    from autoeval.published.metasets import load_metaset_config
    from autoeval.published.passes import presets
    from autoeval.published.studies.kept_boxes import observe_task

    if len(args.task) > 1:
        raise InputError(f"--task: '{args.study}' takes one task but got {len(args.task)}.")
    task = load_task(args.task[0], args.data_root)
    sizes = {"n_sets": args.n_sets, "n_images": args.n_images}
    with_samples = args.study.endswith("-size")
    passes = presets.preset(preset, repeats=repeats, seed=args.seed, least=1)
    passes = replace(passes, wants=(), stages=named_stages(args))
    observations = observe_task(
        Observer(load_named_detector(args), task, passes, batch_size=batch_size),
        meta_set=load_metaset_config(args.metaset, **sizes) if with_samples else None,
        own_images=own_images,
        folder=args.work_dir / "boxes",
    )
    return (observations, task) if args.study == "examples" else (observations,)
