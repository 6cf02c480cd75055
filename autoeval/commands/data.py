"""Commands on data and runs: check a task, convert labels, show how far a run is."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from autoeval.errors import InputError
from autoeval.words import refuse_given

if TYPE_CHECKING:
    from autoeval.io.tasks.seed_set import SeedSet
    from autoeval.runtime.files import PathLike

SIZES = ("autoeval.stability.metasets.recipe", "sample_set_sizes")  # of published methods, by name


def check(
    *,
    task: PathLike,
    data_root: PathLike | None = None,
    images: Any = None,
    img_dir: PathLike | None = None,
    every: str | None = None,
    metaset: PathLike | None = None,
    n_sets: int | None = None,
    n_images: int | None = None,
    preset: Literal["light", "paper"] = "light",
    rate: float | None = None,
    json: bool = False,
) -> int:
    """Read everything a task names once, without the network, and say what a run would meet.

    Parameters
    ----------
    task : path-like
        Task file such as configs/tasks/vehicle.py.
    data_root : path-like, optional
        Folder with the data of the task.
    images : path-like, optional
        New images to check beside the sites: a folder, COCO JSON, video, image, pattern
        ('site/**/*.jpg'), text file of paths, or - for paths on standard input.
    img_dir : path-like, optional
        Folder of the images that a COCO JSON names.
    every : str, optional
        Frames of videos: 2s for one in so many seconds, or every Nth.
    metaset : path-like, optional
        Sample sets of the run to come, as configs/metasets/mild.py.
    n_sets : int, optional
        Sample sets of each seed set (those of the file, else 50).
    n_images : int, optional
        Images of each sample set (those of the file, else 250).
    preset : str
        Of the run to come: light has no sample sets but those asked for.
    rate : float, optional
        Images a second of a run, to say how long it takes.
    json : bool
        Print the result as JSON.

    Returns
    -------
    int
        1 where a site cannot be used.
    """
    from autoeval.api.options import found_images
    from autoeval.estimation.observation.samples import UnlabelledSamples
    from autoeval.io.tasks.inspection import load_each, look_at, look_at_each
    from autoeval.io.tasks.task import load_task
    from autoeval.report.check import RunSize, check_text, check_values
    from autoeval.runtime.files import plain
    from autoeval.runtime.progress import progress_bar

    light = preset == "light" and not (metaset or n_sets)
    if light:
        refuse_given({"n_images": n_images}, "is of sample sets: give --n-sets, too.")
    if rate is not None and not 0 < rate < math.inf:
        raise InputError(f"Expected --rate above 0 but got {rate:g}.")
    of_images = {"img_dir": img_dir, "every": every}
    if images is None:
        refuse_given(of_images, "goes with --images: give that, too.")
    loaded = load_task(task, data_root)
    files = () if images is None else found_images({"images": images, **of_images})
    sites = load_each(loaded)
    usable = [site.seed_set for site in sites if site.seed_set is not None]
    total = len(files) + sum(len(seed_set.images) for seed_set in usable)
    start = time.perf_counter()
    with progress_bar(total, "reading images") as bar:
        sites = look_at_each(sites, advance=bar.update)
        new = look_at("new images", UnlabelledSamples(files), advance=bar.update) if files else None
    seconds = time.perf_counter() - start
    groups = {loaded.groups[seed_set.name] for seed_set in usable}
    sizes = [] if light else _sample_set_sizes(usable, metaset, n_sets, n_images)
    n_observed_sets, observed = len(usable) + len(sizes), total + sum(sizes)
    size = RunSize(len(groups), n_observed_sets, observed, total, seconds, rate)
    if json:
        print(dumps(plain(check_values(sites, new, size)), indent=2))
    else:
        print(check_text(sites, new, size))
    return int(any(site.why_not for site in sites))


def _sample_set_sizes(
    seed_sets: Sequence[SeedSet], metaset: Any, n_sets: int | None, n_images: int | None
) -> list[int]:
    """Return how many images each sample set has that a run by a published method would make."""
    module, name = SIZES
    sizes: list[int] = getattr(import_module(module), name)(
        seed_sets, metaset, n_sets=n_sets, n_images=n_images
    )
    return sizes


def convert_labels(
    labels: PathLike,
    output: PathLike,
    *,
    img_dir: PathLike | None = None,
    layout: str | None = None,
    option: Mapping[str, str] | None = None,
) -> None:
    """Write labels of any format as a COCO annotation file, and say what was left out.

    Parameters
    ----------
    labels : path-like
        File or folder: COCO, YOLO, Pascal VOC, or the published layout of a data set.
    output : path-like
        COCO JSON file to write.
    img_dir : path-like, optional
        Folder of the images (default: as the format has them).
    layout : str, optional
        One of coco, yolo, voc, bdd100k, box_csv, caltech, citypersons, cityscapes, crowdhuman,
        eurocity, exdark, kitti, ua_detrac (default: by looking).
    option : mapping of str to str, optional
        Of the format, as KEY=VALUE such as split=val.
    """
    from autoeval.io.coco import write_coco
    from autoeval.io.labels.any_format import load_labels
    from autoeval.words import counted, listed, printable, warning_lines

    for name in {"path", "img_dir", "layout"} & set(option or {}):
        raise InputError(f"--option {name}=VALUE is no option of a format: see --help.")
    if Path(output).is_file() and Path(output).resolve() == Path(labels).resolve():
        raise InputError(
            f"Expected OUTPUT as another file than LABELS but got '{output}' twice: what is not "
            "read of the labels, such as segmentations and times, would be lost. Name a new file."
        )
    content = load_labels(labels, img_dir, layout=layout, **(option or {}))
    write_coco(content, output)
    for line in warning_lines(content.warnings):
        print(line)
    if content.unlabelled:
        names = listed(content.unlabelled)
        print(f"note: images without labels, left out: {len(content.unlabelled)} ({names})")
    categories = counted(len(content.categories), "category", "categories")
    print(
        f"{counted(len(content.images), 'image')}, {counted(len(content.boxes), 'box', 'boxes')} "
        f"of {categories} ({listed(content.categories)}); images in "
        f"{printable(content.img_dir or '?')}"
    )
    print(f"written: {output}")


def status(work_dir: PathLike, *, json: bool = False) -> None:
    """Show the progress of a run: jobs done, failed and left, and the rate.

    Parameters
    ----------
    work_dir : path-like
        Of estimate-map or another command that keeps what it has done.
    json : bool
        Print as JSON.
    """
    from autoeval.runtime.store import run_statuses

    statuses = run_statuses(Path(work_dir))
    if json:
        print(dumps([status.to_dict() for status in statuses], indent=2))
    else:
        print("\n\n".join(map(str, statuses)))
