"""Every site compared with its own baseline: labels as anchor, changes and alarms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from typing_extensions import Self

from autoeval.errors import InputError
from autoeval.io.json_file import read_json
from autoeval.model.calibration import ScoreCalibration
from autoeval.monitoring.changes.change_model import ChangeModel
from autoeval.monitoring.changes.site_watch import FEWEST, SiteChange, Watch, watch
from autoeval.monitoring.periods import Baseline, blocks_of_time, in_time
from autoeval.monitoring.site_records import CameraImage, RecordStore
from autoeval.runtime.files import PathLike

MOST_INFLUENTIAL, MOST_MOVED = 8, 3
Level = Callable[[Sequence[CameraImage]], float]
Select = Callable[[str, Sequence[CameraImage]], Sequence[CameraImage]]
NOTHING: dict[str, Any] = {
    "change": np.nan,
    "change_lower": np.nan,
    "change_upper": np.nan,
    "now": np.nan,
    "now_lower": np.nan,
    "now_upper": np.nan,
    "since": pd.NaT,
    "since_image": "",
    "alarm": False,
    "alarm_at": pd.NaT,
    "moved": "",
    "influential": (),
    "unwatched": "",
}


@dataclass(frozen=True)
class ChangeSettings:
    """How changes are watched.

    alpha: probability, at most, of a false alarm at a site, however long it is watched.
    anchors: levels of baselines that labels measured, by site; the others are estimated.
    """

    model: ChangeModel = field(repr=False)
    baseline: Baseline
    alpha: float = 0.05
    level: float = 0.9
    seed: int = 0
    anchors: Mapping[str, Anchor] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 1:
            raise InputError(f"Expected false_alarms= over 0 and under 1, but got {self.alpha}.")


def site_changes(
    store: RecordStore,
    settings: ChangeSettings,
    level_of: Level,
    calibration: ScoreCalibration | None = None,
    select: Select = lambda site, records: records,
) -> pd.DataFrame:
    """Compare every site of a store with its own baseline; one site is in memory at a time.

    Images without a time are left out, unless no image of the site has one: then they are taken in
    their order.

    level_of: estimates the accuracy of a site from its records, in [0, 1]; NaN where it cannot.
    select: of a site and its records the boxes that are watched; by default all.
    Returned: one row a site: ``group`` and the columns of `NOTHING`.
    """
    index = store.index()
    index = index[index["unreadable"] == ""]
    timed = index["taken"].notna()
    index = index[timed | ~timed.groupby(index["group"]).transform("any")]
    rows = []
    for group, images in index.groupby("group"):
        anchor = settings.anchors.get(str(group))
        records = store.read(in_time(images))
        watched = select(str(group), records)
        change = _change(records, watched, settings, level_of, anchor, calibration)
        rows.append({"group": str(group), **NOTHING, **change})
    return pd.DataFrame(rows, columns=["group", *NOTHING])


def _change(
    records: Sequence[CameraImage],
    watched: Sequence[CameraImage],
    settings: ChangeSettings,
    level_of: Level,
    anchor: Anchor | None,
    calibration: ScoreCalibration | None,
) -> dict[str, Any]:
    taken = pd.Series([record.taken for record in records], dtype="datetime64[us]")
    n = settings.baseline.length(taken)
    before, after = watched[:n], watched[n:]
    if not n and len(taken) and taken.isna().all():
        return {
            "unwatched": f"no image has a time, which baseline={settings.baseline.text} needs: "
            "give a number of images, such as --changes baseline=200, or times with --time"
        }
    if len(before) < FEWEST or not after:
        return {
            "unwatched": f"{len(before)} images in the baseline ({settings.baseline.text}) and "
            f"{len(after)} after it"
        }
    at_start = anchor.value if anchor else level_of(records[:n])
    if at_start != at_start:
        return {"unwatched": "the level of its baseline cannot be estimated"}
    try:
        seen = watch(
            settings.model,
            before,
            after,
            map_before=at_start,
            calibration=calibration,
            blocks_before=blocks_of_time(taken[:n]),
            blocks_after=blocks_of_time(taken[n:]),
            alpha=settings.alpha,
            level=settings.level,
            seed=settings.seed,
        )
    except InputError as error:
        return {"unwatched": str(error)}
    return _row(seen, after, anchor)


def _row(seen: Watch, after: Sequence[CameraImage], anchor: Anchor | None) -> dict[str, Any]:
    first = seen.onset or 0
    row: dict[str, Any] = {"alarm": seen.alarm, "since": after[first].taken}
    if seen.alarm_at is not None:
        row |= {"alarm_at": after[seen.alarm_at].taken, "since_image": after[first].file_name}
    change = seen.change
    if change is None:
        return row
    if anchor:
        row |= dict(zip(("now", "now_lower", "now_upper"), anchor.now(change), strict=True))
    moved = list(change.moved.items())[:MOST_MOVED]
    return row | {
        "change": change.value,
        "change_lower": change.lower,
        "change_upper": change.upper,
        "moved": ", ".join(f"{name} {100 * part:+.1f}" for name, part in moved),
        "influential": tuple(
            after[first + k].file_name for k in change.most_influential[:MOST_INFLUENTIAL]
        ),
    }


@dataclass(frozen=True)
class Anchor:
    """mAP of a site's baseline as labels measured it.

    value, lower, upper: in [0, 1].
    """

    value: float
    lower: float
    upper: float

    @classmethod
    def read(cls, path: PathLike) -> Self:
        """Read what ``autoeval label estimate --json`` printed."""
        content = read_json(path, "estimate from labels")
        try:
            content = content.get("labelled_estimate", content)
            value, lower, upper = (float(content[name]) for name in ("value", "lower", "upper"))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"Expected {path} to hold value, lower and upper, as `autoeval label estimate "
                f"--json` prints them, but it does not ({error!r})."
            ) from error
        return cls(value, lower, upper)

    def now(self, change: SiteChange) -> tuple[float, float, float]:
        """Return mAP after a change, with its interval.

        The errors of the labels and of the change are taken to be independent: half-widths add up
        as squares.

        >>> fell = SiteChange(-.1, -.14, -.06, {}, (), .0)
        >>> [round(x, 3) for x in Anchor(.5, .47, .53).now(fell)]
        [0.4, 0.35, 0.45]
        """
        value = self.value + change.value
        half = float(np.hypot(self.upper - self.lower, change.upper - change.lower)) / 2
        now, lower, upper = np.clip([value, value - half, value + half], 0, 1).tolist()
        return now, lower, upper
