"""Study the method on your data: each study writes a picture, a table (CSV) and a page (Markdown).

Studies of a score table take the work dir of an estimate-map run. Studies of boxes run the detector
over the data of a task, once: what --work-dir holds is not observed again.
"""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoeval.commands.fit_change import add_change_options, observe_named_changes
from autoeval.commands.meta_set_options import PRESET_NAMES, add_data_options
from autoeval.commands.run_options import add_detector_options, add_work_dir, load_named_detector
from autoeval.commands.site_options import add_pseudo_label_options, translation
from autoeval.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from autoeval.report.sections import StudyReport

SCORES = {
    "correlation": ("score_correlation", "R² and ρ of every score with the accuracy"),
    "thresholds": ("score_correlation", "R² of thresholded scores at every threshold"),
    "meta-set-size": ("errors_by_size", "error by the number of sample sets"),
    "fusion": ("score_correlation", "does a second score help the first, beyond chance"),
    "repeats": ("errors_by_size", "error by the number of dropout repeats"),
    "severity": ("errors_by_size", "error by severity of a corruption"),
    "labels": ("few_labels", "error, coverage and width with a few labels"),
    "transfer": ("transfer", "errors at other sites and categories"),
    "places": ("site_order", "are probabilities of the order of sites right"),
    "regressors": ("other_regressors", "the default regressor compared with those of scikit-learn"),
}
BOXES = {
    "sample-set-size": ("errors_by_size", "error by the images in a sample set"),
    "test-set-size": ("errors_by_size", "error by the number of test images"),
    "box-level": ("box_quality", "is a box that stays put a good box"),
    "examples": ("image_examples", "the least and the most stable images, with their boxes"),
}
COMPARISONS = {"compare": ("detector_comparison", "are differences between detectors right")}
CHANGES = {"changes": ("changes", "which changes of a site are seen, and when an alarm is raised")}
"""Name of a study: its file in `autoeval.research.reports`, and its question."""

STUDIES = {**SCORES, **BOXES, **CHANGES, **COMPARISONS}
SEVERAL = ("transfer", "places")
OF_DETECTORS = ("regressors",)
NUMBERS: dict[str, dict[str, tuple[float, str]]] = {
    "box-level": {},
    "changes": {"alpha": (0.05, "rate of false alarms"), "orders": (20, "of each site's images")},
    "compare": {"draws": (20, "of labels")},
    "correlation": {"most": (12, "scores drawn")},
    "examples": {
        "most": (4, "of either kind"),
        "per-source": (1, ""),
        "min-boxes": (2, "that an image has, at least"),
    },
    "labels": {"draws": (200, "of each size"), "fewest": (60, "images of an evaluated site")},
    "meta-set-size": {"draws": (20, "")},
    "places": {
        "draws": (40, "of groups"),
        "share": (0.5, "left out"),
        "worst": (3, "how many to name"),
    },
    "regressors": {"draws": (2, "of few groups")},
    "sample-set-size": {"draws": (5, "")},
    "test-set-size": {"draws": (10, "")},
    "transfer": {"draws": (20, "")},
}
"""Options of a study that are numbers: the default and the meaning of each."""
SIZES = {
    "meta-set-size": (),
    "sample-set-size": (),
    "test-set-size": (),
    "transfer": (0, 1, 2, 3, 5, 8, 12, 16),
}
WITHOUT_TARGET = (*CHANGES, *COMPARISONS, *OF_DETECTORS, "box-level", "examples", "labels")
WITHOUT_METHODS = ("correlation", "places", "thresholds", "transfer")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the studies and their options."""
    studies = parser.add_subparsers(dest="study", required=True, metavar="NAME", title="studies")
    for name, (_, text) in STUDIES.items():
        study = studies.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        if name in OF_DETECTORS:
            _add_tables(study)
        elif name in SCORES:
            _add_scores(study, several=name in SEVERAL, required=name != "labels")
        elif name in CHANGES:
            add_change_options(study)
        elif name in COMPARISONS:
            _add_detectors(study)
        else:
            _add_pass(study)
        _add_own_options(study, name)
        if name not in CHANGES:  # has one
            about = "for what is written, and keeps the boxes of a pass (%(default)s)"
            add_work_dir(study, "work_dirs/studies", about)
        study.add_argument("--seed", type=int, default=0, help="of every draw (%(default)s)")


def run(args: argparse.Namespace) -> int:
    """Make the study, print its tables and name its files."""
    from autoeval.report.sections import written_files

    report = _report(args)
    written = report.write(args.work_dir)
    for warning in report.warnings:
        print(f"note: left out: {warning}", file=sys.stderr)
    print(f"{report.text()}\n\n{written_files(written)}")
    return 0


def _report(args: argparse.Namespace) -> StudyReport:
    """Call the study with what it starts from, and the options named as its parameters."""
    import pandas as pd

    from autoeval.estimation.score_table import read_scores

    module = import_module(f"autoeval.research.reports.{STUDIES[args.study][0]}")
    make = getattr(module, f"{args.study.replace('-', '_')}_report")
    given: Sequence[Any]
    without_option: tuple[str, ...] = ()
    if args.study in CHANGES:
        given = observe_named_changes(args)
    elif args.study in COMPARISONS:
        given = _detectors(args)
    elif args.study in BOXES:
        given = _observe(args)
    elif args.study in OF_DETECTORS:
        given = [_tables(args.of)]
    elif args.study in SEVERAL:
        tables = [_pairs(path) for path in args.scores]
        given = [tables if args.study == "places" else pd.concat(tables, ignore_index=True)]
    elif args.study == "labels":
        if bool(args.scores) == bool(args.sites):
            raise InputError("Expected either --scores PATH, or --sites TASK PREDICTIONS.")
        if args.sites:
            make, given = module.labels_from_files_report, _labelled_files(args)
            without_option = ("name", "sizes")
        elif args.labels or args.fit_on:
            raise InputError("--labels and --fit-on go with --sites.")
        else:
            args.pseudo_words = translation(args.pseudo_words, "--pseudo-words")
            given = [args.scores]
    else:
        if args.study == "severity" and args.fit_on:
            args.fit_on = read_scores(args.fit_on)
        given = [read_scores(args.scores)]
    named = inspect.signature(make).parameters.values()
    options = {
        p.name: getattr(args, p.name)
        for p in named
        if p.kind is p.KEYWORD_ONLY and p.name not in without_option
    }
    return make(*given, **options)


def _tables(named: list[list[str]]) -> dict[str, pd.DataFrame]:
    """Read the score tables of each detector: ``[[NAME, PATH, ...], ...]``."""
    import pandas as pd

    alone = [words[0] for words in named if len(words) < 2]
    if alone:
        raise InputError(f"--of {alone[0]}: expected NAME PATH..., its work dirs behind its name.")
    return {
        name: pd.concat([_pairs(Path(path)) for path in paths], ignore_index=True)
        for name, *paths in named
    }


def _detectors(args: argparse.Namespace) -> tuple[dict[str, Any], dict[str, Any]]:
    """Load each detector's fit, and read its predictions of the sources of the task."""
    from autoeval.api import load_estimator

    fits = {name: load_estimator(folder) for name, folder, _ in args.of}
    return fits, {name: _sites(args, args.task, folder) for name, _, folder in args.of}


def _sites(args: argparse.Namespace, task: str, folder: str) -> list[Any]:
    """Read the sources of a task with their predictions."""
    from autoeval.data.predictions.reading import files_by_place
    from autoeval.estimation.site_boxes import PredictionFiles
    from autoeval.estimation.training_set import task_with_files
    from autoeval.metasets.task import load_task

    files = {name: PredictionFiles(of) for name, of in files_by_place(Path(folder)).items()}
    return task_with_files(load_task(task, args.data_root), files)


def _labelled_files(args: argparse.Namespace) -> tuple[list[Any], list[Any]]:
    """Read the labelled sets that are fitted on, and the sites, with their predictions."""
    from autoeval.estimation.site_boxes import PredictionFiles
    from autoeval.estimation.training_set import labels_with_files

    if bool(args.labels) == bool(args.fit_on):
        raise InputError("Expected with --sites either --labels LABELS PREDICTIONS or --fit-on.")
    sites = [site for named in args.sites for site in _sites(args, *named)]
    if args.labels:
        labels, predictions = args.labels
        origin = {"img_dir": args.img_dir, "family": args.family}
        return [labels_with_files(labels, PredictionFiles(predictions), **origin)], sites
    by_name = {site.name: site for site in sites}
    unknown = [name for name in args.fit_on if name not in by_name]
    if unknown:
        raise InputError(f"--fit-on: no site {', '.join(unknown)}, only {', '.join(by_name)}.")
    return [by_name[name] for name in args.fit_on], sites


def _add_detectors(study: argparse.ArgumentParser) -> None:
    study.add_argument("--task", required=True, metavar="FILE", help="names the labelled sites")
    study.add_argument("--data-root", metavar="DIR", help="folder with the data of the task")
    study.add_argument(
        "--of",
        nargs=3,
        action="append",
        required=True,
        metavar=("NAME", "WORK_DIR", "PREDICTIONS"),
        help="a detector: its name, its fit, and a folder with NAME.json for each site; given for "
        "two detectors or more",
    )


def _pairs(path: Path) -> pd.DataFrame:
    """Read a score table that has the scores of the default method."""
    from autoeval.estimation.pair_table import FEATURES
    from autoeval.estimation.score_table import read_scores

    table = read_scores(path)
    missing = set(FEATURES) - {str(name).partition("/")[0] for name in table}
    if missing:
        raise InputError(
            f"{path} lacks the scores {', '.join(sorted(missing))}, which the default method "
            "reads: it was made by another version. Fit it again."
        )
    return table


def _observe(args: argparse.Namespace) -> tuple[Any, ...]:
    """Run the detector over the task; the examples also need to know where the images lie."""
    from autoeval.estimation.observation.observing import Observer
    from autoeval.estimation.observation.presets import preset
    from autoeval.metasets import load_metaset_config, load_task
    from autoeval.research.studies.kept_boxes import observe_task

    task = load_task(args.task, args.data_root)
    sizes = {"n_sets": args.n_sets, "n_images": args.n_images}
    with_samples = args.study.endswith("-size")
    passes = preset(args.preset, repeats=args.repeats, seed=args.seed, least=1)
    observations = observe_task(
        Observer(
            load_named_detector(args), task, replace(passes, wants=()), batch_size=args.batch_size
        ),
        meta_set=load_metaset_config(args.metaset, **sizes) if with_samples else None,
        own_images=args.own_images,
        folder=args.work_dir / "boxes",
    )
    return (observations, task) if args.study == "examples" else (observations,)


def _add_scores(study: argparse.ArgumentParser, *, several: bool, required: bool = True) -> None:
    study.add_argument(
        "--scores",
        type=Path,
        required=required,
        metavar="PATH",
        nargs="+" if several else None,
        help="work dir of estimate-map or fit, or its scores.parquet",
    )


def _add_tables(study: argparse.ArgumentParser) -> None:
    study.add_argument(
        "--of",
        action="append",
        required=True,
        nargs="+",
        metavar=("NAME", "PATH"),
        help="a detector and its work dirs of estimate-map or fit; once for each detector",
    )


def _add_pass(study: argparse.ArgumentParser) -> None:
    add_detector_options(study)
    add_data_options(study)
    study.add_argument(
        "--own-images", type=int, default=5000, metavar="N", help="of each source, at most"
    )
    study.add_argument("--preset", default="paper", choices=PRESET_NAMES)
    study.add_argument("--repeats", type=int, default=3, help="dropout seeds (%(default)s)")
    study.add_argument("--batch-size", type=int, default=4, help="changes no number")


def _add_own_options(study: argparse.ArgumentParser, name: str) -> None:
    for option, (default, text) in NUMBERS.get(name, {}).items():
        meaning = f"{text} (%(default)s)".strip()
        study.add_argument(f"--{option}", type=type(default), default=default, help=meaning)
    if name in SIZES:
        study.add_argument("--sizes", type=int, nargs="+", default=SIZES[name], metavar="N")
    if name == "labels":
        _add_label_options(study)
    if name in WITHOUT_TARGET:
        return
    study.add_argument("--target", default="mAP", help="column of the accuracy (%(default)s)")
    if name == "transfer":
        study.add_argument("--labelled", metavar="NAME", help="labelled set to go with the sites")
        study.add_argument(
            "--without", nargs="+", default=(), metavar="CATEGORY", help="left out of it once"
        )
    elif name == "correlation":
        study.add_argument("--features", nargs="+", default=(), metavar="COLUMN")
    elif name == "thresholds":
        study.add_argument("--families", nargs="+", default=(), metavar="NAME", help="such as ps")
    elif name == "severity":
        study.add_argument(
            "--fit-on", type=Path, metavar="PATH", help="another score table to fit on"
        )
    if name not in WITHOUT_METHODS:
        methods = ("bos", "bos_strict", "ac", "constant")
        study.add_argument("--methods", nargs="+", default=methods, metavar="NAME")


def _add_label_options(study: argparse.ArgumentParser) -> None:
    study.add_argument(
        "--also", type=Path, nargs="+", default=(), metavar="PATH", help="more tasks' score tables"
    )
    add_pseudo_label_options(study, "a folder with SOURCE.json in COCO")
    files = study.add_argument_group("in place of --scores, prediction files of any detector")
    files.add_argument(
        "--sites",
        nargs=2,
        action="append",
        metavar=("TASK", "PREDICTIONS"),
        help="a task, whose sources are evaluated, and a folder with NAME.json for each of them; "
        "may be given several times",
    )
    files.add_argument("--data-root", metavar="DIR", help="folder with the data of the tasks")
    files.add_argument(
        "--labels",
        nargs=2,
        metavar=("LABELS", "PREDICTIONS"),
        help="a labelled set and its predictions: all that is fitted on",
    )
    files.add_argument("--img-dir", metavar="DIR", help="images of --labels, where needed")
    files.add_argument("--family", metavar="NAME", help="origin of --labels, if sites share it")
    files.add_argument(
        "--fit-on", nargs="+", default=(), metavar="NAME", help="instead: sites, each alone in turn"
    )
    files.add_argument("--target", default="mAP", help="or such as recall@0.3 (%(default)s)")
