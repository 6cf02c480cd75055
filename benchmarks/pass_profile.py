"""Where the time of the pass goes.

Decodes image files and runs the pass over them with one repeat, with a stop watch around each part;
what one part calls of another counts for the latter alone. A first run is not counted. Times are of
the processor. Parts are those of one-stage detectors.

    python -m benchmarks.pass_profile --checkpoint yolox_nano_coco.pth --images photographs/
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any
from unittest.mock import patch

import pandas as pd

from autoeval.accuracy import mean_ap
from autoeval.detectors import detector
from autoeval.stability.network.as_perturbable import as_perturbable
from autoeval.stability.network.capturing import logits
from autoeval.stability.network.forward import passes
from autoeval.stability.network.perturbable import PerturbableDetector
from autoeval.stability.passes import tally
from autoeval.stability.passes.presets import BY_PRODUCTS, preset
from autoeval.stability.scores import box_stability_settings
from benchmarks.subjects import (
    LabelledFiles,
    add_subject_options,
    image_files,
    label_by,
    make_detector,
    score,
)
from benchmarks.timing import report

CLEAN, PERTURBED = "clean pass", "perturbed pass"


class StopWatches:
    """Seconds of nested parts, each without those inside it."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self._open: list[str] = []
        self._last = 0.0

    def around(self, part: str, *, of_pass: bool = False) -> Callable[[Callable], Callable]:
        """Return a decorator that times calls; with `of_pass` it adds which pass they are of."""

        def decorate(function: Callable) -> Callable:
            def call(*args: Any, **kwargs: Any) -> Any:
                with self.running(f"{self._pass()}, {part}" if of_pass else part):
                    return function(*args, **kwargs)

            return call

        return decorate

    @contextmanager
    def running(self, part: str) -> Iterator[None]:
        """Time the body."""
        self._mark()
        self._open.append(part)
        yield
        self._mark()
        self._open.pop()

    def _mark(self) -> None:
        now = time.process_time()
        if self._open:
            self.seconds[self._open[-1]] += now - self._last
        self._last = now

    def _pass(self) -> str:
        return CLEAN if any(part.startswith(CLEAN) for part in self._open) else PERTURBED


@contextmanager
def watched(subject: PerturbableDetector, watches: StopWatches) -> Iterator[None]:
    """Put stop watches around the parts of a pass while the body runs."""
    model, putting_together = subject.model, "by-products, and putting together"
    parts: list[tuple[Any, str, Callable]] = [
        (subject, "_run", watches.around(putting_together)),
        (subject, "_preprocess", watches.around("resize")),
        (detector, "collate", watches.around("resize")),
        (subject._passes, "clean", watches.around(f"{CLEAN}, backbone")),
        (passes, "draw_uniform", watches.around(f"{PERTURBED}, dropout")),
        (passes, "drop_below", watches.around(f"{PERTURBED}, dropout")),
        (passes, "branches", partial(_at_once, watches.around(f"{PERTURBED}, backbone"))),
        (passes, "predict", watches.around("head", of_pass=True)),
        (model.neck, "forward", watches.around("neck", of_pass=True)),
        (model.bbox_head, "predict_by_feat", watches.around("post-processing", of_pass=True)),
        (logits._Points, "attach", watches.around(putting_together)),
        (tally.Tally, "update", watches.around("scores")),
        (box_stability_settings, "match_boxes", watches.around("matching")),
        (mean_ap.MeanAP, "compute", watches.around("mAP")),
    ]
    with ExitStack() as stack:
        for owner, name, decorate in parts:
            stack.enter_context(patch.object(owner, name, decorate(getattr(owner, name))))
        yield


def _at_once(decorate: Callable, function: Callable) -> Callable:
    """Time a generator as a whole."""
    return lambda *args: iter(decorate(lambda: list(function(*args)))())


def profile(subject: PerturbableDetector, samples: LabelledFiles, rounds: int) -> dict[str, float]:
    """Return the milliseconds that each part takes an image."""
    settings = replace(preset("paper"), repeats=1, wants=BY_PRODUCTS)
    score(subject, samples, settings)
    watches = StopWatches()
    with watched(subject, watches):
        for _ in range(rounds):
            with watches.running("decode"):
                decoded = [samples[k] for k in range(len(samples))]
            with watches.running("other"):
                score(subject, decoded, settings)
    return {name: 1000 * s / rounds / len(samples) for name, s in watches.seconds.items()}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_subject_options(parser, n_images=8)
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    args = parser.parse_args()
    subject = as_perturbable(make_detector(args))
    with image_files(args.images, args.n_images) as files:
        spent = profile(subject, label_by(subject, files), args.rounds)
    table = pd.Series(spent, name="ms an image").to_frame()
    table["share"] = table["ms an image"] / table["ms an image"].sum()
    table.loc["together"] = table.sum()
    formats = {"ms an image": "{:.1f}".format, "share": "{:.1%}".format}
    report(args, [table.to_string(formatters=formats)], parts=spent)


if __name__ == "__main__":
    main()
