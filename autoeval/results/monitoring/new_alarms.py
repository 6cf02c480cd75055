"""Alarms that were not sent before, as JSON lines and by webhook."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from prometheus_client import CollectorRegistry, Gauge, generate_latest

from autoeval.errors import InputError
from autoeval.io.wording import masked_address
from autoeval.monitoring.order.row_estimates import FALSE_ALARMS
from autoeval.monitoring.watched import BELOW, Watched
from autoeval.runtime.files import write_json
from autoeval.runtime.json_values import plain

SENT = "alarms_sent.json"
SENT_COLUMNS = (
    *("group", "estimate", "change", "change_lower", "change_upper"),
    *("since", "since_image", "alarm_at", "moved", "below"),
)
TIMEOUT_S = 10.0
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


def new_alarms(folder: Path, watched: Watched) -> list[dict[str, Any]]:
    """Return the alarms of a run that were not sent before, as plain values; see `remember`.

    Each has ``influential``, the images with the largest part in it. A site whose alarm has ended
    is forgotten, so that a second one is sent again.
    """
    path, alarms = folder / SENT, known_rows(watched.alarms)
    before = json.loads(path.read_text()) if path.exists() else {}
    now = {row["group"] for row in alarms}
    if before.keys() - now:
        write_json(path, {group: since for group, since in before.items() if group in now})
    return [
        {name: row.get(name) for name in SENT_COLUMNS} | {"influential": row.get("influential", [])}
        for row in alarms
        if row["group"] not in before
    ]


def remember(folder: Path, watched: Watched) -> None:
    """Note that the alarms of a run were sent."""
    sent = {row["group"]: row.get("since") for row in known_rows(watched.alarms)}
    write_json(folder / SENT, sent)


def known_rows(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Return rows of a `SiteTable` as values that JSON knows."""
    return plain(rows.drop(columns=["digest"], errors="ignore").to_dict("records"))


def json_lines(rows: pd.DataFrame) -> str:
    """Return one line of JSON a row."""
    return "\n".join(json.dumps(row, ensure_ascii=False) for row in known_rows(rows))


def post_json(url: str, value: Any, *, timeout_s: float = TIMEOUT_S) -> None:
    """Send a value as JSON to an address (POST).

    Raises OSError if nothing answers there, or not with success. Messages name the host alone: the
    rest of the address of a webhook is its password.
    """
    shown = masked_address(url)
    if not url.startswith(("http://", "https://")):
        raise InputError(f"Expected --webhook as an http or https address, but got {shown!r}.")
    body = json.dumps(value, ensure_ascii=False).encode()
    headers = {"Content-Type": "application/json", "User-Agent": "autoeval"}
    try:
        request = urllib.request.Request(url, data=body, headers=headers, method="POST")
        with urllib.request.urlopen(request, timeout=timeout_s):
            pass
    except urllib.error.HTTPError as error:
        raise OSError(f"the webhook {shown} answered {error.code} {error.reason}") from None
    except urllib.error.URLError as error:
        raise OSError(f"the webhook {shown} cannot be reached: {error.reason}") from None
    except (ValueError, http.client.HTTPException) as error:  # these quote the address
        raise OSError(f"the webhook {shown} is no address ({type(error).__name__})") from None


def prometheus_text(sites: pd.DataFrame, *, target: str, finished_s: float) -> str:
    """Write the gauges of all sites in Prometheus's text format; a value of NaN is left out."""
    registry = CollectorRegistry()
    finished = "autoeval_monitor_finished_seconds"
    Gauge(finished, "When the last run ended, since 1970.", registry=registry).set(finished_s)
    if BELOW in sites:
        sites = sites.assign(below=sites[BELOW] != "")
    shown = [(column, *gauge, target) for column, gauge in GAUGES.items() if column in sites]
    for column in (name for name in sites if str(name).startswith((FALSE_ALARMS, "recall@"))):
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
