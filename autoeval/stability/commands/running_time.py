"""How fast a detector is, and a warning before a run that takes long."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from autoeval.runtime.progress import duration

if TYPE_CHECKING:
    from autoeval.estimation.observation.observing import Observer
    from autoeval.io.tasks.seed_set import SeedSet
    from autoeval.stability.metasets.recipe import MetaSetConfig

TIMED_IMAGES = 4
FEW_IMAGES = 200  # take no time worth measuring
LONG_S = 240.0
SMALL = {"n_sets": 5, "n_images": 20, "repeats": 2}
"""Settings that are offered in place of hours."""


def images_a_second(observer: Observer[Any], seed_set: SeedSet, n: int = TIMED_IMAGES) -> float:
    """Measure the rate on some images, after a first one that is slow for other reasons.

    NaN where the seed set has one image only.

    Parameters
    ----------
    observer : Observer
        What is done with each image.
    seed_set : SeedSet
        Its first images are taken.
    n : int
        Images to time, at most.
    """
    from autoeval.stability.metasets import SampleSet, own_images

    samples = SampleSet(seed_set, own_images(seed_set))
    numbers = range(min(len(samples), 1 + n))
    list(observer.each(samples, numbers[:1]))
    start = time.perf_counter()
    done = len(list(observer.each(samples, numbers[1:])))
    return done / (time.perf_counter() - start) if done else math.nan


def warn_of_long_run(
    observer: Observer[Any], seed_sets: Sequence[SeedSet], meta_set: MetaSetConfig | None
) -> None:
    """Print how long a fit will take, and what is shorter, where that is over four minutes.

    Parameters
    ----------
    observer : Observer
        What is done with each image.
    seed_sets : sequence of SeedSet
        The sources; the first is timed.
    meta_set : MetaSetConfig or None
        How their sample sets are drawn; None for own images alone.
    """
    sizes = [len(seed_set.images) for seed_set in seed_sets]
    total = _n_images(sizes, meta_set.n_sets, meta_set.n_images) if meta_set else sum(sizes)
    if total < FEW_IMAGES:
        return
    seconds = total / images_a_second(observer, seed_sets[0], n=1)
    if LONG_S < seconds < 10 * LONG_S:  # one image alone makes a fast detector look slow
        seconds = total / images_a_second(observer, seed_sets[0])
    if seconds > LONG_S:
        offers = []
        if meta_set is not None:
            repeats = getattr(observer.settings, "repeats", 0)
            a_pass = seconds / total / (1 + repeats)
            few = _n_images(sizes, SMALL["n_sets"], SMALL["n_images"])
            small = a_pass * few * (1 + SMALL["repeats"])
            light = a_pass * sum(sizes)
            if small < seconds / 2:
                offers.append(
                    f"--n-sets {SMALL['n_sets']} --n-images {SMALL['n_images']} --repeats "
                    f"{SMALL['repeats']}: about {duration(small)}"
                )
            offers.append(f"--preset light, without box stability: about {duration(light)}")
        print(
            f"note: this will take about {duration(seconds)}: {total} images at "
            f"{total / seconds:.2g} a second{on_device(observer.detector)}. "
            f"{'; '.join([*offers, 'faster: --device cuda'])}. It can be interrupted: the same "
            "command goes on where it stopped.",
            file=sys.stderr,
        )


def on_device(detector: Any) -> str:
    """Say what a detector runs on, where it says that.

    Parameters
    ----------
    detector : ImageDetector
        Of any kind.
    """
    device = getattr(detector, "device", None)
    return f" on {device}" if device else ""


def _n_images(sizes: Sequence[int], n_sets: int, n_images: int) -> int:
    return sum(sizes) + n_sets * sum(min(n_images, size) for size in sizes)
