"""Alarms that were not sent before, as JSON lines and by webhook."""

from __future__ import annotations

import json
import math
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from prometheus_client import CollectorRegistry, Gauge, generate_latest

from autoeval.errors import InputError
from autoeval.monitoring.order.site_table import FALSE_ALARMS
from autoeval.monitoring.watched import BELOW, Watched
from autoeval.runtime.files import write_json

SENT = "alarms_sent.json"
SENT_COLUMNS = (
    *("group", "estimate", "change", "change_lower", "change_upper"),
    *("since", "since_image", "alarm_at", "moved", "below"),
)
LEFT_OUT = {"digest"}
TIMEOUT_S = 10.0


class NewAlarms:
    """Alarms of a run, without those that were sent before.

    A site whose alarm has ended is forgotten, so that a second one is sent again. `rows` are plain
    values of each new alarm, and ``influential``, the images with the largest part in it.
    """

    def __init__(self, folder: Path, watched: Watched) -> None:
        self._path = folder / SENT
        alarms = list(plain_rows(watched.alarms))
        self._now = {row["group"]: row.get("since") for row in alarms}
        before = json.loads(self._path.read_text()) if self._path.exists() else {}
        new = [row for row in alarms if row["group"] not in before]
        self.rows: list[dict[str, Any]] = [
            {name: row.get(name) for name in SENT_COLUMNS}
            | {"influential": row.get("influential", [])}
            for row in new
        ]
        if before.keys() - self._now.keys():
            write_json(self._path, {k: v for k, v in before.items() if k in self._now})

    def remember(self) -> None:
        """Note that the alarms of now were sent."""
        write_json(self._path, self._now)


def plain_rows(rows: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield each row as values that JSON knows: times in ISO 8601, what is not there as None."""
    for row in rows.to_dict("records"):
        yield {str(k): plain(v) for k, v in row.items() if k not in LEFT_OUT}


def json_lines(rows: pd.DataFrame) -> str:
    """Return one line of JSON a row, null for NaN."""
    return "\n".join(json.dumps(row, ensure_ascii=False) for row in plain_rows(rows))


def plain(value: Any) -> Any:
    """Return a value that JSON knows."""
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if value is None or value is pd.NaT or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, pd.Timestamp):
        return value.isoformat()
    return value.item() if hasattr(value, "item") else value


def post_json(url: str, value: Any, *, timeout_s: float = TIMEOUT_S) -> None:
    """Send a value as JSON to an address (POST).

    Raises OSError if nothing answers there, or not with success.
    """
    if not url.startswith(("http://", "https://")):
        raise InputError(f"Expected --webhook as an http or https address, but got {url!r}.")
    body = json.dumps(value, ensure_ascii=False).encode()
    headers = {"Content-Type": "application/json", "User-Agent": "autoeval"}
    request = urllib.request.Request(url, data=body, headers=headers, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=timeout_s):
            pass
    except urllib.error.HTTPError as error:
        raise OSError(f"the webhook {url} answered {error.code} {error.reason}") from error
    except urllib.error.URLError as error:
        raise OSError(f"the webhook {url} cannot be reached: {error.reason}") from error


GAUGES = {
    "estimate": ("estimate", "Estimated accuracy of the detector at the site, 0 to 1."),
    "lower": ("estimate_lower", "Lower end of its interval."),
    "upper": ("estimate_upper", "Upper end of its interval."),
    "p_worst": ("among_worst", "Probability that the site is among the worst ones."),
    "n_images": ("images", "Images observed there."),
    "n_unreadable": ("unreadable_images", "Images there that cannot be read."),
    "change": ("change", "Estimated change of the accuracy against the site's own baseline."),
    "change_lower": ("change_lower", "Lower end of its interval."),
    "change_upper": ("change_upper", "Upper end of its interval."),
    "alarm": ("alarm", "1 where the site has changed: worse if change_upper is below 0."),
    "below": ("below", "1 where the interval of the estimate is below --alarm-below."),
}
PREFIX = "autoeval_site_"


def prometheus_text(sites: pd.DataFrame, *, target: str, finished_s: float) -> str:
    """Write the gauges of all sites in Prometheus's text format; a value of NaN is left out."""
    registry = CollectorRegistry()
    finished = "autoeval_monitor_finished_seconds"
    Gauge(finished, "When the last run ended, since 1970.", registry=registry).set(finished_s)
    if BELOW in sites:
        sites = sites.assign(below=sites[BELOW] != "")
    shown = [(column, *of, target) for column, of in GAUGES.items() if column in sites]
    for column in (of for of in sites if str(of).startswith((FALSE_ALARMS, "recall@"))):
        measure, _, rest = column.partition("@")
        threshold, _, end = rest.partition("_")
        meaning = "False alarms an image" if column.startswith(FALSE_ALARMS) else "Estimated recall"
        name = "_".join(filter(None, (measure, end)))
        shown.append((column, name, f"{meaning} at a score threshold.", f"{measure}@{threshold}"))
    for column, name, meaning, of_target in shown:
        gauge = Gauge(PREFIX + name, meaning, ["site", "target"], registry=registry)
        for group, value in zip(sites["group"], sites[column].astype(float), strict=True):
            if np.isfinite(value):
                gauge.labels(group, of_target).set(value)
    return generate_latest(registry).decode()
