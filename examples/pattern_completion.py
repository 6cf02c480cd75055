"""Counting behind CAPTURe's black box by geometry: continue the visible pattern.

    python examples/pattern_completion.py --out FILE [--released synthetic_metadata.json]

writes docs/results/capture_baselines.md: the counters without a model on the synthetic split, in
about ten minutes. As counters of `autoeval count capture run`: `completion_oracle.py` and
`completion_detected.py` beside this file.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pandas as pd
from scipy.spatial import cKDTree

from autoeval.counting.capture.making import SyntheticSpec, make_records, render_pair
from autoeval.counting.capture.results import (
    TaskResult,
    by_factor,
    measure,
    published_human,
    published_table,
)
from autoeval.counting.capture.split import CaptureItem, on_canvas, read_items, to_items
from autoeval.counting.capture.task_run import fact, get_task
from autoeval.counting.counters import COUNT, POINTS, CountResult
from autoeval.counting.counters.adapters import VisibleOnly, visible_points
from autoeval.errors import InputError
from autoeval.report.page import format_cells, to_markdown
from autoeval.runtime import OK
from autoeval.runtime.files import write_text
from autoeval.runtime.progress import announced_bar

_RING = np.exp(1j * np.linspace(0, 2 * np.pi, 24, endpoint=False))
BLACK = 40  # brightest channel of the box
COLOURED = 60  # least spread of an object's channels
WHOLE = 0.9  # least area of a whole object, as a share of the usual one


@dataclass(frozen=True, eq=False)
class VisibleEvidence:
    """What can be seen.

    `visible` (M, 2) are the centres, xy, of objects that the `box` (4,) xyxy does not touch;
    `radius` is half the width of an object, `size` width and height of the image, pixels;
    `fragments` (K, 2) are pixels that look out from behind the box, None where not known.
    """

    visible: np.ndarray
    box: np.ndarray
    radius: float
    size: tuple[int, int]
    fragments: np.ndarray | None = None

    @property
    def tolerance(self) -> float:
        """How far an object may lie from its site, pixels."""
        return 0.3 * self.radius


def hidden_sites(sites: np.ndarray, evidence: VisibleEvidence) -> np.ndarray | None:
    """Return the sites that must be behind the box, if the hypothesis agrees with the evidence.

    It agrees if every visible object sits on a site of its own, every other site in the image can
    be behind the box, and the hidden sites account for the fragments, where these are known.
    """
    if len(sites) < len(evidence.visible):
        return None
    gap, index = cKDTree(sites).query(evidence.visible)
    if gap.max() > evidence.tolerance or len(np.unique(index)) < len(index):
        return None
    others = np.delete(sites, index, axis=0)
    others = others[on_canvas(others, evidence.radius, evidence.size)]
    return others if can_hide(others, evidence) and _explain(others, evidence) else None


def can_hide(sites: np.ndarray, evidence: VisibleEvidence) -> bool:
    """Say whether objects at all ``sites`` (N, 2) would be behind the box.

    Each must touch the box; where fragments are known, what would stick out must be among them.
    """
    box = evidence.box
    outside = np.maximum(np.maximum(box[:2] - sites, sites - box[2:]), 0)
    if np.any(outside >= evidence.radius):
        return False
    if evidence.fragments is None:
        return True
    rim = 0.8 * evidence.radius * np.column_stack([_RING.real, _RING.imag])
    rims = (sites[:, None] + rim).reshape(-1, 2)
    seen = ((rims < box[:2] - 1) | (rims > box[2:] + 1)).any(1)
    seen &= ((rims > 1) & (rims < np.array(evidence.size) - 1)).all(1)
    return _all_near(rims[seen], evidence.fragments, evidence.tolerance)


def _explain(sites: np.ndarray, evidence: VisibleEvidence) -> bool:
    if evidence.fragments is None:
        return True
    reach = np.sqrt(2) * evidence.radius + evidence.tolerance
    return _all_near(evidence.fragments, sites, reach)


def _all_near(points: np.ndarray, targets: np.ndarray, reach: float) -> bool:
    if len(points) == 0:
        return True
    return len(targets) > 0 and cKDTree(targets).query(points)[0].max() <= reach


def detect(image: np.ndarray) -> VisibleEvidence:
    """Find what a synthetic image shows, by connected components."""
    box = _find_box(image)
    coverage, n, labels, stats = _objects(image)
    areas = np.bincount(labels.ravel(), coverage.ravel(), minlength=n)
    whole = areas >= WHOLE * areas[1:].max()
    whole[0] = False
    sides = stats[whole][:, [cv2.CC_STAT_WIDTH, cv2.CC_STAT_HEIGHT]]
    middles = np.column_stack([_mean(labels, coverage, areas, axis) for axis in (1, 0)])
    rows, columns = np.nonzero((labels > 0) & ~whole[labels])
    return VisibleEvidence(
        visible=middles[whole],
        box=box,
        radius=float(np.median(sides)) / 2,
        size=image.shape[1::-1],
        fragments=np.column_stack([columns, rows]) + 0.5,
    )


def has_box(image: np.ndarray) -> bool:
    """Return whether an image (H, W, 3), uint8, BGR, holds a black box."""
    return bool((image.max(2) < BLACK).any())


def detect_objects(image: np.ndarray) -> np.ndarray:
    """Return the middles (N, 2) of the objects of an image without a box; see `detect`."""
    coverage, n, labels, _ = _objects(image)
    areas = np.bincount(labels.ravel(), coverage.ravel(), minlength=n)
    return np.column_stack([_mean(labels, coverage, areas, axis) for axis in (1, 0)])[1:]


def _objects(image: np.ndarray) -> tuple[np.ndarray, int, np.ndarray, np.ndarray]:
    """Return how coloured each pixel is, and the number, labels and boxes of the components."""
    coverage = np.ptp(image.astype(int), axis=2)
    n, labels, stats, _ = cv2.connectedComponentsWithStats((coverage > COLOURED).astype(np.uint8))
    if n < 2:
        raise InputError("Expected an image with coloured objects but found none.")
    return coverage, n, labels, stats


def _find_box(image: np.ndarray) -> np.ndarray:
    if not has_box(image):
        raise InputError("Expected an image with a black box but found none.")
    dark = (image.max(2) < BLACK).astype(np.uint8)
    _, _, stats, _ = cv2.connectedComponentsWithStats(dark)
    x, y, width, height, _ = stats[1 + np.argmax(stats[1:, cv2.CC_STAT_AREA])]
    return np.array([x, y, x + width, y + height])


def _mean(labels: np.ndarray, weight: np.ndarray, areas: np.ndarray, axis: int) -> np.ndarray:
    places = np.indices(labels.shape)[axis] + 0.5
    return np.bincount(labels.ravel(), (weight * places).ravel()) / np.maximum(areas, 1)


POLICIES = ("fewest", "median", "most")
STEPS_TRIED = 6
DIVISIONS = (1, 2, 3, 4)  # hidden objects may divide the step between two visible ones
_OFF_SITE = 0.3  # largest distance from a site, in steps, before the steps are refined
_PARALLEL = 0.2  # least sine of the angle between the two steps of a lattice
MOST_GROWTH = 6
Hull = Callable[[np.ndarray, tuple[int, ...]], np.ndarray]


@dataclass(frozen=True, eq=False)
class Completion:
    """What may be behind the box: hidden centres (H, 2) for every number of them, ascending.

    Where no pattern agrees with the evidence, one object in the middle of the box is supposed.
    """

    alternatives: tuple[np.ndarray, ...]
    found: bool = True

    @property
    def numbers(self) -> tuple[int, ...]:
        """Numbers of hidden objects that agree with the evidence, ascending."""
        return tuple(map(len, self.alternatives))

    def hidden(self, policy: str = "most") -> np.ndarray:
        """Return one set of hidden centres (H, 2)."""
        last = len(self.alternatives) - 1
        return self.alternatives[{"fewest": 0, "median": last // 2, "most": last}[policy]]


def complete(evidence: VisibleEvidence) -> Completion:
    """Continue the visible pattern behind the box, which is taken to hide something."""
    found: dict[int, np.ndarray] = {}
    for family in (_ring_hypotheses, _lattice_hypotheses):
        for sites in family(evidence):
            hidden = hidden_sites(sites, evidence)
            if hidden is not None and len(hidden):
                found.setdefault(len(hidden), hidden)
    if not found:
        middle = (evidence.box[:2] + evidence.box[2:])[None] / 2
        return Completion((middle,), found=False)
    return Completion(tuple(found[number] for number in sorted(found)))


def _lattice_hypotheses(evidence: VisibleEvidence) -> Iterator[np.ndarray]:
    """Yield the sites (N, 2) of every row, block and triangle that may be meant.

    The shortest steps between visible objects, and whole fractions of them, may span the lattice.
    On each lattice, the smallest hull around the visible objects is extended on every side as far
    as the box hides what it gains.
    """
    if len(evidence.visible) < 2:
        return
    steps = _short_steps(evidence)
    for lattice in _rows_and_blocks(evidence, steps):
        yield from _extensions(block, lattice, evidence)
    for lattice in _triangular(evidence, steps):
        yield from _extensions(triangle, lattice, evidence)


def _short_steps(evidence: VisibleEvidence) -> list[np.ndarray]:
    i, j = np.triu_indices(len(evidence.visible), 1)
    steps = evidence.visible[j] - evidence.visible[i]
    kept: list[np.ndarray] = []
    for step in steps[np.argsort(np.hypot(*steps.T), kind="stable")]:
        distances = [min(np.hypot(*(step - k)), np.hypot(*(step + k))) for k in kept]
        if min(distances, default=np.inf) > evidence.tolerance:
            kept.append(step)
        if len(kept) == STEPS_TRIED:
            break
    least = 2 * evidence.radius - evidence.tolerance
    return [step / m for step in kept for m in DIVISIONS if np.hypot(*step) / m >= least]


def _rows_and_blocks(evidence: VisibleEvidence, steps: list[np.ndarray]) -> Iterator[Lattice]:
    for step in steps:
        yield from _fit(evidence, step[None])
    for first, second in itertools.combinations(steps, 2):
        sine = abs(first[0] * second[1] - first[1] * second[0])
        if sine > _PARALLEL * np.hypot(*first) * np.hypot(*second):
            yield from _fit(evidence, np.array([first, second]))


def _fit(evidence: VisibleEvidence, steps: np.ndarray) -> Iterator[Lattice]:
    points = evidence.visible
    inverse = np.linalg.inv(steps) if len(steps) == 2 else steps.T / (steps @ steps.T)
    place = (points - points[0]) @ inverse
    index = np.rint(place)
    if np.abs(place - index).max() > _OFF_SITE:
        return
    design = np.column_stack([np.ones(len(points)), index])
    fitted, _, rank, _ = np.linalg.lstsq(design, points, rcond=None)
    if rank == design.shape[1] and _close(design @ fitted - points, evidence):
        yield Lattice(fitted[0], fitted[1:], index.astype(int))


def _triangular(evidence: VisibleEvidence, steps: list[np.ndarray]) -> Iterator[Lattice]:
    """Yield equilateral lattices, each with both directions in which a triangle may point."""
    points = evidence.visible @ np.array([1, 1j])
    sixty = np.exp(1j * np.pi / 3)
    for step in steps:
        along = complex(*step)
        place = (points - points[0]) / along
        second = np.rint(place.imag / sixty.imag)
        first = np.rint(place.real - second * sixty.real)
        design = np.column_stack([np.ones(len(points)), first + second * sixty])
        origin, along = np.linalg.lstsq(design, points, rcond=None)[0]
        misfit = design @ [origin, along] - points
        if not _close(np.column_stack([misfit.real, misfit.imag]), evidence):
            continue
        index = np.column_stack([first, second]).astype(int)
        sides = np.array([along, along * sixty])
        spanned = np.column_stack([sides.real, sides.imag])
        start = np.array([origin.real, origin.imag])
        yield Lattice(start, spanned, index)
        yield Lattice(start, -spanned, -index)


def _close(misfit: np.ndarray, evidence: VisibleEvidence) -> bool:
    return bool(np.hypot(*misfit.T).max() <= evidence.tolerance)


@dataclass(frozen=True, eq=False)
class Lattice:
    """Sites at ``origin + cells @ steps``; `steps` is (1, 2) for a row and (2, 2) for a plane.

    `index` (M, D) are the cells of the visible objects.
    """

    origin: np.ndarray
    steps: np.ndarray
    index: np.ndarray

    def sites(self, cells: np.ndarray) -> np.ndarray:
        """Return the sites (N, 2) of cells (N, D)."""
        return self.origin + cells @ self.steps


def _extensions(hull: Hull, lattice: Lattice, evidence: VisibleEvidence) -> Iterator[np.ndarray]:
    """Yield the sites of the smallest hull and of all larger ones that the box can hide.

    What the box cannot hide of a hull is part of every larger one, so sides are first grown alone.
    """
    sides = 3 if hull is triangle else 2 * lattice.steps.shape[0]

    def fits(grow: tuple[int, ...]) -> bool:
        return _hideable(hull(lattice.index, grow), lattice, evidence)

    if not fits((0,) * sides):
        return
    ranges = []
    for side in range(sides):
        alone = (tuple(g * (k == side) for k in range(sides)) for g in range(1, MOST_GROWTH + 1))
        ranges.append(range(1 + sum(1 for _ in itertools.takewhile(fits, alone))))
    for grow in itertools.product(*ranges):
        if fits(grow):
            yield lattice.sites(hull(lattice.index, grow))


def block(index: np.ndarray, grow: tuple[int, ...]) -> np.ndarray:
    """Return the cells of the block around ``index``, grown at its low and high ends in turn.

    Examples
    --------
    >>> block(np.array([[0], [2]]), (0, 1)).ravel()
    array([0, 1, 2, 3])
    """
    low = index.min(0) - np.array(grow[::2])
    high = index.max(0) + np.array(grow[1::2])
    ranges = [np.arange(a, b + 1) for a, b in zip(low, high, strict=True)]
    return np.stack(np.meshgrid(*ranges, indexing="ij"), -1).reshape(-1, index.shape[1])


def triangle(index: np.ndarray, grow: tuple[int, ...]) -> np.ndarray:
    """Return the cells i >= a, j >= b, i + j <= c around ``index``; ``grow`` moves a, b and c.

    Examples
    --------
    >>> triangle(np.array([[0, 0], [1, 0], [0, 1]]), (0, 0, 0)).tolist()
    [[0, 0], [0, 1], [1, 0]]
    """
    low = index.min(0) - np.array(grow[:2])
    last = index.sum(1).max() + grow[2] - low.sum()
    i, j = np.indices((last + 1, last + 1)).reshape(2, -1)
    return low + np.column_stack([i, j])[i + j <= last]


def _hideable(cells: np.ndarray, lattice: Lattice, evidence: VisibleEvidence) -> bool:
    free = cells[~(cells[:, None] == lattice.index).all(2).any(1)]
    sites = lattice.sites(free)
    inside = ((sites > 0) & (sites < np.array(evidence.size))).all(1)
    return can_hide(sites[inside], evidence)


def _ring_hypotheses(evidence: VisibleEvidence) -> Iterator[np.ndarray]:
    """Yield the sites (N, 2) of every ring through the visible objects.

    The circle is fitted to at least three objects; N runs up to where neighbours would overlap.
    """
    points = evidence.visible
    if len(points) < 3:
        return
    centre, radius = fit_circle(points)
    from_centre = points - centre
    if not np.isfinite(radius) or radius > max(evidence.size):
        return
    if np.abs(np.hypot(*from_centre.T) - radius).max() > evidence.tolerance:
        return
    angles = np.arctan2(from_centre[:, 1], from_centre[:, 0])
    for n in range(len(points), int(np.pi * radius / evidence.radius) + 1):
        phase = np.angle(np.exp(1j * n * angles).sum()) / n
        turn = phase + 2 * np.pi * np.arange(n) / n
        yield centre + radius * np.column_stack([np.cos(turn), np.sin(turn)])


def fit_circle(points: np.ndarray) -> tuple[np.ndarray, float]:
    """Fit a circle by least squares on ``x^2 + y^2 = 2ax + 2by + c`` (Kåsa 1976)."""
    middle = points.mean(0)
    local = points - middle
    design = np.column_stack([2 * local, np.ones(len(local))])
    solution, _, rank, _ = np.linalg.lstsq(design, (local**2).sum(1), rcond=1e-9)
    if rank < 3:
        return middle, np.inf
    return middle + solution[:2], float(np.sqrt(solution[2] + solution[:2] @ solution[:2]))


CENTRES = ("oracle", "detected")
IN_CANVAS = "all in the frame"
CHOSEN = "most"
ABOUT = """Written by `python examples/pattern_completion.py --seed {seed}
--development {development} --every {every} --released FILE --out FILE`.
sMAPE, `low` and `high` in % (95 % bootstrap interval over images), lower is better. Counters: a
perfect count of what the frame holds, of what the box leaves untouched, and pattern completion
with oracle and with detected centres."""
LAYOUTS = {"published layout": False, "fit_canvas=yes": True}


class PatternCompletion:
    """Fits a row, block, triangle or ring to visible objects and continues it behind the box.

    With `centres` ``"oracle"`` the untouched objects, the box and the radius are in ``context``;
    with ``"detected"`` all is found in the image, fragments of partly hidden objects as well.
    """

    capabilities = frozenset({COUNT, POINTS})

    def __init__(self, *, centres: str = "oracle", policy: str = "most") -> None:
        self.centres = centres
        self.policy = policy
        self.name = f"completion-{centres}"
        self.needs = ("visible_points", "box", "radius") if centres == "oracle" else ()

    def count(
        self, image: np.ndarray, prompt: str, context: Mapping[str, Any] | None = None
    ) -> CountResult:
        """Count the objects in ``image`` (H, W, 3) uint8 BGR, those behind the box included.

        Without a box, as in the original images, what is visible is counted. An image in which
        nothing is found gives a failed result; a context without a needed fact is an `InputError`.
        """
        context = context or {}
        try:
            points = self._points(image, context)
        except InputError as error:
            if self.centres == "oracle":
                raise
            return CountResult(float("nan"), status=f"failed: {error}", context=context)
        return CountResult(float(len(points)), points=points, context=context)

    def _points(self, image: np.ndarray, context: Mapping[str, Any]) -> np.ndarray:
        if self.centres == "oracle" and "box" in context and context["box"] is None:
            return visible_points(context)
        if self.centres == "detected" and not has_box(image):
            return detect_objects(image)
        evidence = detect(image) if self.centres == "detected" else evidence_of(image, context)
        return np.concatenate([evidence.visible, complete(evidence).hidden(self.policy)])


def evidence_of(image: np.ndarray, facts: Mapping[str, Any]) -> VisibleEvidence:
    """Take the evidence from the facts of a context; only the size of the image is read."""
    visible = visible_points(facts)
    if facts.get("box") is None or facts.get("radius") is None:
        raise InputError("Completion with oracle centres needs 'box' and 'radius' in the context.")
    size = image.shape[1], image.shape[0]
    return VisibleEvidence(visible, np.array(facts["box"]), float(facts["radius"]), size)


def column(centres: str, policy: str) -> str:
    """Return the name of a column of `answer_all`."""
    return f"completion-{centres}, {policy}"


def answer_all(spec: SyntheticSpec, *, every: int = 1) -> pd.DataFrame:
    """Count every occluded image of a split without a model; one row an item.

    Columns ``image_file``, ``shape``, ``truth``, a perfect count of what the frame holds
    (`IN_CANVAS`), ``visible-only``, and what `column` names.
    """
    items = to_items(list(make_records(spec))[::every])
    rows = []
    with announced_bar(len(items), "Completing patterns", items="items", unit="item") as bar:
        for item in items:
            rows.append(_answers(item))
            bar.update()
    return pd.DataFrame(rows)


def _answers(item: CaptureItem) -> dict[str, Any]:
    image = render_pair(dict(item.record))[1]
    facts = {name: fact(item, name) for name in ("visible_points", "box", "radius")}
    row = {**_known(item), VisibleOnly.name: len(visible_points(facts))}
    for source in CENTRES:
        evidence = detect(image) if source == "detected" else evidence_of(image, facts)
        found = complete(evidence)
        for policy in POLICIES:
            row[column(source, policy)] = len(evidence.visible) + len(found.hidden(policy))
    return row


def _known(item: CaptureItem) -> dict[str, Any]:
    assert item.points is not None
    size = item.record.get("canvas_size", 200)
    inside = on_canvas(item.points, item.record.get("radius", size / 40), size)
    row = {"image_file": item.image_file, "shape": item.shape, "truth": item.ground_truth}
    return row | {IN_CANVAS: int(inside.sum())}


def released_answers(items: Sequence[CaptureItem]) -> pd.DataFrame:
    """Count the released items by their metadata, which hold positions but no occluder."""
    return pd.DataFrame(
        [
            {**_known(item), "not-occluded": item.ground_truth - (item.num_occluded or 0)}
            for item in items
        ]
    )


def summarise(answers: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Return ``counter``, ``sMAPE``, ``low``, ``high``, ``MAE`` and ``exact %`` of columns."""
    rows = pd.DataFrame([measure(_result(answers, name)) for name in names])
    columns = ["counter", "sMAPE", "low", "high", "MAE", "exact %"]
    return rows.rename(columns={"model": "counter"})[columns]


def by_pattern(answers: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Return the sMAPE of columns of `answer_all` for each pattern."""
    tables = [by_factor(_result(answers, name), "shape") for name in names]
    long = pd.concat(tables, ignore_index=True)
    wide = long.pivot(index="model", columns="shape", values="sMAPE").loc[list(names)]
    return wide.rename_axis(columns=None).rename_axis("counter").reset_index()


def _result(answers: pd.DataFrame, name: str) -> TaskResult:
    frame = answers.assign(value=answers[name], status=OK, confidence=np.nan)
    return TaskResult(name, get_task("total-occluded"), frame, ())


def main(argv: Sequence[str] | None = None) -> None:
    """Write the tables as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="of the boxes that are reported")
    parser.add_argument(
        "--development", type=int, default=1, help="seed of the boxes that choose the policy"
    )
    parser.add_argument("--every", type=int, default=1, help="take every K-th item")
    parser.add_argument("--released", type=Path, help="released synthetic_metadata.json")
    parser.add_argument("--out", type=Path, required=True, help="Markdown file")
    args = parser.parse_args(argv)
    parts = ["# Counting behind a box without a model", ABOUT.format(**vars(args))]
    for title, fit in LAYOUTS.items():
        answers = answer_all(SyntheticSpec(seed=args.seed, fit_canvas=fit), every=args.every)
        names = [IN_CANVAS, VisibleOnly.name, *(column(source, CHOSEN) for source in CENTRES)]
        parts += _section(f"Occluded images, {title}", len(answers), summarise(answers, names))
        parts += _section(f"sMAPE by pattern, {title}", None, by_pattern(answers, names))
    if args.released:
        answers = released_answers(read_items(args.released))
        found = summarise(answers, [IN_CANVAS, "not-occluded"])
        parts += _section("The released items", len(answers), found)
    parts += _section("Published, 1150 items", None, published_table("synthetic"))
    for title, fit in LAYOUTS.items():
        answers = answer_all(SyntheticSpec(seed=args.development, fit_canvas=fit), every=args.every)
        found = summarise(answers, [column(s, policy) for s in CENTRES for policy in POLICIES])
        title = f"Ways to choose, seed {args.development}, {title}"
        parts += _section(title, len(answers), found)
    write_text(args.out, "\n\n".join(parts) + "\n")
    print(f"Written: {args.out}. Humans: {published_human('synthetic')} % on 100 items.")


def _section(title: str, n: int | None, table: pd.DataFrame) -> list[str]:
    numbers = dict.fromkeys(table.columns[1:], "{:.2f}")
    heading = f"## {title}" + (f", {n} items" if n else "")
    return [heading, to_markdown(format_cells(table, numbers))]


if __name__ == "__main__":
    main()
