"""A few images of the sites with an alarm and of the worst ones, with their boxes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from autoeval.detections import Detections
from autoeval.io.images import UnreadableImageError, read_image
from autoeval.monitoring.monitor_store import CameraImage, MonitorStore
from autoeval.monitoring.monitored import Monitored
from autoeval.report.embed import thumbnail_uri
from autoeval.results.thumbnails import draw_boxes

OF_SITE, MOST, SIDE = 4, 12, 240
SURE = 0.3


def site_pictures(
    monitored: Monitored, store: MonitorStore, paths: Mapping[str, Path]
) -> dict[str, list[tuple[str, str]]]:
    """Return pictures of sites by name, data URIs with captions, for `site_board`.

    The latest images of the first sites, until there are `MOST`; other sites have none. `paths` are
    where the images lie now, by name.
    """
    index = store.index()
    index = index[(index["unreadable"] == "") & index["kept"] & index["name"].isin(paths)]
    pictures = {}
    for site in monitored.sites[: MOST // OF_SITE]:
        images = index[index["site"] == site.name].sort_values(["taken", "name"], kind="stable")
        records = store.read(images["name"].tail(OF_SITE).tolist())
        drawn = (_picture(record, paths[record.name]) for record in records)
        pictures[site.name] = [picture for picture in drawn if picture]
    return pictures


def _picture(record: CameraImage, path: Path) -> tuple[str, str] | None:
    try:
        image = read_image(path)
    except UnreadableImageError:
        return None
    rows = record.boxes
    boxes = Detections(rows["box"], rows["score"], rows["label"].astype(int)).above(SURE)
    when = f", {record.taken:%Y-%m-%d %H:%M}" if record.taken else ""
    return thumbnail_uri(draw_boxes(image, boxes, (), side=SIDE), SIDE), f"{record.name}{when}"
