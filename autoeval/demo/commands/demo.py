"""Show the method at work on a rendered road world: no data, no download, minutes on a CPU."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from autoeval.words import refuse_given

if TYPE_CHECKING:
    from autoeval.runtime.files import PathLike

HELD_BACK = "dusk_city"


def demo(
    *,
    work_dir: PathLike | None = None,
    held_back: str | None = None,
    published: bool = False,
    sample: PathLike | None = None,
) -> None:
    """Show the method at work on a rendered road world: no data, no download, minutes on a CPU.

    Renders ten environments, holds one back, fits an estimator on the other nine, and estimates the
    mAP of a small vehicle detector on the tenth: from its boxes alone, then with twenty labels. The
    last paragraph compares both with the truth; the tables are on the page and in tables.txt.

    Parameters
    ----------
    work_dir : path-like, optional
        Where to write (default: work_dirs/demo).
    held_back : str, optional
        Environment that is estimated (default: dusk_city).
    published : bool
        Compare with published scores in the tables, too; takes three times as long.
    sample : path-like, optional
        Write a small sample of labels and predictions into this folder instead.
    """
    if sample is not None:
        reason = "is about the demo, and --sample renders none of it: leave it out."
        given = {"work_dir": work_dir, "held_back": held_back, "published": published}
        refuse_given(given, reason)
        from autoeval.demo.sample import write_sample

        print(*write_sample(Path(sample)), sep="\n")
        return
    from autoeval.demo.showing import show_method

    folder = Path(work_dir or "work_dirs/demo")
    print(
        show_method(
            folder, held_back=HELD_BACK if held_back is None else held_back, published=published
        )
    )
