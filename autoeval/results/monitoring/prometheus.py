"""What is known of sites as a text file for Prometheus.

Source: Prometheus, "Exposition formats", text-based format 0.0.4; the file is meant for the
textfile collector of node_exporter.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import pandas as pd

from autoeval.monitoring.order.site_table import FALSE_ALARMS

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
}
PREFIX = "autoeval_site_"


def prometheus_text(sites: pd.DataFrame, *, target: str, finished_s: float) -> str:
    """Write the gauges of all sites."""
    lines = [
        "# HELP autoeval_monitor_finished_seconds When the last run ended, since 1970.",
        "# TYPE autoeval_monitor_finished_seconds gauge",
        f"autoeval_monitor_finished_seconds {finished_s:.3f}",
    ]
    for column, (name, meaning) in GAUGES.items():
        if column in sites:
            lines += [f"# HELP {PREFIX}{name} {meaning}", f"# TYPE {PREFIX}{name} gauge"]
            lines += _samples(PREFIX + name, sites["group"], sites[column], target)
    for column in (of for of in sites if str(of).startswith((FALSE_ALARMS, "recall@"))):
        measure, _, rest = column.partition("@")
        threshold, _, end = rest.partition("_")
        name = PREFIX + "_".join(filter(None, (measure, end)))
        meaning = "False alarms an image" if column.startswith(FALSE_ALARMS) else "Estimated recall"
        lines += [f"# HELP {name} {meaning} at a score threshold.", f"# TYPE {name} gauge"]
        lines += _samples(name, sites["group"], sites[column], f"{measure}@{threshold}")
    return "\n".join(lines) + "\n"


def _samples(name: str, groups: pd.Series, values: pd.Series, target: str) -> Iterator[str]:
    for group, value in zip(groups, values, strict=True):
        if not pd.isna(value) and math.isfinite(float(value)):
            labels = f'site="{_escaped(str(group))}",target="{_escaped(target)}"'
            yield f"{name}{{{labels}}} {float(value):.10g}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
