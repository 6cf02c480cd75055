"""What the commands of counting share: options, and comparing printed figures with our own."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typing_extensions import TypedDict

from autoeval.api.options import cfg_options_of, check_names
from autoeval.errors import InputError
from autoeval.words import option_of, refuse_given

if TYPE_CHECKING:
    from autoeval.counting.counters import Counter
    from autoeval.counting.prompting import Extractor
    from autoeval.report.compared_with_print import Chapter
    from autoeval.runtime.files import PathLike

Make = Callable[[str, Mapping[str, Any]], "tuple[Chapter, Sequence[str]]"]
SPLIT = "test"  # of FSC-147


class PracoData(TypedDict, total=False):
    """What more is said of the data of PrACo.

    Parameters
    ----------
    data_root : path-like
        Folder with the data of a config file.
    split : str
        Split of FSC-147 (default: test).
    exclude : sequence of path-like
        Lists of image ids to leave out, such as images of several classes, as FILE,....
    """

    data_root: str
    split: str
    exclude: Sequence[str]


class CounterOptions(TypedDict, total=False):
    """How counters are asked, and how their answers are read.

    Parameters
    ----------
    cfg_options : sequence of str
        Changes to every counter's config, as KEY=VALUE such as counter.checkpoint=FILE.
    backoff : bool
        Ask models that answer in words at temperature 1, and again .1 lower each time no number can
        be read.
    extractor : path-like
        Config of a model that reads the counts out of answers (default: rules).
    limit : int
        Ask about the first images or items only.
    workers : int
        Threads that read images and ask; counters that are not `concurrent` answer one at a time
        (default: 1).
    """

    cfg_options: Sequence[str]
    backoff: bool
    extractor: str
    limit: int
    workers: int


class ReproduceOptions(TypedDict, total=False):
    """Which tables of a paper are made, and where they go.

    Parameters
    ----------
    json : bool
        Print the result as JSON.
    work_dir : path-like
        Where to write (default: reproduce_PAPER).
    """

    json: bool
    work_dir: str


def check_asking(asking: CounterOptions, option_type: type = CounterOptions) -> None:
    """Refuse keywords that there are not, and numbers under 1.

    Parameters
    ----------
    asking : CounterOptions
    option_type : type
        A typed dict, whose keywords there are.
    """
    check_names(asking, option_type)
    check_positive(limit=asking.get("limit"), workers=asking.get("workers"))


def check_positive(**numbers: float | None) -> None:
    """Refuse numbers under 1.

    Parameters
    ----------
    **numbers
        By the name of their option; None is not given.

    Raises
    ------
    InputError
        If one is under 1.
    """
    for name, number in numbers.items():
        if number is not None and number < 1:
            raise InputError(f"Expected {option_of(name)} of 1 or more but got {number}.")


def prediction_folders(predictions: Sequence[PathLike], *, files: bool = False) -> list[Path]:
    """Return what is behind ``--predictions``.

    Parameters
    ----------
    predictions : sequence of path-like
    files : bool
        Whether they may be files, too.

    Raises
    ------
    InputError
        If one is not there.
    """
    paths = [Path(path) for path in predictions]
    for path in paths:
        if not (path.is_dir() or (files and path.is_file())):
            kinds = "folders or tables" if files else "folders"
            raise InputError(f"No folder {path}: --predictions takes {kinds} of predictions.")
    return paths


def data_folder(data_root: PathLike | None) -> str | None:
    """Return the folder behind ``--data-root``.

    Parameters
    ----------
    data_root : path-like, optional

    Raises
    ------
    InputError
        If it is not there.
    """
    if data_root is not None and not Path(data_root).is_dir():
        raise InputError(f"No folder {data_root}: --data-root takes the folder with the data.")
    return None if data_root is None else str(data_root)


def check_praco_data(data: PathLike, data_options: PracoData) -> None:
    """Refuse facts about the data that its kind has no use for.

    Parameters
    ----------
    data : path-like
    data_options : PracoData
        As they were given.
    """
    from autoeval.counting.praco.data import is_fsc147, is_mucca

    path = Path(data)
    if path.suffix != ".py":
        reason = "is for a config file (.py) that names COCO files."
        refuse_given({"data_root": data_options.get("data_root")}, reason)
    if path.exists() and not (path.is_dir() and (is_fsc147(path) or is_mucca(path))):
        reason = "is for data in FSC-147's layout or with MUCCA's files."
        refuse_given({"split": data_options.get("split")}, reason)


def load_counters(
    counter: Sequence[PathLike], counter_options: CounterOptions
) -> list[tuple[Counter, dict[str, Any]]]:
    """Build counters, with settings.

    Parameters
    ----------
    counter : sequence of path-like
        The config of each, or ``FILE.py:NAME``.
    counter_options : CounterOptions
        Changes to all of them.

    Returns
    -------
    list of tuple of Counter and dict
        Each with what its answers depend on.

    Raises
    ------
    InputError
        As `load_counter`, or if two have one name, or an option is for counters that answer
        questions and none does.
    """
    from autoeval.counting.counters import TEXT
    from autoeval.counting.counters.build import load_counter
    from autoeval.counting.prompting import BACKOFF, check_different_names

    cfg_options, extractor = counter_options.get("cfg_options"), counter_options.get("extractor")
    options = dict(cfg_options_of(cfg_options)) if cfg_options else None
    loaded = [load_counter(path, options) for path in counter]
    check_different_names([model.name for model, _ in loaded])
    speaking = [(c, settings) for c, settings in loaded if TEXT in c.capabilities]
    if not speaking:
        reason = "is for counters that answer questions, and none of these does: leave it out."
        refuse_given({"backoff": counter_options.get("backoff"), "extractor": extractor}, reason)
    for model, settings in speaking:
        if counter_options.get("backoff"):
            model.temperatures = BACKOFF  # type: ignore[attr-defined]
            settings["backoff"] = True
        if extractor:
            reader, settings["extractor"] = load_extractor(extractor)
            model.extractor = reader  # type: ignore[attr-defined]
    return loaded


def load_extractor(
    path: PathLike | None, templates: Mapping[str, Any] | None = None
) -> tuple[Extractor, dict[str, Any] | None]:
    """Return what reads answers: rules, or the model of a config with the prompt ``extract``.

    Parameters
    ----------
    path : path-like, optional
        Config of a counter that answers questions; None for rules.
    templates : mapping, optional
        Prompts; by default those that come with CAPTURe.

    Returns
    -------
    tuple of callable and dict or None
        The second is what the reading depends on, as `load_counter` returns it; None for rules.

    Raises
    ------
    InputError
        If the counter answers no questions, or there is no such prompt.
    """
    from autoeval.counting.capture.answers import ModelExtractor, extract_count
    from autoeval.counting.capture.task_run import load_prompts
    from autoeval.counting.counters.build import load_counter
    from autoeval.words import listed

    if path is None:
        return extract_count, None
    templates = load_prompts().templates if templates is None else templates
    counter, settings = load_counter(path)
    ask = getattr(counter, "ask", None)
    if ask is None or "extract" not in templates:
        raise InputError(
            f"--extractor {path} needs a counter that answers questions, and the prompts need "
            f"'extract' ({listed(list(templates))} are there)."
        )
    return ModelExtractor(ask, templates["extract"]), settings


def reproduce(
    paper: str,
    title: str,
    options: ReproduceOptions,
    *,
    wanted: Mapping[str, Sequence[str]],
    make: Mapping[str, Make],
    mode: str | None,
    missing: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Make what was requested, print it with what is missing, and write page and files.

    Parameters
    ----------
    paper : str
        Name of a file in ``configs/papers``.
    title : str
    options : ReproduceOptions
    wanted : mapping of str to sequence of str
        Names of each ``table`` and ``figure``; all tables where neither is given.
    make : mapping of str to callable
        Makes one section, a ``table`` or a ``figure``, from its name and entry in the file, and
        says what it lacks.
    mode : str, optional
        How figures were measured, where the authors' code measures otherwise.
    missing : mapping, optional
        What else is missing.
    """
    from autoeval.counting.filed_page import FiledPage
    from autoeval.counting.reproduce.printed_grid import StatedMode
    from autoeval.report.compared_with_print import chapters_text, chapters_values
    from autoeval.report.page import PAGE, Heading, Text, written_files
    from autoeval.runtime.files import plain, read_paper, write_json

    folder = Path(options.get("work_dir") or f"reproduce_{paper}")
    kinds = [kind for kind, names in wanted.items() if names] or ["table"]
    printed = {kind: read_paper(paper, list(wanted[kind]), kind=kind) for kind in kinds}
    downloads = next(iter(printed.values()))[1]
    chapters: list[Chapter] = [] if mode is None else [StatedMode(mode)]
    texts = [f"{name}: {text}" for name, lacking in (missing or {}).items() for text in lacking]
    for kind, (entries, _) in printed.items():
        for name, entry in entries.items():
            chapter, lacking = make[kind](name, entry)
            chapters.append(chapter)
            texts += [f"{kind} {name}: {text}" for text in lacking]
    if texts:
        texts += [f"Get the {files} from {where}" for files, where in downloads.items()]
    page = FiledPage(title, [block for chapter in chapters for block in chapter.blocks()])
    if texts:
        page.blocks += [Heading("What is missing"), *map(Text, texts)]
    page.write_all(folder)
    values = plain({**chapters_values(chapters), "missing": texts})
    write_json(folder / "result.json", values)
    lacks = "\n".join(["What is missing", *(f"  {text}" for text in texts)]) if texts else ""
    parts = [chapters_text(chapters), lacks, written_files([folder / PAGE, folder])]
    shown = "\n\n".join(filter(None, parts))
    print(json.dumps(values, indent=2) if options.get("json") else shown)
