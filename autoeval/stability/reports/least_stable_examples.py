"""Images to look at: where boxes move most under feature dropout."""

from __future__ import annotations

import pandas as pd

from autoeval.report.page import Block, Chart, Heading, Thumbnails
from autoeval.report.pictures import SHOWN, Pictures, picture_of
from autoeval.report.text import Table
from autoeval.stability.methods.scored_site import ScoredSite
from autoeval.stability.passes.least_stable import UnstableImage
from autoeval.words import counted

LEGEND = "blue: boxes of the unperturbed network; orange: with feature dropout, all repeats"


def least_stable_blocks(site: ScoredSite) -> list[Block]:
    """Return pictures of the images whose boxes move most; a table where they are not at hand.

    Nothing where there was no dropout.
    """
    rows = least_stable_table(site)
    if rows.empty:
        return []
    pictures, caption = least_stable_pictures(site), "The least stable of the unlabelled images"
    about = (
        f"The least stable of the unlabelled images ({LEGEND}; faint: score under .3). "
        "Stability is the mean GIoU of partners before and after dropout, where a lost box "
        "counts 0: 1 where no box moves, below 0 where partners lie apart."
    )
    formats, on_page = {"stability": "{:.3f}"}, not pictures
    table = Table("least_stable", rows, None, formats, caption, on_page=on_page)
    blocks: list[Block] = [Heading("Where boxes move most under dropout")]
    if pictures:
        from autoeval.report.plots import picture_rows

        sheet = picture_rows(pictures, f"Least stable images; {LEGEND}")
        blocks += [Thumbnails(pictures, about), Chart(sheet, name="least_stable", on_page=False)]
    return [*blocks, table]


def least_stable_table(site: ScoredSite) -> pd.DataFrame:
    """Lay out the images whose boxes move most, one row each."""
    unstable = site.least_stable
    columns = {
        "image": [image.image_id for image in unstable],
        "stability": [image.stability for image in unstable],
        "boxes": [len(image.clean) for image in unstable],
        "boxes with dropout": [_counts(image) for image in unstable],
    }
    return pd.DataFrame(columns)


def least_stable_pictures(site: ScoredSite) -> Pictures:
    """Draw the first of them with their boxes before and after dropout."""
    files = {file.image_id: (k, file) for k, file in enumerate(site.images)}
    on_disk = [image for image in site.least_stable if image.image_id in files][:SHOWN]
    # In the order of the files: a video is decoded forward.
    order = sorted(on_disk, key=lambda image: files[image.image_id][0])
    drawn = {
        image.image_id: picture_of(
            files[image.image_id][1],
            image.clean,
            image.perturbed,
            f"{image.image_id}: stability {image.stability:.2f}, "
            f"{counted(len(image.clean), 'box', 'boxes')}, {_counts(image)} with dropout",
        )
        for image in order
    }
    return [drawn[image.image_id] for image in on_disk]


def _counts(image: UnstableImage) -> str:
    counts = [len(boxes) for boxes in image.perturbed]
    low, high = min(counts), max(counts)
    return str(low) if low == high else f"{low} to {high}"
