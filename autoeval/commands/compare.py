"""Compare detectors on the same images: which is better here, by how much, how certainly.

Each is named by the work dir of its fit (`autoeval fit`), best on the same labelled set. Without
labels the difference is estimated; a few labels make it certain. With --max-loss the first
detector is a candidate: status 0 is passed, 3 failed, 4 undecided.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
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
    *("names", "columns", "numbering", "trained_here", "known"),
    *("reference", "score_thr", "level", "seed", "present"),
    *("max_loss", "undecided", "markdown", "batch_size", "ray"),
)
OF_FILES = ("names", "columns", "numbering")  # of files of predictions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "detectors",
        nargs="+",
        metavar="[NAME=]WORK_DIR",
        help="the fit of each detector",
    )
    site_options.add_image_options(
        parser, "compare on; with --predictions a list of them, a COCO JSON or a folder"
    )
    parser.add_argument(
        "--predictions",
        nargs="+",
        default=(),
        metavar="PATH",
        help="boxes of each detector on these images, in the same order; - for one that is run",
    )
    of_files = "; one for all, or one a file in their order"
    for name, metavar, about in (
        ("--names", "FILE", "words for the category numbers of the predictions, as in `estimate`"),
        ("--columns", "COLUMN,...", "what stands in which column of text files, as in `estimate`"),
        ("--numbering", "HOW", "how category numbers count, as in `estimate`"),
    ):
        parser.add_argument(name, nargs="+", default=(), metavar=metavar, help=about + of_files)
    run_options.add_reference_options(parser)
    site_options.add_category_option(parser)
    site_options.add_target_options(parser)
    site_options.add_labels_options(parser.add_argument_group("labels of some images"))
    parser.add_argument(
        "--trained-here",
        nargs="+",
        default=(),
        metavar="NAME",
        help="detectors that were trained on images like the labelled ones, by name or folder",
    )
    parser.add_argument(
        "--known",
        nargs="+",
        default=(),
        metavar="NAME=POINTS",
        help="accuracy of a detector here where it was measured, of 100",
    )
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

    by_files = bool(args.predictions) and NOT_FILES not in args.predictions
    _refuse_unread(args, by_files=by_files)
    if args.max_loss is not None:
        check_max_loss(args.max_loss / 100)
    elif args.undecided:
        raise InputError("--undecided is about a gate: give --max-loss, too, or leave it out.")
    fits = named_estimators(_named(args.detectors))
    names = dict(zip(args.detectors, fits, strict=True))  # by the folder that was typed
    result = compare(
        fits,
        _boxes(args, fits),
        images=args.images if by_files else site_options.named_images(args),
        labels=args.labels,
        img_dir=args.img_dir if args.labels else None,
        words=args.words,
        categories=given_words.named_categories(args.category),
        present=args.present,
        target=args.target and named_target(args.target, args.score_thr, args.iou),
        level=args.level,
        seed=args.seed,
        keep=_keeping(args, fits),
        trained_here=[names.get(name, name) for name in args.trained_here],
        known={
            names.get(name, name): accuracy_in_points(points, name)
            for name, points in given_words.named_pairs(
                args.known, "--known", "NAME=POINTS, such as weaker=31.2,"
            )
        },
    )
    # after what can fail: pages take a second to load
    from autoeval.report.comparison import comparison_page, comparison_text, comparison_values
    from autoeval.report.text import about, next_command, print_result

    gate = None if args.max_loss is None else result.gate(args.max_loss / 100, next(iter(fits)))
    step = after_compare(args, fits, result, gate) if by_files else ""
    given = about(
        args.command_line,
        detectors=", ".join(args.detectors),
        images=args.images,
        predictions=", ".join(map(str, args.predictions)),
        labels=args.labels,
    )
    print_result(
        comparison_text(result, gate, verbose=args.verbose),
        comparison_values(result, gate, given),
        args.work_dir,
        lambda: comparison_page(result, gate, given),
        as_json=args.json,
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
    from autoeval.report.comparison import comparison_markdown
    from autoeval.runtime.files import write_text

    write_text(args.markdown, comparison_markdown(result, gate))
    return [args.markdown]


def _refuse_unread(args: argparse.Namespace, *, by_files: bool) -> None:
    """Refuse options that a comparison would not read; `by_files` is whether no detector is run."""
    if not args.images and not args.predictions:
        raise InputError("Expected --images PATH, or --predictions of each detector.")
    if not args.predictions:
        refuse_beside(args, OF_FILES, "is about --predictions: give them, too, or leave it out.")
    if by_files and not args.labels:
        refuse_beside(args, ["img_dir"], "is for labels, or images that a detector is run on.")
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


def _of_each_file(args: argparse.Namespace) -> list[dict[str, Any]]:
    """Return what is said of each file of predictions: one for all, or one a file."""
    of_each = [dict[str, Any]() for _ in args.predictions]
    for name in OF_FILES:
        given: Sequence[Any] = getattr(args, name)
        if name == "columns":
            given = [columns.split(",") for columns in given]
        if len(given) > 1 and len(given) != len(of_each):
            raise InputError(
                f"Expected --{name} once for all --predictions, or once for each, but got "
                f"{len(given)} for {len(of_each)}."
            )
        given_of_each = given if len(given) > 1 else [*given] * len(of_each)
        for said, value in zip(of_each, given_of_each, strict=False):
            said[name] = value
    return of_each


def _boxes(args: argparse.Namespace, fits: dict[str, Any]) -> list[Any]:
    """Return the file of each detector with its facts, or the detector as it was fitted."""
    from autoeval.detectors.detector_spec import DetectorSpec
    from autoeval.estimation.given_boxes import Detector, Predictions
    from autoeval.model.features import REFERENCE_AP

    boxes: list[Any] = [
        None if path == NOT_FILES else Predictions(path, **said)
        for path, said in zip(args.predictions, _of_each_file(args), strict=True)
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
