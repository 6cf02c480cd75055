"""Whether the memory of the pass grows with the number of images.

Runs the pass over n images, then over ten times as many, in one process, and compares the highest
memory use until then (peak resident set size).

    python -m benchmarks.pass_memory --n-images 20
"""

from __future__ import annotations

import argparse
import resource
from dataclasses import replace

from autoeval.stability.passes.presets import preset
from benchmarks.subjects import add_subject_options, image_files, label_by, make_detector, score
from benchmarks.timing import machine, write_json

TIMES = 10


def peak_mb() -> float:
    """Return the highest memory use of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_subject_options(parser, n_images=20)
    args = parser.parse_args()
    detector = make_detector(args)
    settings = replace(preset("paper"), repeats=1)
    with image_files(args.images, args.n_images) as files:
        samples = label_by(detector, files)
        score(detector, samples, settings)
        few = peak_mb()
        score(detector, samples.repeated(TIMES), settings)
        lots = peak_mb()
    n = len(samples)
    print(f"peak memory: {few:.0f} MB after {n} images, {lots:.0f} MB after {TIMES * n} more")
    grown = (lots - few) * 1024 / (TIMES * n)
    print(f"growth: {grown:.1f} kB an image, {lots / few - 1:.1%} of the whole")
    options = {name: value for name, value in vars(args).items() if name != "json"}
    write_json(args.json, {"machine": machine(), "run": options, "few_mb": few, "many_mb": lots})


if __name__ == "__main__":
    main()
