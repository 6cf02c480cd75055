"""Count in every image with any counter, and write predictions for `autoeval count evaluate`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoeval.counting.commands.common_options import check_positive, load_counters

if TYPE_CHECKING:
    from autoeval.runtime.files import PathLike

FAILURE = 1


def count_in_images(
    *,
    counter: Sequence[PathLike],
    cfg_options: Sequence[str] | None = None,
    images: Any,
    every: str | None = None,
    prompt: str = "objects",
    backoff: bool = False,
    extractor: PathLike | None = None,
    limit: int | None = None,
    workers: int = 1,
    batch_size: int | None = None,
    work_dir: PathLike = "counts",
) -> int:
    """Count in every image with any counter, and write predictions for `autoeval count evaluate`.

    Results are kept one by one in DIR/COUNTER: the same command goes on where it was stopped, and
    asks again only what failed. Writes predictions.csv (id, pred, status) and, where the counter
    says where it counts, points.json.

    Parameters
    ----------
    counter : sequence of path-like
        Counter's config, such as configs/counting/praco/yolox_nano.py, or FILE.py:NAME, a function
        NAME(image, prompt); repeatable.
    cfg_options : sequence of str, optional
        Changes to every counter's config, as KEY=VALUE such as counter.checkpoint=FILE.
    images : path-like
        A folder, a COCO JSON, a video, a list of paths or a pattern.
    every : str, optional
        Frames of videos: 2s, or 10 for every tenth.
    prompt : str
        What to count: a class, or the prompt of a language model; counters of one kind of object
        pass it over.
    backoff : bool
        Ask models that answer in words at temperature 1, and again .1 lower each time no number can
        be read.
    extractor : path-like, optional
        Config of a model that reads the counts out of answers (default: rules).
    limit : int, optional
        Ask about the first images only.
    workers : int
        Threads that read images and ask; counters that are not `concurrent` answer one at a time.
    batch_size : int, optional
        Images at once, of counters that take several (default: 8).
    work_dir : path-like
        Where to write.

    Returns
    -------
    int
        1 where an image failed.
    """
    from autoeval.counting.journal import CellJournal, check_same_run, folder_name
    from autoeval.counting.prompting import (
        BATCH_SIZE,
        PromptedCounter,
        count_images,
        write_counts,
    )
    from autoeval.io.find_images import find_images
    from autoeval.words import listed

    check_positive(limit=limit, workers=workers, batch_size=batch_size)
    listing = find_images(images, every=every)
    for note in listing.skipped:
        print(f"note: {note}")
    found, failures = listing.images[:limit], 0
    loaded = load_counters(counter, cfg_options, backoff=backoff, extractor=extractor)
    for each, settings in loaded:
        folder = Path(work_dir) / folder_name(each.name)
        check_same_run(folder / "run.json", {**settings, "prompt": prompt})
        journal = CellJournal(folder / "answers.jsonl", ["image"])
        size = BATCH_SIZE if batch_size is None else batch_size
        prompted = PromptedCounter(each, workers=workers, batch_size=size)
        table = count_images(prompted, found, prompt, journal)
        files = write_counts(folder, table)
        status = table["status"]
        failures_here = table[status.str.startswith("failed")]
        failed = failures_here["id"].tolist()
        print(
            f"{each.name}: {table['pred'].sum():g} objects in {(status == 'ok').sum()} of "
            f"{len(table)} images, {(status == 'skipped').sum()} skipped, {len(failed)} failed"
            + (f" ({listed(failed)})" if failed else "")
        )
        for reason, n in failures_here["status"].value_counts().head(3).items():
            print(f"  {n} {reason}")
        print("\n".join(f"  {path}" for path in files))
        failures += len(failed)
    if failures:
        print(f"{failures} images failed; the same command counts them again.")
    return FAILURE if failures else 0
