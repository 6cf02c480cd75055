"""What the commands of counting share: options, and comparing printed figures with our own."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoeval.commands.given_input import Detail, add_input
from autoeval.commands.run_options import add_json, positive, read_cfg_options
from autoeval.commands.typed_options import refuse_beside
from autoeval.counting import DEFAULT_MODE, MODES
from autoeval.errors import InputError

if TYPE_CHECKING:
    from autoeval.counting.asking import Extractor
    from autoeval.counting.counters import Counter
    from autoeval.report.compared_with_print import Chapter

Make = Callable[[str, Mapping[str, Any]], "tuple[Chapter, Sequence[str]]"]

BATCH_SIZE = 8  # as in `autoeval.counting.prompting`


REPEATABLE: dict[str, Any] = {"type": Path, "nargs": "+", "action": "extend", "default": []}


def add_mode(parser: Any, details: str = "") -> None:
    """Declare ``--mode``; `parser` is a parser or a group of one."""
    parser.add_argument(
        "--mode",
        choices=MODES,
        default=DEFAULT_MODE,
        help="measure by the formulas as printed, or as the authors' code does"
        f"{details and '; '}{details} (default: %(default)s)",
    )


def add_work_dir(parser: argparse.ArgumentParser, default: str) -> None:
    """Declare ``--work-dir``, the folder that a command writes to."""
    parser.add_argument(
        "--work-dir",
        type=Path,
        default=Path(default),
        metavar="DIR",
        help="where to write (default: %(default)s)",
    )


def add_predictions(parser: Any, details: str) -> None:
    """Declare ``--predictions``; `parser` is a parser or a group of one."""
    parser.add_argument("--predictions", **REPEATABLE, metavar="DIR", help=details)


def prediction_folders(args: argparse.Namespace, *, files: bool = False) -> list[Path]:
    """Return the folders, or `files`, behind ``--predictions``, or raise `InputError`."""
    for path in args.predictions:
        if not (path.is_dir() or (files and path.is_file())):
            what = "folders or tables" if files else "folders"
            raise InputError(f"No folder {path}: --predictions takes {what} of predictions.")
    return list(args.predictions)


def _files(text: str) -> list[Path]:
    """Read ``FILE,FILE``."""
    return [Path(part) for part in text.split(",")]


EXCLUDE = Detail(
    "exclude",
    "lists of image ids to leave out, such as images of several classes",
    _files,
    (),
    metavar="FILE,...",
)


def add_praco_data(parser: argparse.ArgumentParser) -> None:
    """Declare where PrACo's images and classes come from."""
    add_input(
        parser,
        "--data",
        (
            Detail("data_root", "folder with the data of a config file", metavar="DIR"),
            Detail("split", "split of FSC-147 (test)", default="test", metavar="NAME"),
            EXCLUDE,
        ),
        metavar="DATA",
        required=True,
        help="see above",
    )


def check_praco_data(args: argparse.Namespace) -> None:
    """Refuse facts about the data that its kind has no use for."""
    from autoeval.counting.praco.published_sets import is_fsc147, is_mucca

    data = Path(args.data)
    if data.suffix != ".py":
        refuse_beside(args, ["data_root"], "is for a config file (.py) that names COCO files.")
    if data.exists() and not (data.is_dir() and (is_fsc147(data) or is_mucca(data))):
        refuse_beside(args, ["split"], "is for data in FSC-147's layout or with MUCCA's files.")


def add_prompts(parser: argparse.ArgumentParser, *more: Detail) -> None:
    """Declare the prompts of CAPTURe; `more` may follow them, too."""
    add_input(
        parser,
        "--prompts",
        (
            Detail(
                "prompts_of",
                "model whose published prompts to use (default)",
                default="default",
                metavar="MODEL",
            ),
            *more,
        ),
        alone=True,  # of the shipped prompts
        metavar="FILE",
        type=Path,
        help="default: as shipped",
    )


def add_counter_options(
    group: argparse._ActionsContainer, *, example: str, required: bool = True
) -> None:
    """Declare which counters are asked."""
    group.add_argument(
        "--counter",
        action="append",
        required=required,
        default=None if required else [],
        metavar="FILE",
        help=f"counter's config, such as {example}, or FILE.py:NAME, a function "
        "NAME(image, prompt); repeatable",
    )
    group.add_argument(
        "--cfg-options",
        nargs="+",
        metavar="KEY=VALUE",
        help="changes to every counter's config, such as counter.checkpoint=FILE",
    )


def add_reading_options(parser: argparse._ActionsContainer) -> None:
    """Declare how models that answer in words are asked and read."""
    parser.add_argument(
        "--backoff",
        action="store_true",
        help="ask at temperature 1, and again .1 lower each time no number can be read",
    )
    parser.add_argument(
        "--extractor",
        metavar="FILE",
        help="config of a model that reads the counts out of answers (default: rules)",
    )


def add_run_options(parser: argparse.ArgumentParser, items: str, *, batches: bool = True) -> None:
    """Declare how many ``items`` are asked about, and how many at once."""
    parser.add_argument(
        "--limit", type=positive, metavar="N", help=f"ask about the first N {items} only"
    )
    parser.add_argument(
        "--workers",
        type=positive,
        default=1,
        metavar="N",
        help="threads that read images and ask; counters that are not `concurrent` answer one at "
        "a time (default: %(default)s)",
    )
    if batches:
        parser.add_argument(
            "--batch-size",
            type=positive,
            default=BATCH_SIZE,
            metavar="N",
            help="images at once, of counters that take several (default: %(default)s)",
        )


def load_counters(args: argparse.Namespace) -> list[tuple[Counter, dict[str, Any]]]:
    """Build the counters that the options name, with settings, or raise `InputError`.

    Those that answer in words are asked and read as `add_reading_options` says.
    """
    from autoeval.counting.asking import BACKOFF
    from autoeval.counting.counters import TEXT
    from autoeval.counting.counters.build import load_counter
    from autoeval.counting.prompting import check_names

    options = read_cfg_options(args.cfg_options)
    loaded = [load_counter(path, options) for path in args.counter]
    check_names([counter.name for counter, _ in loaded])
    if not hasattr(args, "backoff"):
        return loaded
    speaking = [(c, settings) for c, settings in loaded if TEXT in c.capabilities]
    if not speaking:
        reason = "is for counters that answer questions, and none of these does: leave it out."
        refuse_beside(args, ["backoff", "extractor"], reason)
    for counter, settings in speaking:
        if args.backoff:
            counter.temperatures = BACKOFF  # type: ignore[attr-defined]
            settings["backoff"] = True
        if args.extractor:
            counter.extractor = load_extractor(args.extractor)  # type: ignore[attr-defined]
            settings["extractor"] = args.extractor
    return loaded


def load_extractor(path: str | None, templates: Mapping[str, Any] | None = None) -> Extractor:
    """Return what reads answers: rules, or the model of a config with the prompt ``extract``.

    `templates` are prompts, by default those that come with CAPTURe.
    """
    from autoeval.counting.capture.answers import ModelExtractor, extract_count
    from autoeval.counting.capture.tasks import load_prompts
    from autoeval.counting.counters.build import load_counter
    from autoeval.io.wording import listed

    if path is None:
        return extract_count
    templates = load_prompts().templates if templates is None else templates
    counter, _ = load_counter(path)
    ask = getattr(counter, "ask", None)
    if ask is None or "extract" not in templates:
        raise InputError(
            f"--extractor {path} needs a counter that answers questions, and the prompts need "
            f"'extract' ({listed(list(templates))} are there)."
        )
    return ModelExtractor(ask, templates["extract"])


def add_reproduce_options(
    parser: argparse.ArgumentParser,
    paper: str,
    *details: Detail,
    tables: str,
    figures: str = "",
    modes: bool = True,
) -> None:
    """Declare the options of commands that compare; `paper` names a file in ``configs/papers``.

    `details` are facts about the data; `modes` says whether the authors' code measures otherwise.
    """
    parser.add_argument(
        "--table",
        nargs="+",
        default=[],
        metavar="N",
        help=f"{tables} (default: all, unless --figure is given)",
    )
    if figures:
        parser.add_argument("--figure", nargs="+", default=[], metavar="N", help=figures)
    if details:
        add_input(parser, "--data-root", details, metavar="DIR", help="the data, see above")
    else:
        parser.add_argument("--data-root", metavar="DIR", help="the data, see above")
    add_predictions(parser, "see above")
    if modes:
        add_mode(parser)
    add_work_dir(parser, f"reproduce_{paper}")
    add_json(parser)


def reproduce(
    args: argparse.Namespace,
    paper: str,
    title: str,
    *,
    table: Make,
    figure: Make,
    missing: Mapping[str, Sequence[str]] | None = None,
) -> int:
    """Make what was requested, print it with what is missing, and write page and files.

    `table` and `figure` make one section from its name and entry in ``configs/papers`` and say what
    it lacks; `missing` is what else does.
    """
    from autoeval.counting.filed_page import PAGE, FiledPage
    from autoeval.counting.reproduce.printed_grid import StatedMode
    from autoeval.io.config_file import read_paper
    from autoeval.report.compared_with_print import add_chapters, chapters_text, chapters_values
    from autoeval.report.text import paragraphs, written_files
    from autoeval.runtime.files import write_json
    from autoeval.runtime.json_values import plain

    numbers = getattr(args, "figure", [])
    tables, downloads = read_paper(paper, args.table)
    figures = read_paper(paper, numbers, kind="figure")[0] if numbers else {}
    if figures and not args.table:
        tables = {}
    chapters: list[Chapter] = [StatedMode(args.mode)] if hasattr(args, "mode") else []
    texts = [f"{name}: {text}" for name, lacking in (missing or {}).items() for text in lacking]
    for kind, entries, make in (("table", tables, table), ("figure", figures, figure)):
        for name, entry in entries.items():
            chapter, lacking = make(name, entry)
            chapters.append(chapter)
            texts += [f"{kind} {name}: {text}" for text in lacking]
    if texts:
        texts += [f"Get the {what} from {where}" for what, where in downloads.items()]
    page = FiledPage(title)
    add_chapters(page, chapters)
    if texts:
        page.add_heading("What is missing")
        page.add_text(*texts)
    page.write_all(args.work_dir)
    values = plain({**chapters_values(chapters), "missing": texts})
    write_json(args.work_dir / "result.json", values)
    lacks = "\n".join(["What is missing", *(f"  {text}" for text in texts)]) if texts else ""
    written = written_files([args.work_dir / PAGE, args.work_dir])
    shown = paragraphs(chapters_text(chapters), lacks, written)
    print(json.dumps(values, indent=2) if args.json else shown)
    return 0
