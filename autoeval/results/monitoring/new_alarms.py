"""Which alarms were not sent before, so that a run from cron sends each once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from autoeval.monitoring.watched import Watched
from autoeval.results.monitoring.plain_rows import plain_rows
from autoeval.runtime.writers import write_json

SENT = "alarms_sent.json"
SENT_COLUMNS = (
    "group",
    "estimate",
    "change",
    "change_lower",
    "change_upper",
    "since",
    "since_image",
    "alarm_at",
    "moved",
)


class NewAlarms:
    """Alarms of a run, without those that were sent before.

    A site whose alarm has ended is forgotten, so that a second one is sent again.

    Parameters
    ----------
    folder : Path
    watched : Watched

    Attributes
    ----------
    rows : list of dict
        Plain values of each new alarm, and ``influential``, the images with the largest part in it.
    """

    def __init__(self, folder: Path, watched: Watched) -> None:
        self._path = folder / SENT
        alarms = list(plain_rows(watched.alarms))
        self._now = {row["group"]: row.get("since") for row in alarms}
        before = json.loads(self._path.read_text()) if self._path.exists() else {}
        new = [row for row in alarms if row["group"] not in before]
        self.rows: list[dict[str, Any]] = [
            {
                **{name: row.get(name) for name in SENT_COLUMNS},
                "influential": row.get("influential", []),
            }
            for row in new
        ]
        if before.keys() - self._now.keys():
            write_json(self._path, {k: v for k, v in before.items() if k in self._now})

    def remember(self) -> None:
        """Note that the alarms of now were sent."""
        write_json(self._path, self._now)
