"""Counters without a model, and their errors on the synthetic split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from autoeval.counting.capture.capture_measures import by_factor, measure
from autoeval.counting.capture.completion.complete import POLICIES, complete
from autoeval.counting.capture.completion.evidence import (
    VisibleEvidence,
    detect,
    detect_objects,
    has_box,
)
from autoeval.counting.capture.records import CaptureItem, to_items
from autoeval.counting.capture.render import on_canvas
from autoeval.counting.capture.results import TaskResult
from autoeval.counting.capture.synthetic import SyntheticSpec, make_records, render_pair
from autoeval.counting.capture.tasks import fact, get_task
from autoeval.counting.counters.base import COUNT, POINTS, CountResult
from autoeval.errors import InputError
from autoeval.runtime.progress import announced_bar
from autoeval.runtime.states import OK

CENTRES = ("oracle", "detected")
IN_CANVAS = "all in the frame"


class VisibleOnly:
    """Counts the objects that the box does not touch, without a mistake.

    What a perfect detector of whole visible objects answers: the part of the error that is owed to
    occlusion alone.
    """

    name = "visible-only"
    capabilities = frozenset({COUNT, POINTS})
    needs = ("visible_points",)

    def count(
        self, image: np.ndarray, prompt: str, context: Mapping[str, Any] | None = None
    ) -> CountResult:
        """Count the ``visible_points`` of ``context``."""
        points = _visible(context)
        return CountResult(float(len(points)), points=points, context=context or {})


class PatternCompletion:
    """Fits a row, block, triangle or ring to visible objects and continues it behind the box.

    Parameters
    ----------
    centres : {'oracle', 'detected'}
        Whether the centres of the untouched objects, the box and the radius are given in
        ``context``, or everything is found in the image by connected components; the latter sees
        the fragments of partly hidden objects as well.
    policy : {'fewest', 'median', 'most'}
        See `Completion.hidden`.
    """

    capabilities = frozenset({COUNT, POINTS})

    def __init__(self, *, centres: str = "oracle", policy: str = "most") -> None:
        self.centres = centres
        self.policy = policy

    @property
    def name(self) -> str:
        """Identifies the counter in result files."""
        return f"completion-{self.centres}"

    @property
    def needs(self) -> tuple[str, ...]:
        """Facts of an item that the context must hold."""
        return ("visible_points", "box", "radius") if self.centres == "oracle" else ()

    def count(
        self, image: np.ndarray, prompt: str, context: Mapping[str, Any] | None = None
    ) -> CountResult:
        """Count the objects in ``image`` (H, W, 3) uint8 BGR, those behind the box included.

        Without a box, as in the original images, nothing is hidden: what is visible is counted. An
        image in which nothing is found gives a failed result.

        Raises
        ------
        InputError
            If the context lacks a fact.
        """
        if self.centres == "oracle" and _hides_nothing(context):
            points = _visible(context)
            return CountResult(float(len(points)), points=points, context=context or {})
        if self.centres == "detected":
            return self._detected(image, context or {})
        return self._completed(evidence_of_facts(image, context), context or {})

    def _detected(self, image: np.ndarray, context: Mapping[str, Any]) -> CountResult:
        try:
            if not has_box(image):
                points = detect_objects(image)
                return CountResult(float(len(points)), points=points, context=context)
            return self._completed(detect(image), context)
        except InputError as error:
            return CountResult(float("nan"), status=f"failed: {error}", context=context)

    def _completed(self, evidence: VisibleEvidence, context: Mapping[str, Any]) -> CountResult:
        points = np.concatenate([evidence.visible, complete(evidence).hidden(self.policy)])
        return CountResult(float(len(points)), points=points, context=context)


def _hides_nothing(context: Mapping[str, Any] | None) -> bool:
    """Tell whether the context says that there is no box, rather than saying nothing of one."""
    return context is not None and "box" in context and context["box"] is None


def evidence_of_facts(image: np.ndarray, context: Mapping[str, Any] | None) -> VisibleEvidence:
    """Take the evidence from the facts in ``context``; only the size of the image is read."""
    visible = _visible(context)
    facts = context or {}
    if facts.get("box") is None or facts.get("radius") is None:
        raise InputError("Completion with oracle centres needs 'box' and 'radius' in the context.")
    size = image.shape[1], image.shape[0]
    return VisibleEvidence(visible, np.array(facts["box"]), float(facts["radius"]), size)


def _visible(context: Mapping[str, Any] | None) -> np.ndarray:
    points = (context or {}).get("visible_points")
    if points is None:
        raise InputError("This counter needs 'visible_points' in the context.")
    return np.array(points, float).reshape(-1, 2)


def answer_all(
    spec: SyntheticSpec, *, centres: Sequence[str] = CENTRES, every: int = 1
) -> pd.DataFrame:
    """Let every baseline count every occluded image of a split.

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
        evidence = detect(image) if source == "detected" else evidence_of_facts(image, facts)
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
