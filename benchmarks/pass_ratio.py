"""What the pass costs beside plain inference, and beside the naive way to the same scores.

Runs in turns, over the same image files: plain inference (``model.test_step``, one by one), the
pass without and with perturbed passes, all scores of these and mAP included, and the naive way of
`benchmarks.naive`. Prints medians of ratios within rounds, by the clock on the wall and of the CPU.

    python -m benchmarks.pass_ratio --checkpoint yolox_nano_coco.pth --images photographs/
    python -m benchmarks.pass_ratio --detector retinanet_r50 --n-images 1 --only one
    python -m benchmarks.pass_ratio --detector retinanet_r50 --n-images 1 --size 667 400 --only many

``--only one`` leaves out the many repeats, ``--only many`` all but them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter

import pandas as pd

from autoeval.detectors.detector import MMDetector
from autoeval.stability.network.forward.dropout_spec import DropoutSpec
from autoeval.stability.passes.presets import preset
from benchmarks import naive
from benchmarks.subjects import (
    LabelledFiles,
    add_subject_options,
    image_files,
    label_by,
    make_detector,
    score,
)
from benchmarks.timing import CLOCKS, Rounds, in_turns, median, report, spread

MIDDLE, LAST = DropoutSpec("after", (1, 2), 0.15), DropoutSpec("after", (3,), 0.15)
Seconds = dict[str, float]


@dataclass(frozen=True)
class Figure:
    """A ratio and what it should be.

    Parameters
    ----------
    name : str
    ratio : callable
        Makes it of the seconds of one round.
    most, least : float, optional
        The target.
    """

    name: str
    ratio: Callable[[Seconds], float]
    most: float | None = None
    least: float | None = None

    @property
    def target(self) -> str:
        """The target in words."""
        if self.most is not None:
            return f"at most {self.most}"
        return f"at least {self.least}" if self.least is not None else ""


ONE = (
    Figure("scores of one clean pass / plain", lambda s: s["clean"] / s["plain"], most=1.15),
    Figure("clean + 1 repeat / plain", lambda s: s["one"] / s["plain"], most=1.9),
    Figure("naive, clean + 1 repeat / plain", lambda s: s["naive one"] / s["plain"]),
    Figure("naive / pass, clean + 1 repeat", lambda s: s["naive one"] / s["one"]),
)


def many(repeats: int) -> tuple[Figure, ...]:
    """Return the figures of many repeats."""

    def share(name: str) -> Callable[[Seconds], float]:
        return lambda s: (s[name] - s["clean"]) / (repeats * s["plain"])

    return (
        Figure(f"{repeats} repeats, stages [1, 2] / {repeats} plain", share("middle"), most=0.85),
        Figure(f"{repeats} repeats, stage [3] / {repeats} plain", share("last")),
        Figure(
            f"naive / pass, clean + {repeats} repeats, stage [3]",
            lambda s: s["naive last"] / s["last"],
            least=1.5,
        ),
    )


def runs(
    detector: MMDetector, samples: LabelledFiles, repeats: int, only: str | None
) -> dict[str, Callable[[], object]]:
    """Return what is timed, by name."""
    settings = preset("paper")

    def observed(spec: DropoutSpec, k: int) -> Callable[[], object]:
        return partial(score, detector, samples, replace(settings, dropout=spec, repeats=k))

    found: dict[str, Callable[[], object]] = {
        "plain": partial(naive.infer, detector, samples),
        "clean": observed(MIDDLE, 0),
    }
    if only != "many":
        found["one"] = observed(MIDDLE, 1)
        found["naive one"] = partial(naive.estimate, detector, samples, MIDDLE, 1)
    if only != "one":
        found["middle"], found["last"] = observed(MIDDLE, repeats), observed(LAST, repeats)
        found["naive last"] = partial(naive.estimate, detector, samples, LAST, repeats)
    return found


def table(rounds: Rounds, figures: tuple[Figure, ...]) -> pd.DataFrame:
    """Return one row a figure: medians by both clocks, their spread, and the target."""
    rows = []
    for figure in figures:
        row: dict[str, object] = {"ratio": figure.name, "target": figure.target}
        for clock in CLOCKS:
            row[clock] = round(median(rounds, figure.ratio, clock), 3)
            low, high = spread(rounds, figure.ratio, clock)
            row[f"{clock} range"] = f"{low:.2f} to {high:.2f}"
        rows.append(row)
    return pd.DataFrame(rows)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_subject_options(parser, n_images=8)
    parser.add_argument("--repeats", type=int, default=10, metavar="K")
    parser.add_argument("--rounds", type=int, default=5, metavar="N")
    parser.add_argument("--only", choices=("one", "many"))
    args = parser.parse_args()
    detector = make_detector(args)
    figures = {"one": ONE, "many": many(args.repeats)}
    chosen = figures[args.only] if args.only else (*ONE, *figures["many"])
    with image_files(args.images, args.n_images) as files:
        samples = label_by(detector, files)
        timed = runs(detector, samples, args.repeats, args.only)
        for warm_up in ("plain", "clean"):
            timed[warm_up]()
        rounds = in_turns(timed, args.rounds)
    result = table(rounds, chosen)
    lines = []
    for name in timed:
        spent = [median(rounds, itemgetter(name), clock) for clock in CLOCKS]
        each = [1000 * value / len(samples) for value in spent]
        lines.append(f"{name:12} {each[0]:9.1f} ms an image, {each[1]:9.1f} ms on the processor")
    lines.append(result.to_string(index=False))
    report(args, lines, ratios=result.to_dict("records"), rounds=rounds)


if __name__ == "__main__":
    main()
