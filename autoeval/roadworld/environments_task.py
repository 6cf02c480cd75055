"""The environments of the road world on disk, as the sources of a task.

Commands of published methods render them by `render_environments`, and read them as any task.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from filelock import FileLock

from autoeval.io.tasks.task import SeedSetFiles, Task
from autoeval.roadworld import CATEGORY, ENVIRONMENTS, write_environment
from autoeval.runtime.files import PathLike
from autoeval.runtime.progress import progress_bar

COCO_WORDS = ("car", "bus", "truck")


def render_environments(
    root: PathLike, n_images: int, *, seed: int = 0, names: Collection[str] | None = None
) -> None:
    """Render images of some environments.

    What is there is kept, but for images beyond the number, which an earlier call made with more,
    another seed or another renderer: whoever reads the folder of images would take them, too. Only
    one process renders at a time; others wait for it and then find everything there.

    Parameters
    ----------
    root : path-like
        Folder of the environments, each in a subfolder of its name.
    n_images : int
        Of each.
    seed : int
        Of all images.
    names : collection of str, optional
        By default all of `ENVIRONMENTS`.
    """
    names = ENVIRONMENTS if names is None else names
    Path(root).mkdir(parents=True, exist_ok=True)
    with (
        FileLock(Path(root) / ".rendering.lock"),
        progress_bar(len(names), "rendering environments", unit="environment") as bar,
    ):
        for name in names:
            folder = write_environment(root, name, n_images, seed)
            for path in (folder / "images").glob("*.jpg"):
                if path.stem.isdecimal() and int(path.stem) >= n_images:
                    path.unlink()
            bar.update()


def environments_task(root: PathLike, names: Collection[str]) -> Task:
    """Return the task of finding vehicles in some environments.

    A detector trained on COCO serves, too: its cars, buses and trucks are vehicles.

    Parameters
    ----------
    root : path-like
        Where `render_environments` put them.
    names : collection of str
        Of the environments.
    """
    files = [
        SeedSetFiles(
            name,
            Path(root) / name / "annotations.json",
            Path(root) / name / "images",
            {CATEGORY: CATEGORY},
        )
        for name in names
    ]
    return Task("road world", (CATEGORY,), tuple(files), dict.fromkeys(COCO_WORDS, CATEGORY))
