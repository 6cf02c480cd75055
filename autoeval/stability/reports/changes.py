"""How well changes are estimated, and when an alarm is raised: tables and a figure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from autoeval.errors import InputError
from autoeval.io.tasks.seed_set import named_rng
from autoeval.report.sections import Part
from autoeval.runtime.progress import progress_bar
from autoeval.stability.change_slopes import fit_change as errors
from autoeval.stability.change_slopes.fit_change import (
    CLEAN_BOXES,
    HALF_SIZE,
    NETWORK,
    NO_KIND,
    ChangeInputs,
)
from autoeval.stability.change_slopes.known_changes import (
    ChangedImages,
    KnownChanges,
    known_changes,
)
from autoeval.stability.reports.study_report import StudyReport
from autoeval.stability.studies import change_alarms as alarms

ABOUT = (
    "Each labelled site as it comes, and under corruptions. Every figure is of slopes that have "
    "seen neither the group of the site nor, unless *kind known* is written, the kind of change. "
    "*error*: mean absolute, in points of mAP; *nothing*: that of saying that nothing changed; "
    "*sign*: right direction, of true changes over 3 points. Alarms: untouched images in random "
    "order, then changed ones; *power*: share of streams with an alarm after the onset; *known "
    "worse*: of these, those whose estimated change excludes no loss; *delay*: images "
    "until the alarm, median. The first table by kind compares the same images, the second the "
    "changed ones with other images of the site."
)
WAY_NAMES = {
    "estimate": "group and kind not seen",
    "kind_known": "group not seen, kind known",
    "labelled": "group and kind not seen, level before known",
    "with_signals": "group and kind not seen, signals of the camera too",
    "nothing": "no change",
}
ROUTES = {
    "network: boxes at both sizes, signals of the images": NETWORK,
    "predictions at full and at half size": HALF_SIZE,
    "predictions at full size": CLEAN_BOXES,
}


class Run(NamedTuple):
    """Evaluated changes and alarms of what reads some inputs; rows as the parts have them."""

    evaluated: pd.DataFrame
    models: alarms.LeftOutModels
    raised: pd.DataFrame  # alarms on images that change
    untouched: pd.DataFrame  # alarms on images that do not
    apart: pd.DataFrame  # changes from the untouched images to other ones


def changes_report(
    observed: Sequence[ChangedImages],
    categories: Sequence[str],
    warnings: Sequence[str] = (),
    *,
    alpha: float = 0.05,
    orders: int = 20,
    seed: int = 0,
    calibrate: bool = True,
) -> StudyReport:
    """Evaluate estimated changes and alarms on what was observed of labelled sites."""
    changes, levels = known_changes(observed, categories, calibrate=calibrate)
    if not any(True for _ in alarms.stretches(changes)):
        raise InputError(
            f"Expected sites with {alarms.FEWEST} untouched images beside those that were changed, "
            "but there is none: raise `untouched` or lower `n_images`."
        )
    runs = {
        name: _run(changes, levels, inputs, orders, alpha, seed) for name, inputs in ROUTES.items()
    }
    network = next(iter(runs.values()))
    evaluated, apart = network.evaluated, network.apart
    power_by_kind = alarms.power_table(network.raised, "kind")
    power = alarms.power_table(network.raised.assign(kind="all"), "kind")
    power_by_severity = alarms.power_table(network.raised, "severity")
    conditions = _estimated(alarms.other_conditions(changes, levels), network.models)
    parts = [
        _routes(runs),
        _ways(evaluated),
        _figures_part("change_by_kind", errors.by_group(evaluated, "kind")),
        *([_figures_part("change_apart", errors.by_group(apart, "kind"))] if len(apart) else []),
        _figures_part("change_by_severity", errors.by_group(evaluated, "severity")),
        Part("changes_evaluated", evaluated, pd.DataFrame({"changes evaluated": [len(evaluated)]})),
        _power_part("change_alarms", pd.concat([power, power_by_kind], ignore_index=True), "kind"),
        _power_part("change_alarms_by_severity", power_by_severity, "severity"),
        _false_part(network.untouched, alpha),
        *([_conditions_part(conditions)] if len(conditions) else []),
    ]
    title = "Which changes are seen"
    return StudyReport("changes", title, ABOUT, _figure(evaluated, power), parts, warnings)


def _estimated(stretches: Iterable[alarms.Stretch], models: alarms.LeftOutModels) -> pd.DataFrame:
    """Estimate the change from the untouched images of each stretch to other ones."""
    kinds, rows = set(models.changes.rows["kind"]), []
    for stretch in stretches:
        kind = str(stretch.key["kind"])
        model = models.of(str(stretch.key["group"]), kind if kind in kinds else NO_KIND)
        estimate = alarms.estimated_change(stretch, model)
        rows.append({**stretch.key, "true": stretch.true, **estimate})
    return pd.DataFrame(rows)


def _raised(models: alarms.LeftOutModels, orders: int, alpha: float, seed: int) -> pd.DataFrame:
    stretches = list(alarms.stretches(models.changes))
    rows: list[dict[str, object]] = []
    with progress_bar(len(stretches), "watching sites", unit="stretch") as bar:
        for stretch in stretches:
            model = models.of(str(stretch.key["group"]), str(stretch.key["kind"]))
            rows += alarms.alarms(stretch, model, orders=orders, alpha=alpha, seed=seed)
            bar.update()
    return pd.DataFrame(rows)


def _untouched(
    levels: pd.DataFrame, models: alarms.LeftOutModels, orders: int, alpha: float, seed: int
) -> pd.DataFrame:
    """Watch every site and category untouched, in random orders and in that of the files."""
    rows = []
    for site in levels.to_dict("records"):
        numbers = models.changes.images[site["site"], site["category"]]
        model = models.of(site["group"])
        key = seed, site["site"], site["category"]
        orders_drawn = [named_rng(*key, k).permutation(len(numbers)) for k in range(orders)]
        drawn = alarms.false_alarms(numbers, model, orders_drawn, alpha=alpha)
        files = alarms.false_alarms(numbers, model, [np.arange(len(numbers))], alpha=alpha)
        rows += [
            {
                **{name: site[name] for name in ("site", "group", "category")},
                "monitor": monitor,
                "random": drawn[monitor],
                "files": files[monitor],
            }
            for monitor in alarms.MONITORS
        ]
    return pd.DataFrame(rows)


def _run(
    changes: KnownChanges,
    levels: pd.DataFrame,
    inputs: ChangeInputs,
    orders: int,
    alpha: float,
    seed: int,
) -> Run:
    """Evaluate what reads some inputs."""
    evaluated = errors.evaluated_changes(changes, levels, inputs.slopes)
    widening = dict(zip(evaluated["group"], evaluated["widening"], strict=True))
    models = alarms.LeftOutModels(changes, widening, inputs)
    raised = _raised(models, orders, alpha, seed)
    untouched = _untouched(levels, models, orders, alpha, seed)
    apart = _estimated(alarms.stretches(changes), models)
    return Run(evaluated, models, raised, untouched, apart)


def _routes(runs: Mapping[str, Run]) -> Part:
    """Compare the network with prediction files, on the same changes."""
    rows = []
    for name, run in runs.items():
        power = alarms.power_table(run.raised.assign(kind="all"), "kind")
        power = power.set_index(["monitor", "fall"])
        first_monitor = alarms.MONITORS[0]
        alone = run.untouched[run.untouched["monitor"] == first_monitor]
        figures = errors.change_figures(run.evaluated)
        figures |= {
            f"apart_{measure}": figure
            for measure, figure in errors.change_figures(run.apart).items()
        }
        figures |= {
            f"power_{low}": power["power"].get((first_monitor, low)) for low, _ in alarms.FALLS
        }
        large = power.loc[(first_monitor, alarms.FALLS[0][0])]
        figures |= {"worse": large["worse"], "delay": large["delay"]}
        rows.append({"route": name, **figures, "false": alone["random"].mean()})
    table = pd.DataFrame(rows)
    shown = {
        "boxes from": table["route"],
        "error": _points(table["error"]),
        "sign %": _percent(table["sign"]),
        "half width": _points(table["half_width"]),
        "coverage %": _percent(table["coverage"]),
        "error, other images": _points(table["apart_error"]),
        "coverage %, other images": _percent(table["apart_coverage"]),
        "power %, falls over 10": _percent(table["power_0.1"]),
        "of 5 to 10": _percent(table["power_0.05"]),
        "under 3": _percent(table["power_-1.0"]),
        "known worse %, over 10": _percent(table["worse"]),
        "delay, over 10": _whole(table["delay"]),
        "false alarms %": _percent(table["false"], 1),
    }
    return Part("change_routes", table, pd.DataFrame(shown))


def _ways(evaluated: pd.DataFrame) -> Part:
    rows = [{"way": way, **errors.change_figures(evaluated, way)} for way in errors.WAYS]
    table = pd.DataFrame(rows)
    shown = {
        "estimated with": [WAY_NAMES[way] for way in table["way"]],
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
        "from": table["site"],
        "to": table["kind"],
        "category": table["category"],
        "true": _points(table["true"]),
        "estimate": _points(table["estimate"]),
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


def _figure(evaluated: pd.DataFrame, power: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(9, 4.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    blurred = evaluated["kind"].to_numpy() == "defocus_blur"
    for chosen, colour, name in ((~blurred, "0.55", "others"), (blurred, "C3", "defocus")):
        rows = evaluated[chosen]
        left.plot(100 * rows["true"], 100 * rows["estimate"], ".", color=colour, label=name)
    low = 100 * float(min(evaluated["true"].min(), evaluated["estimate"].min()))
    left.plot([low, 10], [low, 10], color="0.3", lw=1)
    left.set(xlabel="true change (points of mAP)", ylabel="estimate, group and kind left out")
    left.legend()
    falls = [low for low, _ in alarms.FALLS]
    for k, (monitor, monitor_power) in enumerate(power.groupby("monitor", sort=False)):
        heights = monitor_power.set_index("fall")["power"].reindex(falls) * 100
        right.bar(np.arange(len(falls)) + 0.38 * k, heights, 0.36, label=str(monitor))
    right.set_xticks(np.arange(len(falls)) + 0.19, [_fall_text(*fall) for fall in alarms.FALLS])
    right.set(xlabel="true fall (points of mAP)", ylabel="streams with an alarm (%)", ylim=(0, 110))
    right.legend(loc="upper center", ncols=2, frameon=False)
    return figure
