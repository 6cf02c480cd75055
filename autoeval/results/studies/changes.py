"""What is told of changes, and when an alarm is raised: tables by kind of change, and a picture."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from autoeval.metasets.seeds import named_rng
from autoeval.monitoring.changes.image_numbers import image_numbers
from autoeval.monitoring.fitting.changed_images import ChangedImages
from autoeval.monitoring.fitting.fit_change import NO_KIND
from autoeval.monitoring.fitting.known_changes import KnownChanges, known_changes
from autoeval.report.parts import Part
from autoeval.report.study_report import StudyReport
from autoeval.runtime.progress import progress_bar
from autoeval.studies import change_alarms as alarms
from autoeval.studies import change_errors as errors

ABOUT = (
    "Each labelled place as it comes, and under corruptions. Every figure is of slopes that have "
    "seen neither the family of the place nor, unless *kind known* is said, the kind of change. "
    "*error*: mean absolute, in points of mAP; *nothing*: that of saying that nothing changed; "
    "*sign*: right direction, of true changes over 3 points. Alarms: untouched images in random "
    "order, then changed ones; *power*: share of streams with an alarm after the onset; *known "
    "worse*: of these, those whose told change excludes that nothing was lost; *delay*: images "
    "until the alarm, median. The first table by kind compares the same images, the second the "
    "changed ones with other images of the place."
)
WAY_NAMES = {
    "estimate": "family and kind not seen",
    "kind_known": "family not seen, kind known",
    "labelled": "family and kind not seen, level before known",
    "with_signals": "family and kind not seen, signals of the camera too",
    "nothing": "no change",
}


def changes_report(
    observed: Sequence[ChangedImages],
    categories: Sequence[str],
    problems: Sequence[str] = (),
    *,
    alpha: float = 0.05,
    orders: int = 20,
    seed: int = 0,
) -> StudyReport:
    """Judge changes and alarms on what was observed of labelled places.

    Parameters
    ----------
    observed : sequence of ChangedImages
        From `observe_changes`.
    categories : sequence of str
        Of the task.
    problems : sequence of str
        What could not be observed.
    alpha : float
        Nominal rate of false alarms.
    orders : int
        Random orders of the images of each stretch.
    seed : int
        Of the orders.
    """
    changes, levels = known_changes(observed, categories)
    judged = errors.judged_changes(changes, levels)
    widening = dict(zip(judged["family"], judged["widening"], strict=True))
    models = alarms.LeftOutModels(changes, widening)
    raised = _raised(changes, models, orders=orders, alpha=alpha, seed=seed)
    untouched = _untouched(observed, levels, categories, models, orders, alpha, seed)
    power = alarms.power_table(raised, "kind")
    of_all = alarms.power_table(raised.assign(kind="all"), "kind")
    of_severity = alarms.power_table(raised, "severity")
    conditions = _told(alarms.other_conditions(observed, levels, categories), models)
    apart = _told(alarms.stretches(changes), models)
    parts = [
        _ways(judged),
        _figures_part("change_by_kind", errors.by_group(judged, "kind")),
        *([_figures_part("change_apart", errors.by_group(apart, "kind"))] if len(apart) else []),
        _figures_part("change_by_severity", errors.by_group(judged, "severity")),
        Part("changes_judged", judged, pd.DataFrame({"changes judged": [len(judged)]})),
        _power_part("change_alarms", pd.concat([of_all, power], ignore_index=True), "kind"),
        _power_part("change_alarms_by_severity", of_severity, "severity"),
        _false_part(untouched, alpha),
        *([_conditions_part(conditions)] if len(conditions) else []),
    ]
    title = "Which changes are seen"
    return StudyReport("changes", title, ABOUT, _figure(judged, of_all), parts, problems)


def _told(stretches: Iterable[alarms.Stretch], models: alarms.LeftOutModels) -> pd.DataFrame:
    """Tell the change from the untouched images of each stretch to other ones."""
    return pd.DataFrame(
        [
            {
                **s.key,
                "true": s.true,
                **alarms.told_change(s, models.of(str(s.key["family"]), _known_kind(s, models))),
            }
            for s in stretches
        ]
    )


def _known_kind(stretch: alarms.Stretch, models: alarms.LeftOutModels) -> str:
    kind = str(stretch.key["kind"])
    return kind if kind in set(models.changes.rows["kind"]) else NO_KIND


def _raised(
    changes: KnownChanges,
    models: alarms.LeftOutModels,
    *,
    orders: int,
    alpha: float,
    seed: int,
) -> pd.DataFrame:
    every = list(alarms.stretches(changes))
    rows: list[dict[str, object]] = []
    with progress_bar(len(every), "watching places", unit="stretch") as bar:
        for stretch in every:
            model = models.of(str(stretch.key["family"]), str(stretch.key["kind"]))
            rows += alarms.alarms(stretch, model, orders=orders, alpha=alpha, seed=seed)
            bar.update()
    return pd.DataFrame(rows)


def _untouched(
    observed: Sequence[ChangedImages],
    levels: pd.DataFrame,
    categories: Sequence[str],
    models: alarms.LeftOutModels,
    orders: int,
    alpha: float,
    seed: int,
) -> pd.DataFrame:
    """Watch every place and category untouched, in random orders and in that of the files."""
    rows = []
    records = {images.place: images.records for images in observed if not images.change}
    for place in levels.to_dict("records"):
        numbers = image_numbers(records[place["place"]], categories.index(place["category"]))
        model = models.of(place["family"])
        asked = numbers, model
        key = seed, place["place"], place["category"]
        orders_drawn = [named_rng(*key, k).permutation(len(numbers)) for k in range(orders)]
        drawn = alarms.false_alarms(*asked, orders_drawn, alpha=alpha)
        files = alarms.false_alarms(*asked, [np.arange(len(numbers))], alpha=alpha)
        rows += [
            {
                **{name: place[name] for name in ("place", "family", "category")},
                "monitor": monitor,
                "random": drawn[monitor],
                "files": files[monitor],
            }
            for monitor in alarms.MONITORS
        ]
    return pd.DataFrame(rows)


def _ways(judged: pd.DataFrame) -> Part:
    rows = [{"way": way, **errors.change_figures(judged, way)} for way in errors.WAYS]
    table = pd.DataFrame(rows)
    shown = {
        "told with": [WAY_NAMES[way] for way in table["way"]],
        "error": _points(table["error"]),
        "sign %": _percent(table["sign"]),
    }
    return Part("change_ways", table, pd.DataFrame(shown))


def _figures_part(name: str, table: pd.DataFrame) -> Part:
    first = table.columns[0]
    shown = {
        first: table[first],
        "changes": table["changes"],
        "true mean": _points(table["fell"]),
        "error": _points(table["error"]),
        "nothing": _points(table["nothing"]),
        "over 3 points": table["large"],
        "sign %": _percent(table["sign"]),
        "half width": _points(table["half_width"]),
        "coverage %": _percent(table["coverage"]),
    }
    return Part(name, table, pd.DataFrame(shown))


def _power_part(name: str, table: pd.DataFrame, group: str) -> Part:
    texts = {low: _fall_text(low, high) for low, high in alarms.FALLS}
    order = {low: k for k, (low, _) in enumerate(alarms.FALLS)}
    keys = [group, "fall"]
    wide = table.pivot(index=keys, columns="monitor", values=["streams", "power", "worse", "delay"])
    wide = wide.reset_index()
    wide = wide.sort_values(
        keys, key=lambda c: c.map(order) if c.name == ("fall", "") else c, kind="stable"
    )
    first, other = alarms.MONITORS
    shown = {
        group: wide[group],
        "true fall": wide["fall"].map(texts),
        "streams": wide["streams", first].astype(int),
        "power %": _percent(wide["power", first]),
        "known worse %": _percent(wide["worse", first]),
        "delay": _whole(wide["delay", first]),
        f"power %, {other}": _percent(wide["power", other]),
        f"delay, {other}": _whole(wide["delay", other]),
    }
    return Part(name, table, pd.DataFrame(shown).reset_index(drop=True))


def _false_part(untouched: pd.DataFrame, alpha: float) -> Part:
    means = untouched.groupby("monitor", sort=False)[["random", "files"]].mean().reset_index()
    shown = {
        "monitor": means["monitor"],
        "nominal %": _percent(pd.Series([alpha] * len(means))),
        "false alarms %": _percent(means["random"], 1),
        "in the order of the files %": _percent(means["files"], 1),
    }
    return Part("change_false_alarms", untouched, pd.DataFrame(shown))


def _conditions_part(table: pd.DataFrame) -> Part:
    shown = {
        "from": table["place"],
        "to": table["kind"],
        "category": table["category"],
        "true": _points(table["true"]),
        "told": _points(table["estimate"]),
        "interval": [
            f"{100 * low:.0f} to {100 * high:.0f}"
            for low, high in zip(table["lower"], table["upper"], strict=True)
        ],
    }
    return Part("change_of_conditions", table, pd.DataFrame(shown))


def _fall_text(low: float, high: float) -> str:
    if low < 0:
        return f"under {100 * high:.0f}, or a rise"
    return f"{100 * low:.0f} to {100 * high:.0f}" if high < 1 else f"over {100 * low:.0f}"


def _points(values: pd.Series) -> list[str]:
    return [f"{100 * value:.1f}" if pd.notna(value) else "–" for value in values]


def _percent(values: pd.Series, digits: int = 0) -> list[str]:
    return [f"{100 * value:.{digits}f}" if pd.notna(value) else "–" for value in values]


def _whole(values: pd.Series) -> list[str]:
    return [f"{value:.0f}" if pd.notna(value) else "–" for value in values]


def _figure(judged: pd.DataFrame, power: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(9, 4.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    blurred = judged["kind"].to_numpy() == "defocus_blur"
    for chosen, colour, name in ((~blurred, "0.55", "others"), (blurred, "C3", "defocus")):
        rows = judged[chosen]
        left.plot(100 * rows["true"], 100 * rows["estimate"], ".", color=colour, label=name)
    low = 100 * float(min(judged["true"].min(), judged["estimate"].min()))
    left.plot([low, 10], [low, 10], color="0.3", lw=1)
    left.set(xlabel="true change (points of mAP)", ylabel="told, family and kind not seen")
    left.legend()
    falls = [low for low, _ in alarms.FALLS]
    for k, (monitor, own) in enumerate(power.groupby("monitor", sort=False)):
        heights = own.set_index("fall")["power"].reindex(falls) * 100
        right.bar(np.arange(len(falls)) + 0.38 * k, heights, 0.36, label=str(monitor))
    right.set_xticks(np.arange(len(falls)) + 0.19, [_fall_text(*fall) for fall in alarms.FALLS])
    right.set(xlabel="true fall (points of mAP)", ylabel="streams with an alarm (%)", ylim=(0, 110))
    right.legend(loc="upper center", ncols=2, frameon=False)
    return figure
