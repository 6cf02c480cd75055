"""How far one comes without a model: the baselines on the synthetic split."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from autoeval.counting.capture.baselines import PatternCompletion, VisibleOnly, told
from autoeval.counting.capture.capture_measures import by_factor, measure
from autoeval.counting.capture.completion.complete import POLICIES, complete
from autoeval.counting.capture.completion.detect import detect
from autoeval.counting.capture.occluder import on_canvas
from autoeval.counting.capture.records import CaptureItem, to_items
from autoeval.counting.capture.results import TaskResult
from autoeval.counting.capture.synthetic import SyntheticSpec, make_records, render_pair
from autoeval.counting.capture.tasks import fact, get_task
from autoeval.runtime.progress import announced_bar
from autoeval.runtime.states import OK

CENTRES = ("oracle", "detected")
IN_CANVAS = "all in the frame"


def answer_all(
    spec: SyntheticSpec, *, centres: Sequence[str] = CENTRES, every: int = 1
) -> pd.DataFrame:
    """Let every baseline count every occluded image of a split.

    Parameters
    ----------
    spec : SyntheticSpec
    centres : sequence of {'oracle', 'detected'}
        Where pattern completion gets the centres from.
    every : int
        Take every so-manieth item only.

    Returns
    -------
    DataFrame
        One row an item: ``image_file``, ``shape``, ``truth``, a perfect count of what the frame
        holds (`IN_CANVAS`), ``visible-only``, and what `column` names.
    """
    items = to_items(list(make_records(spec))[::every])
    rows = []
    with announced_bar(len(items), "Completing patterns", items="items", unit="item") as bar:
        for item in items:
            rows.append(_answers(item, centres))
            bar.update()
    return pd.DataFrame(rows)


def summarise(answers: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Measure columns of `answer_all` against the truth.

    Returns
    -------
    DataFrame
        ``counter``, ``sMAPE`` with ``low`` and ``high`` (95 % bootstrap interval over images),
        ``MAE`` and ``exact %``.
    """
    rows = pd.DataFrame([measure(_result(answers, name)) for name in names])
    return rows.rename(columns={"model": "counter"})[
        ["counter", "sMAPE", "low", "high", "MAE", "exact %"]
    ]


def by_pattern(answers: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Return the sMAPE of columns of `answer_all` for each pattern."""
    tables = [by_factor(_result(answers, name), "shape") for name in names]
    long = pd.concat(tables, ignore_index=True)
    wide = long.pivot(index="model", columns="shape", values="sMAPE").loc[list(names)]
    return wide.rename_axis(columns=None).rename_axis("counter").reset_index()


def released_answers(items: Sequence[CaptureItem]) -> pd.DataFrame:
    """Answer the released items with what their metadata hold: positions, but no occluder.

    Returns
    -------
    DataFrame
        ``image_file``, ``shape``, ``truth``, `IN_CANVAS` and ``not-occluded``.
    """
    return pd.DataFrame(
        {
            "image_file": [item.image_file for item in items],
            "shape": [item.shape for item in items],
            "truth": [item.ground_truth for item in items],
            IN_CANVAS: [_in_canvas(item) for item in items],
            "not-occluded": [item.ground_truth - (item.num_occluded or 0) for item in items],
        }
    )


def _answers(item: CaptureItem, centres: Sequence[str]) -> dict[str, Any]:
    image = render_pair(dict(item.record))[1]
    facts = {name: fact(item, name) for name in ("visible_points", "box", "radius")}
    row: dict[str, Any] = {
        "image_file": item.image_file,
        "shape": item.shape,
        "truth": item.ground_truth,
        IN_CANVAS: _in_canvas(item),
        VisibleOnly.name: VisibleOnly().count(image, item.object_name, facts).count,
    }
    for source in centres:
        evidence = detect(image) if source == "detected" else told(image, facts)
        found = complete(evidence)
        for policy in POLICIES:
            row[column(source, policy)] = len(evidence.visible) + len(found.hidden(policy))
    return row


def column(centres: str, policy: str) -> str:
    """Return the name of a column of `answer_all`."""
    return f"{PatternCompletion(centres=centres).name}, {policy}"


def _in_canvas(item: CaptureItem) -> int:
    assert item.points is not None
    size = item.record.get("canvas_size", 200)
    return int(on_canvas(item.points, item.record.get("radius", size / 40), size).sum())


def _result(answers: pd.DataFrame, name: str) -> TaskResult:
    frame = answers.assign(value=answers[name], status=OK, confidence=np.nan)
    return TaskResult(name, get_task("total-occluded"), frame, ())
