"""What is reported to other programs about sites: JSON lines, gauges for Prometheus, a webhook."""

from __future__ import annotations

import http.client
import json
import math
import socket
import ssl
import time
import urllib.parse
from typing import Any

import numpy as np
import pandas as pd
from prometheus_client import CollectorRegistry, Gauge, generate_latest

from autoeval.errors import InputError
from autoeval.monitoring.monitor_store import MonitorStore
from autoeval.monitoring.monitored import CHANGE, Monitored, MonitoredSite
from autoeval.result_base import ENDS
from autoeval.runtime.files import plain
from autoeval.words import masked_address

SENT_FIELDS = (
    *("name", "window", *ENDS, *CHANGE),
    *("level", "target", "n_images"),
)
DEADLINE_S = 10.0  # from the call to the answer's status, however slowly it comes
GAUGES = {
    "fell": "1 where the accuracy fell against the baseline, 0 where not; absent while not known.",
    "changed": "The same of boxes that changed.",
    "alarm": "1 where the site has an alarm, 0 where it is known to have none.",
    "below": "1 where the interval is below --alarm-below, 0 where not; absent while not known, or "
    "without it.",
    "estimate": "Estimated accuracy of the latest window, complete if one is, 0 to 1.",
    "estimate_lower": "Lower end of its interval.",
    "estimate_upper": "Upper end of its interval.",
    "change": "Estimated change of the accuracy against the site's own baseline.",
    "change_lower": "Lower end of its interval.",
    "change_upper": "Upper end of its interval.",
    "among_worst": "Probability that the site is among the worst ones.",
    "images": "Images of that window that could be read.",
    "unreadable_images": "Images of it that cannot be read.",
    "last_image_seconds": "When the latest image was taken by the camera's clock, as if in UTC, "
    "since 1970.",
}
FIELDS = {
    **{"estimate": "value", "estimate_lower": "lower", "estimate_upper": "upper"},
    **{name: name for name in CHANGE},
    **{"among_worst": "p_worst", "images": "n_images", "unreadable_images": "n_unreadable"},
}
"""Field of a `MonitoredSite` for those of `GAUGES` that are one."""
PREFIX = "autoeval_site_"
NOT_EVALUATED = {"unreadable", "too_few"}  # then the value says nothing of the site
NOT_KNOWN = {*NOT_EVALUATED, "learning"}  # then it is not known whether the site changed


def new_alarms(store: MonitorStore, monitored: Monitored) -> list[dict[str, Any]]:
    """Return the alarms of a run that were not sent before, by site and kind; see `remember`.

    An alarm that has ended is forgotten, so that a second one is sent again.

    Parameters
    ----------
    store : MonitorStore
        Knows what was sent; alarms that have ended are taken out of it.
    monitored : Monitored
        The run.

    Returns
    -------
    list of dict
        One for each alarm: ``site``, ``kind``, ``reason``, and the other `SENT_FIELDS` of the site,
        as JSON takes them.
    """
    now = _alarms_of(monitored)
    before = store.sent()
    if before - now.keys():
        store.keep_sent(before & now.keys())
    return [values for key, values in now.items() if key not in before]


def remember(store: MonitorStore, monitored: Monitored) -> None:
    """Note that the alarms of a run were sent, so that `new_alarms` leaves them out.

    Parameters
    ----------
    store : MonitorStore
        Keeps site and kind of these alarms, in place of those of earlier runs.
    monitored : Monitored
        The run.
    """
    store.keep_sent(_alarms_of(monitored))


def _alarms_of(monitored: Monitored) -> dict[tuple[str, str], dict[str, Any]]:
    alarms = {}
    for site in monitored.alarms:
        for kind in site.alarms:
            values = {name: getattr(site, name) for name in SENT_FIELDS}
            alarms[site.name, kind] = plain(
                {"site": values.pop("name"), "kind": kind, "reason": site.reasons[kind], **values}
            )
    return alarms


def json_lines(rows: pd.DataFrame) -> str:
    """Return one line of JSON for each row.

    Parameters
    ----------
    rows : DataFrame
        Of any columns; numbers that are not finite become null.
    """
    return "\n".join(json.dumps(row, ensure_ascii=False) for row in plain(rows.to_dict("records")))


def check_webhook(url: str) -> None:
    """Refuse an address that is not that of a web server.

    Parameters
    ----------
    url : str
        The address.

    Raises
    ------
    InputError
        If it does not begin with ``http://`` or ``https://``; the message names the host alone.
    """
    if not url.startswith(("http://", "https://")):
        shown = masked_address(url)
        raise InputError(f"Expected --webhook as an http or https address, but got {shown!r}.")


def post_json(url: str, value: Any, *, deadline_s: float = DEADLINE_S) -> None:
    """Send a value as JSON to an address (POST).

    Delivered means that this address answers the POST itself with a status of 200 to 299: a
    redirect, which would make a GET of it, is none.

    Parameters
    ----------
    url : str
        The address. Messages name the host alone: the rest of the address of a webhook is its
        password.
    value : Any
        Fit for JSON.
    deadline_s : float
        Seconds that it may take in all.

    Raises
    ------
    InputError
        If it is no http or https address.
    OSError
        If nothing answers so in time.
    """
    check_webhook(url)
    shown = masked_address(url)
    try:
        status, reason = _posted(urllib.parse.urlsplit(url), value, deadline_s)
    except TimeoutError:
        raise OSError(f"the webhook {shown} did not answer within {deadline_s:g} s") from None
    except (ValueError, http.client.HTTPException) as error:  # these quote the address
        raise OSError(f"the webhook {shown} cannot be used ({type(error).__name__})") from None
    except OSError as error:
        raise OSError(f"the webhook {shown} cannot be reached: {error.strerror or error}") from None
    if 300 <= status < 400:
        raise OSError(
            f"the webhook {shown} redirects ({status}): give the address that it leads to"
        )
    if not 200 <= status < 300:
        raise OSError(f"the webhook {shown} answered {status} {reason}")


def _posted(url: urllib.parse.SplitResult, value: Any, deadline_s: float) -> tuple[int, str]:
    """Send a POST and return the status of its answer, whose body is not read."""
    end = time.monotonic() + deadline_s
    host = url.hostname or ""
    port = url.port or (443 if url.scheme == "https" else 80)
    body = json.dumps(value, ensure_ascii=False).encode()
    path = urllib.parse.urlunsplit(("", "", url.path or "/", url.query, ""))
    with socket.create_connection((host, port), timeout=deadline_s) as raw:
        raw.settimeout(max(end - time.monotonic(), 0.01))
        sock = raw
        if url.scheme == "https":
            sock = ssl.create_default_context().wrap_socket(raw, server_hostname=host)
        head = (
            f"POST {path} HTTP/1.1\r\nHost: {url.netloc.rpartition('@')[2]}\r\n"
            "Content-Type: application/json\r\nUser-Agent: autoeval\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        sock.settimeout(max(end - time.monotonic(), 0.01))
        sock.sendall(head.encode("latin-1") + body)
        line = b""
        while not line.endswith(b"\n"):  # one read may take no longer than is left of the whole
            left = end - time.monotonic()
            if left <= 0:
                raise TimeoutError
            sock.settimeout(left)
            part = sock.recv(1)
            if not part or len(line) > 1000:
                raise http.client.BadStatusLine("")
            line += part
    version, _, rest = line.decode("latin-1").strip().partition(" ")
    status, _, reason = rest.partition(" ")
    if not version.startswith("HTTP/") or not status.isdigit():
        raise http.client.BadStatusLine("")
    return int(status), reason


def prometheus_text(monitored: Monitored, *, finished_s: float) -> str:
    """Write the gauges of all sites in Prometheus's text format; what is not known is left out.

    Parameters
    ----------
    monitored : Monitored
        A run over many sites.
    finished_s : float
        When it ended, in seconds since 1970.
    """
    registry = CollectorRegistry()
    finished = "autoeval_monitor_finished_seconds"
    Gauge(finished, "When the last run ended, since 1970.", registry=registry).set(finished_s)
    labels = ["site", "target"]
    states = Gauge(
        f"{PREFIX}state", "1 for the state of the site.", [*labels, "state"], registry=registry
    )
    gauges = {
        name: Gauge(PREFIX + name, meaning, labels, registry=registry)
        for name, meaning in GAUGES.items()
    }
    for site in monitored.sites:
        named = (site.name, monitored.target)
        states.labels(*named, site.state).set(1)
        values = {name: float(getattr(site, field)) for name, field in FIELDS.items()}
        if site.last:
            values["last_image_seconds"] = pd.Timestamp(site.last, tz="UTC").timestamp()
        evaluated = not NOT_KNOWN & site.reasons.keys()
        if site.alarms or evaluated:
            values["alarm"] = bool(site.alarms)
        moved = {"fell", "changed"} & site.reasons.keys()
        if evaluated or moved:
            values |= {"fell": "fell" in site.reasons, "changed": bool(moved)}
        is_below = "below" in site.reasons
        has_value = not math.isnan(site.value) and not NOT_EVALUATED & site.reasons.keys()
        if "complete" in site.history:  # one to which images still come is not known to be below
            has_value = has_value and bool(site.history["complete"].any())
        if monitored.settings.alarm_below is not None and (is_below or has_value):
            values["below"] = is_below
        for name, value in values.items():
            if np.isfinite(value):
                gauges[name].labels(*named).set(value)
    _add_points(registry, monitored.sites)
    return generate_latest(registry).decode()


def _add_points(registry: CollectorRegistry, sites: tuple[MonitoredSite, ...]) -> None:
    """Add precision, recall and F1 at a threshold, where they are estimated."""
    gauges: dict[str, Gauge] = {}
    for site in sites:
        for target, ends in site.other_targets.items():
            measure = target.partition("@")[0]
            for end, value in ends.items():
                name = f"{PREFIX}{measure}" + ("" if end == "value" else f"_{end}")
                if name not in gauges:
                    meaning = (
                        f"Estimated {measure} at a score threshold, or an end of its interval."
                    )
                    gauges[name] = Gauge(name, meaning, ["site", "target"], registry=registry)
                if np.isfinite(value):
                    gauges[name].labels(site.name, target).set(value)
