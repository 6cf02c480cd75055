"""A few images of the sites with an alarm and of the worst ones, with their boxes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from autoeval.io.images import UnreadableImageError, read_image
from autoeval.monitoring.site_records import CameraImage, RecordStore
from autoeval.monitoring.watched import ALARM, Watched
from autoeval.report.embed import thumbnail_uri
from autoeval.results.thumbnails import draw_boxes

OF_SITE, MOST, SIDE = 4, 12, 240


def site_pictures(
    watched: Watched, store: RecordStore, paths: Mapping[str, Path]
) -> dict[str, list[tuple[str, str]]]:
    """Return pictures of sites by name, data URIs with captions, for `site_board`.

    Those with an alarm come with the images that have the largest part in it, then the worst sites
    with their latest images, until there are `MOST`; other sites have none. `paths` are where the
    images lie now, by name.
    """
    index = store.index()
    index = index[(index["unreadable"] == "") & index["file_name"].isin(paths)]
    worst = watched.table.sites.head(watched.table.k)
    rows = pd.concat([watched.alarms, worst]).drop_duplicates("group").head(MOST // OF_SITE)
    pictures = {}
    for row in rows.to_dict("records"):
        images = index[index["group"] == row["group"]]
        if row.get(ALARM) and len(row["influential"]):
            images = images[images["file_name"].isin(row["influential"][:OF_SITE])]
        else:
            images = images.sort_values(["taken", "file_name"], kind="stable").tail(OF_SITE)
        records = watched.table.categories.select(str(row["group"]), store.read(images))
        drawn = (_picture(record, paths[record.file_name]) for record in records)
        pictures[str(row["group"])] = [picture for picture in drawn if picture]
    return pictures


def _picture(record: CameraImage, path: Path) -> tuple[str, str] | None:
    try:
        image = read_image(path)
    except UnreadableImageError:
        return None
    drawn = draw_boxes(image, record.clean.above(0.3), (), side=SIDE)
    when = f", {record.taken:%Y-%m-%d %H:%M}" if record.taken else ""
    return thumbnail_uri(drawn, SIDE), f"{record.file_name}{when}"
