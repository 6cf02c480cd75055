"""CAPTURe: its splits made, its tasks put to counters, exported, and their answers measured."""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from typing_extensions import Unpack

from autoeval.counting.commands.common_options import (
    CounterOptions,
    check_asking,
    check_positive,
    load_counters,
    load_extractor,
)
from autoeval.errors import InputError
from autoeval.words import refuse_given

if TYPE_CHECKING:
    from autoeval.runtime.files import PathLike


SHOWN = 10
FAILURE = 1
TASK = "total-occluded"
SIZES = (40, 10_000)  # of the images of a synthetic split


def generate(
    out: PathLike,
    *,
    seed: int = 0,
    patterns: Sequence[Literal["circle", "triangle", "rectangle", "staggered", "cross"]] = (
        "circle",
        "triangle",
        "rectangle",
    ),
    counts: str = "5-15",
    size: int = 200,
    fit_canvas: bool = False,
    box_anywhere: bool = False,
) -> None:
    """Generate CAPTURe's synthetic split: patterns of dots and squares, and the same behind a box.

    Writes original/, occluded/, metadata.json and contact_sheet.png into the folder OUT. The
    metadata hold every key of the released ones, and the box, the hidden objects and the count
    inside the image.

    Parameters
    ----------
    out : path-like
        Folder to write.
    seed : int
        Of the boxes.
    patterns : sequence of str
        Layouts; by default the published ones.
    counts : str
        Numbers of objects, a range or a list such as 6,10.
    size : int
        Side of the images, in pixels.
    fit_canvas : bool
        Keep every object inside the image; the published layout leaves one outside in a seventh of
        the items.
    box_anywhere : bool
        Centre boxes on objects outside the image, too, as the authors' generator does; such a box
        may hide nothing that can be seen.
    """
    from autoeval.counting.capture.making import SyntheticSpec, write_synthetic
    from autoeval.counting.capture.split import write_contact_sheet

    if not SIZES[0] <= size <= SIZES[1]:
        raise InputError(f"Expected --size from {SIZES[0]} to {SIZES[1]} pixels but got {size}.")
    spec = SyntheticSpec(
        seed=seed,
        size=size,
        counts=read_counts(counts),
        patterns=tuple(dict.fromkeys(patterns)),
        fit_canvas=fit_canvas,
        box_anywhere=box_anywhere,
    )
    folder = Path(out)
    split = write_synthetic(spec, folder)
    write_contact_sheet(split, folder / "contact_sheet.png")
    outside = sum(i.record["in_canvas_count"] < i.ground_truth for i in split.items)
    hidden = sum(item.num_occluded or 0 for item in split.items) / len(split.items)
    print(f"{len(split.items)} pairs in {folder}, {hidden:.2f} objects hidden on average")
    if outside:
        print(f"{outside} of them have an object outside the image (--fit-canvas avoids that)")


def read_counts(text: str) -> tuple[int, ...]:
    """Read numbers of objects from an option.

    Parameters
    ----------
    text : str
        A range such as ``5-15``, or a list such as ``6,10``.

    Returns
    -------
    tuple of int
        From 1 up, rising.

    Raises
    ------
    InputError
        If it is neither, or begins under 1.
    """
    if match := re.fullmatch(r"(\d{1,6})-(\d{1,6})", text):
        counts = tuple(range(int(match[1]), int(match[2]) + 1))
    elif re.fullmatch(r"\d{1,6}(,\d{1,6})*", text):
        counts = tuple(sorted({int(part) for part in text.split(",")}))
    else:
        counts = ()
    if not counts or counts[0] < 1:
        raise InputError(f"Expected --counts like 5-15 or 6,10 but got '{text}'.")
    return counts


def build_real_split(
    out: PathLike,
    *,
    images: PathLike,
    metadata: PathLike,
    classes: PathLike | None = None,
    annotations: PathLike | None = None,
) -> None:
    """Build a split of real images for CAPTURe, each as it is and with a box over some objects.

    The published split: FSC-147's images with the released boxes. Writes original/, occluded/,
    metadata.json, warnings.txt and contact_sheet.png into the folder OUT.

    Parameters
    ----------
    out : path-like
        Folder to write.
    images : path-like
        Folder of the images; FSC-147's is images_384_VarV2.
    metadata : path-like
        Released real_metadata.json.
    classes : path-like, optional
        FSC-147's ImageClasses_FSC147.txt, to check object names.
    annotations : path-like, optional
        FSC-147's annotation_FSC147_384.json, whose points the oracle tasks need.
    """
    from autoeval.counting.capture.making import WARNINGS, build_real
    from autoeval.counting.capture.split import write_contact_sheet

    folder = Path(out)
    built = build_real(
        Path(metadata),
        Path(images),
        folder,
        classes=None if classes is None else Path(classes),
        annotations=None if annotations is None else Path(annotations),
    )
    write_contact_sheet(built, folder / "contact_sheet.png")
    warnings = built.warnings
    print(f"{len(built.items)} pairs in {folder}, {len(warnings)} warnings")
    for line in warnings[:SHOWN]:
        print(f"  {line}")
    if len(warnings) > SHOWN:
        print(f"  ... all in {folder / WARNINGS}")


def ask_counters(
    split: PathLike,
    *,
    counter: Sequence[PathLike],
    task: Sequence[str] = ("total-original", "total-occluded"),
    found: PathLike | None = None,
    inpainter: str | None = None,
    prompts: PathLike | None = None,
    prompts_of: str | None = None,
    work_dir: PathLike = "capture",
    **asking: Unpack[CounterOptions],
) -> int:
    """Put CAPTURe's tasks to counters.

    Every answer is kept as it comes, in OUT/MODEL/TASK.jsonl: the same command goes on where it was
    stopped, and asks again only what failed. `autoeval count capture report` measures the answers.

    Parameters
    ----------
    split : path-like
        Folder of a split.
    counter : sequence of path-like
        Counter's config, such as configs/counting/capture/endpoint.py, or FILE.py:NAME, a function
        NAME(image, prompt); repeatable.
    task : sequence of str
        One or more of total-original, total-occluded, occluded-only, pattern-original,
        pattern-occluded, oracle-all, oracle-visible, hybrid, inpainted, confidence-original,
        confidence-occluded, sampled-original, sampled-occluded.
    found : path-like, optional
        For hybrid: points.json of a counter that `count run` asked about SPLIT/occluded.
    inpainter : str, optional
        For inpainted: telea, navier-stokes or package.module.function.
    prompts : path-like, optional
        Prompts (default: as shipped).
    prompts_of : str, optional
        Model whose published prompts to use (default: default).
    work_dir : path-like
        Where to write.
    **asking
        See `CounterOptions`.

    Returns
    -------
    int
        1 where a question failed.
    """
    from autoeval.counting.capture.making import load_inpainter
    from autoeval.counting.capture.results import note_limit
    from autoeval.counting.capture.split import INPAINTED, open_split, with_found
    from autoeval.counting.capture.task_run import (
        FOUND,
        RunOptions,
        get_task,
        load_prompts,
        run_task,
    )
    from autoeval.counting.counters import TEXT
    from autoeval.counting.prompting import BACKOFF, CellJournal, check_same_run, folder_name

    check_asking(asking)
    limit, extractor = asking.get("limit"), asking.get("extractor")
    capture_split = open_split(Path(split)).first(limit)
    tasks = [get_task(name) for name in task]
    loaded = load_counters(counter, asking)
    if not any(TEXT in model.capabilities for model, _ in loaded):
        reason = "is for counters that answer questions, and none of these does: leave it out."
        refuse_given({"prompts": prompts, "prompts_of": prompts_of}, reason)
    if not any(capture_task.variant == INPAINTED for capture_task in tasks):
        refuse_given({"inpainter": inpainter}, "is for --task inpainted: give that, too.")
    if found:
        capture_split = with_found(capture_split, Path(found))
    elif any(capture_task.oracle_fact == FOUND for capture_task in tasks):
        raise InputError(
            "--task hybrid puts what another counter found into the question: run it with "
            f"`autoeval count run --images {split}/occluded` and give its points.json: "
            "--task hybrid --found FILE."
        )
    if not any(capture_task.oracle_fact == FOUND for capture_task in tasks):
        refuse_given({"found": found}, "is for --task hybrid: give that, too.")
    book = load_prompts(None if prompts is None else Path(prompts), model=prompts_of or "default")
    reader, read_by = load_extractor(extractor, book.templates)
    options = RunOptions(
        extractor=reader,
        temperatures=BACKOFF if asking.get("backoff") else (None,),
        workers=asking.get("workers") or 1,
        inpainter=load_inpainter(inpainter) if inpainter else None,
    )
    wording = {
        "prompts": None if prompts is None else sha256(Path(prompts).read_bytes()).hexdigest(),
        "prompts_of": None if prompts_of == "default" else prompts_of,
    }
    failed = 0
    for model, settings in loaded:
        folder = Path(work_dir) / folder_name(model.name)
        settings |= {"extractor": read_by, "inpainter": inpainter, **wording}
        check_same_run(folder / "settings.json", settings)
        for capture_task in tasks:
            note_limit(folder, capture_task.name, limit)
            journal = CellJournal(folder / f"{capture_task.name}.jsonl", ["key"])
            counts = run_task(capture_split, capture_task, model, book, journal, options)
            print(
                f"{model.name}, {capture_task.name}: {counts.answered} answered, {counts.skipped} "
                f"skipped, {len(counts.failed)} failed, {counts.reused} from before"
            )
            for name, status in list(counts.failed.items())[:3]:
                print(f"  {name}: {status}")
            failed += len(counts.failed)
    if failed:
        print(f"{failed} questions failed; the same command asks them again.")
    return FAILURE if failed else 0


def report_answers(
    split: PathLike,
    answers: Sequence[PathLike],
    *,
    task: str | None = None,
    work_dir: PathLike = "capture_report",
) -> None:
    """Measure answers to CAPTURe: tables, charts and a report page.

    Items without an answer score as skipped ones and are named; of a run with --limit, only what
    was asked is measured.

    Parameters
    ----------
    split : path-like
        Folder of a split.
    answers : sequence of path-like
        Files that `autoeval count capture run` wrote, folders of them, JSON lists as the authors'
        scripts write them, or tables MODEL.csv with the columns image and count.
    task : str, optional
        Of answers in JSON lists and tables, which do not say (default: total-occluded).
    work_dir : path-like
        Where to write.
    """
    from autoeval.counting.capture.results import (
        asked_items,
        collect,
        group_rows,
        read_answers,
        read_limits,
    )
    from autoeval.counting.capture.run_page import FORMATS, capture_page
    from autoeval.counting.capture.split import open_split
    from autoeval.counting.capture.task_run import get_task
    from autoeval.counting.filed_page import merged_notes
    from autoeval.report.page import Table, format_cells, to_terminal

    capture_split = open_split(Path(split))
    files: list[Path] = []
    for path in map(Path, answers):
        files += sorted(path.rglob("*.jsonl")) if path.is_dir() else [path]
    if all(path.suffix == ".jsonl" for path in files):
        refuse_given({"task": task}, "is for answers in JSON lists; these name their task.")
    rows = [row for path in files for row in read_answers(path, task=task or TASK)]
    limits = read_limits(path for path in files if path.suffix == ".jsonl")
    results, limited = [], []
    for (model, name), model_rows in group_rows(rows).items():
        limit = limits.get((model, name))
        part = asked_items(capture_split, limit, model_rows)
        results.append(collect(part, get_task(name), model, model_rows))
        n, n_all = len(part.items), len(capture_split.items)
        if n < n_all:
            chosen = f"the first {n}" if n == limit else str(n)
            limited.append(
                f"{model}, {name}: measured on {chosen} of {n_all} items, which is what was asked "
                "(--limit)"
            )
    if not results:
        raise InputError(f"No answers in {', '.join(map(str, answers))}.")
    page = capture_page(capture_split, results, limited)
    print("".join(f"{line}\n" for line in limited), end="")
    written = page.write_all(Path(work_dir))
    tables = {block.name: block for block in page.blocks if isinstance(block, Table)}
    print(to_terminal(format_cells(tables["measures"].table, FORMATS)))
    if "models" in tables:
        print("\n" + tables["models"].text())
    for note in merged_notes((f"{r.model}, {r.task.name}", r.warnings) for r in results):
        print(f"note: {note}")
    print("written:\n" + "\n".join(f"  {path}" for path in written))


def score_reading(cases: PathLike | None = None) -> None:
    """Score the reading of counts out of free text on a table of answers that a person has read.

    Parameters
    ----------
    cases : path-like, optional
        JSON list of {"kind", "text", "value"}, null for no answer (default: shipped).
    """
    from autoeval.counting.capture.answers import extract_count
    from autoeval.counting.capture.results import read_cases, score_extractor
    from autoeval.report.page import format_cells, to_markdown
    from autoeval.runtime.files import shipped_config

    path = shipped_config("counting", "capture", "answer_cases.json")
    table, errors = score_extractor(extract_count, read_cases(Path(cases) if cases else path))
    shown = format_cells(table.rename_axis("kind").reset_index(), {"accuracy": "{:.1f}"})
    print(to_markdown(shown))
    for error in errors:
        print(error)


def export_capture(
    split: PathLike,
    out: PathLike,
    *,
    task: Sequence[str] = ("total-original", "total-occluded"),
    prompts: PathLike | None = None,
    prompts_of: str = "default",
    max_tokens: int = 4096,
) -> None:
    """Export CAPTURe as tasks for lmms-eval.

    Run them with `lmms-eval --include_path OUT --tasks NAME ...`, in an environment that has this
    package (`pip install --no-deps` suffices: the scoring needs the standard library alone).

    Parameters
    ----------
    split : path-like
        Folder of a split.
    out : path-like
        Folder to write.
    task : sequence of str
        Tasks, as `count capture run` has them.
    prompts : path-like, optional
        Prompts (default: as shipped).
    prompts_of : str
        Model whose published prompts to use.
    max_tokens : int
        Longest answer.
    """
    from autoeval.counting.capture.split import open_split
    from autoeval.counting.capture.task_run import get_task, load_prompts
    from autoeval.counting.lmms_eval_export import export_lmms_eval

    check_positive(max_tokens=max_tokens)
    book = load_prompts(None if prompts is None else Path(prompts), model=prompts_of)
    tasks = [get_task(name) for name in task]
    split_there = open_split(Path(split))
    names = export_lmms_eval(split_there, tasks, book, Path(out), max_tokens=max_tokens)
    print(f"lmms-eval --include_path {out} --tasks {','.join(names)}")
