"""Bookkeeping of a PrACo run of the published size: pairs, answers, resuming, measures.

Makes a data set of 1190 images of 8 x 8 pixels and 29 classes in FSC-147's layout in a temporary
folder, puts a counter that answers at once through both tests (34,510 prompts and 33,320 mosaics),
goes on with the finished run, and measures. Prints seconds and the highest memory use. The targets
are 60 s and 1 GB for a run, and 2 s for the measures of prediction files.

    python benchmarks/praco_scale.py
"""

from __future__ import annotations

import json
import resource
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from autoeval.counting.counters import CountResult
from autoeval.counting.praco.both_tests import evaluate_counter
from autoeval.counting.praco.data import CountingSet, single_class
from autoeval.counting.praco.mosaic_run import draw_pairs
from autoeval.counting.praco.published_sets import load_fsc147
from autoeval.counting.praco.released_csv import evaluate_files
from autoeval.counting.praco.result import intervals_of
from autoeval.counting.prompting import PromptedCounter

IMAGES, CLASSES, SIDE = 1190, 29, 8


class Stub:
    """Answers from the length of the names, as points in both halves."""

    name, capabilities = "stub", frozenset({"count", "points"})

    def count(
        self, image: np.ndarray, prompt: str, context: Mapping[str, Any] | None = None
    ) -> CountResult:
        """Count in an image (H, W, 3)."""
        assert context is not None
        n = (len(prompt) + len(context["image_id"])) % 7
        points = np.tile([[0.0, 0.0], [0.0, len(image) - 1.0]], (n, 1))
        return CountResult(float(len(points)), points=points, context=context)


def write_data(root: Path) -> CountingSet:
    """Write the data set and read it."""
    (root / "images_384_VarV2").mkdir(parents=True)
    rng = np.random.default_rng(0)
    names = [f"{k}.png" for k in range(IMAGES)]
    for name in names:
        picture = rng.integers(0, 256, (SIDE, SIDE, 3), np.uint8)
        cv2.imwrite(str(root / "images_384_VarV2" / name), picture)
    points = {name: {"points": [[1, 1]] * int(rng.integers(1, 300))} for name in names}
    (root / "annotation_FSC147_384.json").write_text(json.dumps(points))
    (root / "Train_Test_Val_FSC_147.json").write_text(json.dumps({"test": names}))
    lines = [f"{name}\tclass {k % CLASSES}\n" for k, name in enumerate(names)]
    (root / "ImageClasses_FSC147.txt").write_text("".join(lines))
    return single_class(load_fsc147(root))


@contextmanager
def timed(what: str) -> Iterator[None]:
    """Print how long the body takes."""
    start, cpu = time.perf_counter(), time.process_time()
    yield
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    print(f"{what:62} {wall:7.2f} s, {cpu:7.2f} s of it on the processor")


def main() -> None:
    """Run and print."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        counting_set = write_data(root / "data")
        with timed("draw the pairs"):
            recipes = draw_pairs(counting_set)
        print(f"{len(recipes)} mosaics, {len(counting_set.kept) * CLASSES} prompts")
        for what in ("both tests, images of 8 x 8 pixels, an instant counter", "the same, resumed"):
            with timed(what):
                prompted = PromptedCounter(Stub())
                evaluate_counter(prompted, counting_set, recipes, root / "out", settings={})
        with timed(f"read {IMAGES} x {CLASSES} prediction files and measure"):
            result = evaluate_files(root / "out", "stub", counting_set)
            result.measures()
        with timed("95 % intervals of all measures, 1000 resamples"):
            intervals_of(result)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{'highest memory use of the process':62} {peak:7.0f} MB")


if __name__ == "__main__":
    main()
