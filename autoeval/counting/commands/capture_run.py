"""Put CAPTURe's tasks to counters."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from autoeval.counting.commands.common_options import (
    check_positive,
    load_counters,
    load_extractor,
)
from autoeval.errors import InputError, refuse_given

if TYPE_CHECKING:
    from autoeval.runtime.files import PathLike

FAILURE = 1


def ask_counters(
    split: PathLike,
    *,
    counter: Sequence[PathLike],
    cfg_options: Sequence[str] | None = None,
    task: Sequence[str] = ("total-original", "total-occluded"),
    found: PathLike | None = None,
    inpainter: str | None = None,
    prompts: PathLike | None = None,
    prompts_of: str | None = None,
    backoff: bool = False,
    extractor: PathLike | None = None,
    limit: int | None = None,
    workers: int = 1,
    work_dir: PathLike = "capture",
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
    cfg_options : sequence of str, optional
        Changes to every counter's config, as KEY=VALUE such as counter.checkpoint=FILE.
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
    backoff : bool
        Ask models that answer in words at temperature 1, and again .1 lower each time no number can
        be read.
    extractor : path-like, optional
        Config of a model that reads the counts out of answers (default: rules).
    limit : int, optional
        Ask about the first items only.
    workers : int
        Threads that read images and ask; counters that are not `concurrent` answer one at a time.
    work_dir : path-like
        Where to write.

    Returns
    -------
    int
        1 where a question failed.
    """
    from autoeval.counting.asking import BACKOFF
    from autoeval.counting.capture.render import load_inpainter
    from autoeval.counting.capture.results import note_limit
    from autoeval.counting.capture.split import INPAINTED, open_split, with_found
    from autoeval.counting.capture.task_run import RunOptions, run_task
    from autoeval.counting.capture.tasks import FOUND, get_task, load_prompts
    from autoeval.counting.counters import TEXT
    from autoeval.counting.journal import CellJournal, check_same_run, folder_name

    check_positive(limit=limit, workers=workers)
    asked = open_split(Path(split)).first(limit)
    tasks = [get_task(name) for name in task]
    loaded = load_counters(counter, cfg_options, backoff=backoff, extractor=extractor)
    if not any(TEXT in each.capabilities for each, _ in loaded):
        reason = "is for counters that answer questions, and none of these does: leave it out."
        refuse_given({"prompts": prompts, "prompts_of": prompts_of}, reason)
    if not any(each.variant == INPAINTED for each in tasks):
        refuse_given({"inpainter": inpainter}, "is for --task inpainted: give that, too.")
    if found:
        asked = with_found(asked, Path(found))
    elif any(each.oracle_fact == FOUND for each in tasks):
        raise InputError(
            "--task hybrid puts what another counter found into the question: run it with "
            f"`autoeval count run --images {split}/occluded` and give its points.json: "
            "--task hybrid --found FILE."
        )
    if not any(each.oracle_fact == FOUND for each in tasks):
        refuse_given({"found": found}, "is for --task hybrid: give that, too.")
    book = load_prompts(None if prompts is None else Path(prompts), model=prompts_of or "default")
    options = RunOptions(
        extractor=load_extractor(extractor, book.templates),
        temperatures=BACKOFF if backoff else (None,),
        workers=workers,
        inpainter=load_inpainter(inpainter) if inpainter else None,
    )
    failed = 0
    for each, settings in loaded:
        folder = Path(work_dir) / folder_name(each.name)
        settings |= {"extractor": extractor, "inpainter": inpainter}
        check_same_run(folder / "settings.json", settings)
        for one in tasks:
            note_limit(folder, one.name, limit)
            journal = CellJournal(folder / f"{one.name}.jsonl", ["key"])
            counts = run_task(asked, one, each, book, journal, options)
            print(
                f"{each.name}, {one.name}: {counts.answered} answered, {counts.skipped} "
                f"skipped, {len(counts.failed)} failed, {counts.reused} from before"
            )
            for name, status in list(counts.failed.items())[:3]:
                print(f"  {name}: {status}")
            failed += len(counts.failed)
    if failed:
        print(f"{failed} questions failed; the same command asks them again.")
    return FAILURE if failed else 0
