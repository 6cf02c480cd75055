"""How far box stability moves by how masks of feature dropout are drawn: a table of docs.

    python -m benchmarks.mask_noise [--n-images 8] [--seeds 4] > table.md

Renders the environments of the road world and runs the detector under dropout with the masks that
are shipped, a hash of integers of seed, stage and position, and with those of ``torch.rand`` on the
processor, by as many seeds each. Where both are masks of independent elements, their mean scores
differ by no more than seeds do.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from unittest.mock import patch

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from autoeval.detectors import load_detector
from autoeval.report.text import format_cells, to_markdown
from autoeval.roadworld import DETECTOR, ENVIRONMENTS, make_picture
from autoeval.stability.network.as_perturbable import as_perturbable
from autoeval.stability.network.forward import dropout, passes
from autoeval.stability.passes.presets import PRESETS
from autoeval.stability.scores.box_stability import box_stability

Draw = Callable[..., Tensor]


def from_torch(
    shape: Sequence[int], seeds: Sequence[int], stage: int, *, device: torch.device | str = "cpu"
) -> Tensor:
    """Draw by torch's generator of the processor, one for each seed and stage."""
    generators = [torch.Generator().manual_seed(dropout._hash(seed, stage)) for seed in seeds]
    return torch.stack([torch.rand(*shape, generator=one) for one in generators]).to(device)


def scores(detector: object, n_images: int, seeds: int, draw: Draw) -> dict[str, np.ndarray]:
    """Return the score of each environment by each seed, (environments, seeds), for each preset."""
    found = {name: np.zeros((len(ENVIRONMENTS), seeds)) for name in PRESETS}
    specs = list(dict.fromkeys(spec for spec, _ in PRESETS.values()))
    perturbable = as_perturbable(detector)
    with ExitStack() as stack:
        for module in (dropout, passes):
            stack.enter_context(patch.object(module, "draw_uniform", draw))
        for row, environment in enumerate(ENVIRONMENTS):
            each: dict[str, list[list[float]]] = {name: [] for name in PRESETS}
            for index in range(n_images):
                image = make_picture(environment, index).image
                (seen,) = perturbable.observe_each([image], [str(index)], specs, repeats=seeds)
                for name, (spec, settings) in PRESETS.items():
                    evidence = seen[spec]
                    each[name].append(
                        [box_stability(evidence.clean, p, settings) for p in evidence.perturbed]
                    )
            for name, values in each.items():
                found[name][row] = np.nanmean(values, axis=0)
    return found


def table(detector: object, n_images: int, seeds: int) -> pd.DataFrame:
    """Return one row a preset."""
    hashed = scores(detector, n_images, seeds, dropout.draw_uniform)
    drawn = scores(detector, n_images, seeds, from_torch)
    rows = []
    for name, by_seed in hashed.items():
        other = drawn[name]
        spread = np.sqrt((by_seed.var(1, ddof=1) + other.var(1, ddof=1)) / 2)
        gap = by_seed.mean(1) - other.mean(1)
        error = np.sqrt((spread**2 * 2 / seeds).sum()) / len(gap)
        rows.append(
            {
                "preset": name,
                "mean": by_seed.mean(),
                "deviation by seed": np.sqrt((spread**2).mean()),
                "difference of means": gap.mean(),
                "its standard error": error,
                "largest of one environment": abs(gap).max(),
            }
        )
    return pd.DataFrame(rows)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--detector", default=DETECTOR)
    parser.add_argument("--checkpoint")
    parser.add_argument("--n-images", type=int, default=8, help="of each environment (8)")
    parser.add_argument("--seeds", type=int, default=4, help="of each way to draw (4)")
    args = parser.parse_args()
    detector = load_detector(args.detector, checkpoint=args.checkpoint, device="cpu")
    made = table(detector, args.n_images, args.seeds)
    print(to_markdown(format_cells(made, dict.fromkeys(made.columns[1:], "{:.4f}"))))


if __name__ == "__main__":
    main()
