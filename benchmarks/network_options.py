"""Whether channels last or bfloat16 make the network faster, and what they do to the boxes.

Observes the same image files in turns: as the pass does, with weights in channels-last layout, and
under autocast to bfloat16. Prints the median time beside that of the first, and the agreement of
the boxes with those of the first (`autoeval.stability.scores.agreement`, confident meaning over
.3), which is 1 where none changes.

    python -m benchmarks.network_options --checkpoint yolox_nano_coco.pth --images photographs/
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from copy import deepcopy
from functools import partial
from typing import Any

import pandas as pd
import torch

from autoeval.detections import Detections, Evidence
from autoeval.detectors.detector import MMDetector
from autoeval.io.image_folder import ImageFile
from autoeval.stability.scores.agreement import StabilityAP
from benchmarks.subjects import add_subject_options, image_files, make_detector
from benchmarks.timing import CLOCKS, in_turns, median, report

Files = tuple[ImageFile, ...]


def observe(detector: MMDetector, files: Files) -> list[Detections]:
    """Return the clean boxes of each file."""
    return [detector.observe([file.read()], [file.image_id])[0].clean for file in files]


def in_bfloat16(detector: MMDetector, files: Files) -> list[Detections]:
    """Return them as found under autocast; what comes out of a one-stage head is float32 again."""
    head = detector.model.bbox_head
    hook = head.register_forward_hook(lambda module, inputs, maps: _as_float(maps))
    with hook, torch.autocast(detector.device.type, torch.bfloat16):
        return observe(detector, files)


def _as_float(maps: Any) -> Any:
    return maps.float() if isinstance(maps, torch.Tensor) else type(maps)(map(_as_float, maps))


def channels_last(detector: MMDetector) -> MMDetector:
    """Return a copy whose weights lie in channels-last layout, which convolutions pass on."""
    model = deepcopy(detector.model).to(memory_format=torch.channels_last)
    return MMDetector(model, detector.config, detector.categories)


def agreement(one: list[Detections], other: list[Detections]) -> float:
    """Return how well the boxes of ``other`` are those of ``one``."""
    score = StabilityAP()
    for k, (clean, again) in enumerate(zip(one, other, strict=True)):
        score.update(Evidence(str(k), (1, 1), clean, (again,)))
    return score.compute()["stability_ap@0.30"]


def ratio(name: str, plain: str) -> Callable[[dict[str, float]], float]:
    """Return what makes a ratio to `plain` of the seconds of a round."""
    return lambda seconds: seconds[name] / seconds[plain]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_subject_options(parser, n_images=8)
    parser.add_argument("--rounds", type=int, default=5, metavar="N")
    args = parser.parse_args()
    detector = make_detector(args)
    with image_files(args.images, args.n_images) as files:
        ways: dict[str, Callable[[], list[Detections]]] = {
            "as it is": partial(observe, detector, files),
            "channels last": partial(observe, channels_last(detector), files),
            "bfloat16": partial(in_bfloat16, detector, files),
        }
        found = {name: way() for name, way in ways.items()}
        rounds = in_turns(ways, args.rounds)
    plain = next(iter(ways))
    rows = [
        {
            "option": name,
            **{c: round(median(rounds, ratio(name, plain), c), 3) for c in CLOCKS},
            "agreement": round(agreement(found[plain], found[name]), 4),
        }
        for name in ways
    ]
    report(args, [pd.DataFrame(rows).to_string(index=False)], ratios=rows)


if __name__ == "__main__":
    main()
