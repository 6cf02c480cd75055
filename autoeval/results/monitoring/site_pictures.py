"""A few images of the sites with an alarm and of the worst ones, with their boxes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from autoeval.data.images import UnreadableImageError, read_image
from autoeval.monitoring.site_records import CameraImage, RecordStore
from autoeval.monitoring.watched import ALARM, Watched
from autoeval.report.embed import thumbnail_uri
from autoeval.results.thumbnails import draw_boxes

OF_SITE, MOST, SIDE = 4, 48, 240


class SitePictures:
    """Pictures of sites by name, for `site_board`.

    Those with an alarm come with the images that have the largest part in it, then the worst sites
    with their latest images, until there are `MOST`; other sites have none. `paths` are where the
    images lie now, by name.
    """

    def __init__(self, watched: Watched, store: RecordStore, paths: Mapping[str, Path]) -> None:
        self._store, self._paths = store, paths
        index = store.index()
        self._index = index[index["unreadable"] == ""]
        alarmed = watched.alarms.to_dict("records")
        worst = watched.table.sites.head(watched.table.k).to_dict("records")
        rows = {str(row["group"]): row for row in [*worst, *alarmed]}
        order = [*(str(row["group"]) for row in alarmed), *(str(row["group"]) for row in worst)]
        self._rows = {name: rows[name] for name in list(dict.fromkeys(order))[: MOST // OF_SITE]}

    def __call__(self, group: str) -> Sequence[tuple[str, str]]:
        """Return data URIs with captions."""
        if group not in self._rows:
            return ()
        records = self._store.read(self._chosen(group, self._rows[group]))
        return [picture for record in records if (picture := self._picture(record))]

    def _chosen(self, group: str, row: Mapping[str, Any]) -> Any:
        own = self._index[self._index["group"] == group]
        own = own[own["file_name"].isin(self._paths)]
        if row.get(ALARM) and len(row["influential"]):
            return own[own["file_name"].isin(row["influential"][:OF_SITE])]
        return own.sort_values(["taken", "file_name"], kind="stable").tail(OF_SITE)

    def _picture(self, record: CameraImage) -> tuple[str, str] | None:
        try:
            image = read_image(self._paths[record.file_name])
        except UnreadableImageError:
            return None
        drawn = draw_boxes(image, record.clean.above(0.3), (), side=SIDE)
        when = f", {record.taken:%Y-%m-%d %H:%M}" if record.taken else ""
        return thumbnail_uri(drawn, SIDE), f"{record.file_name}{when}"
