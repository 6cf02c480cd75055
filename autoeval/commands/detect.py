"""What `autoeval detect` prints."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autoeval.boxes import Boxes
    from autoeval.commands.command_line import Given
    from autoeval.runtime.files import PathLike


def show(found: Boxes, given: Given, *, work_dir: PathLike = "work_dirs/detect") -> int:
    """Count the boxes and the images, and name what could not be read.

    `work_dir` is that of `autoeval.detect`.
    """
    from autoeval.words import counted, listed

    n_images = len(found.images)
    n_empty = n_images - len({*found.image.tolist()})
    scores = f", scores {found.floor:.3g} to {found.highest:.3g}" if len(found) else ""
    print(
        f"{counted(len(found), 'box', 'boxes')} on {counted(n_images, 'image')}, "
        f"{n_empty} of them without a box{scores}"
    )
    lost = found.run.unreadable if found.run else ()
    if lost:
        print(f"{len(lost)} of {n_images + len(lost)} images could not be read: {listed(lost, 10)}")
    output = given.values["output"]
    print(f"written: {output}")
    print(f"next: autoeval estimate --predictions {shlex.quote(str(output))}")
    return 0
