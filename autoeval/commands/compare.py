"""Compare detectors on the same images: which is better here, by how much, how certainly.

Each is named by the work dir of its fit (`autoeval fit`), best on the same labelled set. Without
labels the difference is estimated; a few labels make it certain. With --max-loss the first
detector is a candidate: status 0 is passed, 3 failed, 4 undecided.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoeval.commands import execution_options, given_words, run_options, site_options
from autoeval.commands.given_words import accuracy_in_points
from autoeval.commands.next_step import after_compare
from autoeval.commands.site_options import OF_A_RUN
from autoeval.commands.typed_options import refuse_beside
from autoeval.errors import InputError
from autoeval.targets import MEASURES, named_target

if TYPE_CHECKING:
    from autoeval.comparison.comparison import Comparison
    from autoeval.comparison.gate import Gate

STATUS = {"passed": 0, "failed": 3, "undecided": 4}  # of a gate
NOT_FILES = "-"
RARE = (
    *("reference", "score_thr", "level", "seed", "present"),
    *("max_loss", "undecided", "markdown", "batch_size", "launcher"),
)
TRAINED_HERE, KNOWN = "trained_here", "known"
FACTS = ("names", "columns", "numbering")  # of a file of predictions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "detectors",
        nargs="+",
        metavar="[NAME=]WORK_DIR",
        help="the fit of each detector; trained_here=yes behind it: trained on images like the "
        "labelled ones; known=POINTS: its accuracy here, of 100",
    )
    site_options.add_image_options(
        parser, "compare on; with --predictions a list of them, a COCO JSON or a folder"
    )
    parser.add_argument(
        "--predictions",
        nargs="+",
        default=(),
        metavar="PATH",
        help="boxes of each detector on these images, in the same order, each with names=, "
        "columns= or numbering= behind it, as in `estimate`; - for one that is run",
    )
    run_options.add_reference_options(parser)
    site_options.add_category_option(parser)
    site_options.add_target_options(parser)
    site_options.add_labels_options(parser.add_argument_group("labels of some images"))
    parser.add_argument("--level", type=float, default=0.9, help="of intervals (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of every draw (%(default)s)")
    parser.add_argument(
        "--max-loss",
        type=float,
        metavar="POINTS",
        help="release gate: the first detector may be worse than each other one by so many points; "
        "status 0 where the interval excludes a larger loss, 3 where it excludes a smaller one, "
        "else 4",
    )
    parser.add_argument(
        "--undecided",
        choices=("pass", "fail"),
        help="how an undecided gate ends: with status 0 or 3, not 4",
    )
    parser.add_argument(
        "--markdown",
        type=Path,
        metavar="FILE",
        help="write the differences with their intervals for the summary of a pull request",
    )
    run_options.add_run_options(parser, "work_dirs/compare")


def run(args: argparse.Namespace) -> int:
    """Compare, print, and write the page."""
    from autoeval.api import compare, named_estimators
    from autoeval.comparison.gate import check_max_loss

    args.predictions, facts = _with_facts(args.predictions)
    by_files = bool(args.predictions) and NOT_FILES not in args.predictions
    _refuse_unread(args, by_files=by_files)
    if args.max_loss is not None:
        check_max_loss(args.max_loss / 100)
    elif args.undecided:
        raise InputError("--undecided is about a gate: give --max-loss, too, or leave it out.")
    named, behind = _behind(args.detectors)
    fits = named_estimators(_named(named))
    result = compare(
        fits,
        _boxes(args, fits, facts),
        images=args.images if by_files else site_options.named_images(args),
        labels=args.labels,
        img_dir=args.label_images,
        words=args.words,
        categories=given_words.named_categories(args.category),
        present=args.present,
        target=args.target and named_target(args.target, args.score_thr, args.iou),
        level=args.level,
        seed=args.seed,
        keep=_keeping(args, fits),
        trained_here=[
            name for name, facts in zip(fits, behind, strict=True) if facts.get(TRAINED_HERE)
        ],
        known={
            name: facts[KNOWN] for name, facts in zip(fits, behind, strict=True) if KNOWN in facts
        },
    )
    # after what can fail: pages take a second to load
    from autoeval.report.terminal import next_command, print_report
    from autoeval.results.comparison import comparison_report
    from autoeval.results.estimate.about import about

    gate = None if args.max_loss is None else result.gate(args.max_loss / 100, next(iter(fits)))
    step = after_compare(args, fits, result, gate) if by_files else ""
    given = about(
        args.command_line,
        detectors=", ".join(args.detectors),
        images=args.images,
        predictions=", ".join(map(str, args.predictions)),
        labels=args.labels,
    )
    print_report(
        comparison_report(result, given, gate),
        args.work_dir,
        as_json=args.json,
        verbose=args.verbose,
        more=lambda: _markdown(args, result, gate),
        next_step=next_command("images to label", step),
    )
    return 0 if gate is None else _status(gate, args.undecided)


def _status(gate: Gate, undecided: str | None) -> int:
    """Return the status of the command; `undecided` is how an undecided gate ends."""
    if gate.outcome == "undecided" and undecided:
        return STATUS["passed" if undecided == "pass" else "failed"]
    return STATUS[gate.outcome]


def _markdown(args: argparse.Namespace, result: Comparison, gate: Gate | None) -> list[Path]:
    """Write the summary in Markdown where it is wanted; return its file."""
    if args.markdown is None:
        return []
    from autoeval.results.comparison_markdown import comparison_markdown
    from autoeval.runtime.files import write_text

    write_text(args.markdown, comparison_markdown(result, gate))
    return [args.markdown]


def _refuse_unread(args: argparse.Namespace, *, by_files: bool) -> None:
    """Refuse options that a comparison would not read; `by_files` is whether no detector is run."""
    if not args.images and not args.predictions:
        raise InputError("Expected --images PATH, or --predictions of each detector.")
    if by_files:
        refuse_beside(
            args,
            OF_A_RUN,
            "is for images that a detector is run on. With --predictions of every detector "
            "--images only lists the images: leave it out, or put - in place of the predictions of "
            "a detector to run.",
        )
    if args.target not in MEASURES:
        refuse_beside(
            args,
            ["score_thr"],
            f"is for a comparison by --target {', '.join(MEASURES)}, but it is by "
            f"{args.target or 'the target of the fits'}: name one of these, or leave it out.",
        )


def _behind(texts: list[str]) -> tuple[list[str], list[dict[str, Any]]]:
    """Take what is said of each detector from behind it: ``trained_here=yes``, ``known=31.2``."""
    given, behind = list[str](), list[dict[str, Any]]()
    for text in texts:
        name, _, value = text.partition("=")
        if name not in (TRAINED_HERE, KNOWN):
            given.append(text)
            behind.append({})
            continue
        if not given:
            raise InputError(f"Expected {text} behind the WORK_DIR of a detector.")
        behind[-1][name] = _said(name, value)
    return given, behind


def _said(name: str, value: str) -> bool | float:
    """Read the value of a word behind a detector."""
    if name == TRAINED_HERE:
        if value not in ("yes", "no"):
            raise InputError(f"Expected {TRAINED_HERE}=yes or =no but got {name}={value}.")
        return value == "yes"
    return accuracy_in_points(value, KNOWN)


def _named(texts: list[str]) -> Any:
    """Read ``NAME=DIR``; names of all or of none."""
    pairs = [text.partition("=") for text in texts]
    named = {
        name: path for name, sep, path in pairs if sep and not Path(name + sep + path).exists()
    }
    if not named:
        return texts
    if len(named) < len(texts):
        raise InputError("Expected NAME=WORK_DIR of every detector, each name once, or of none.")
    return named


def _with_facts(words: Sequence[str]) -> tuple[list[str], list[dict[str, Any]]]:
    """Tell files of predictions from what is said of each behind it."""
    paths, facts = list[str](), list[dict[str, Any]]()
    for word in words:
        name, sign, value = word.partition("=")
        if not (paths and sign and name in FACTS) or Path(word).exists():
            paths.append(word)
            facts.append({})
        else:
            facts[-1][name] = value.split(",") if name == "columns" else value
    return paths, facts


def _boxes(
    args: argparse.Namespace, fits: dict[str, Any], facts: Sequence[Mapping[str, Any]]
) -> list[Any]:
    """Return the file of each detector with its facts, or the detector as it was fitted."""
    from autoeval.detectors.detector_spec import DetectorSpec
    from autoeval.estimation.given_boxes import Detector, Predictions
    from autoeval.model.reference_features import REFERENCE_AP

    boxes: list[Any] = [
        None if path == NOT_FILES else Predictions(path, **said)
        for path, said in zip(args.predictions, facts, strict=True)
    ] or [None] * len(fits)
    if args.reference:  # that of the fits with one; where none has, each refuses it
        with_one = [REFERENCE_AP in fitted.table_ for fitted in fits.values()]
        given = with_one if any(with_one) else [True] * len(fits)
        names = args.reference_names or {}
        boxes = [
            replace(files, reference=args.reference, reference_names=names)
            if files and to
            else files
            for files, to in zip(boxes, [*given, *[False] * len(boxes)], strict=False)
        ]
    for k, fitted in enumerate(fits.values()):
        if k < len(boxes) and boxes[k] is None and fitted.loading_:
            spec = DetectorSpec.from_dict(fitted.loading_["detector"])
            reference = run_options.named_reference(args)
            boxes[k] = Detector(spec, reference=reference, batch_size=args.batch_size)
    return boxes


def _keeping(args: argparse.Namespace, fits: dict[str, Any]) -> dict[str, Any]:
    from autoeval.detectors.detector_spec import DetectorSpec
    from autoeval.estimation.observation.kept_observer import Keeping

    executor = execution_options.make_executor(args)
    files = args.predictions or [NOT_FILES] * len(fits)
    return {
        name: Keeping(
            args.work_dir / name.replace("/", "_"),
            executor,
            DetectorSpec.from_dict(fitted.loading_["detector"]),
        )
        for (name, fitted), path in zip(fits.items(), files, strict=False)
        if fitted.loading_ and path == NOT_FILES
    }
