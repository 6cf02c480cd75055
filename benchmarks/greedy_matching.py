"""Boxes of many images matched all at once, beside the same matched image after image, box by box.

python -m benchmarks.greedy_matching
"""

from __future__ import annotations

import argparse

import numpy as np

from autoeval.accuracy.coco_matching import IOU_THRESHOLDS
from autoeval.boxes import box_iou
from autoeval.detections import Detections
from autoeval.stability.scores.agreement import BITS, CONFIDENT, MatchedPasses
from benchmarks.timing import in_turns, median, spread

TOGETHER = 64
Pair = tuple[Detections, Detections]


def main() -> None:
    """Make sure that both match the same boxes, and print how their times compare."""
    args = parse_args()
    pairs = made_pairs(args.n_images, args.n_boxes)
    parts = [pairs[k : k + TOGETHER] for k in range(0, len(pairs), TOGETHER)]
    slow = np.concatenate([match_one(*pair) for pair in pairs], axis=-1)
    fast = np.concatenate([MatchedPasses.of(part).matched for part in parts], axis=-1)
    np.testing.assert_array_equal(slow.swapaxes(1, 2) @ BITS, fast)
    measured = in_turns(
        {
            "one": lambda: [match_one(*pair) for pair in pairs],
            "all": lambda: [MatchedPasses.of(part) for part in parts],
        },
        args.rounds,
    )
    ratio = median(measured, _ratio, "cpu")
    low, high = spread(measured, _ratio, "cpu")
    print(f"one image after the other / {TOGETHER} at once: {ratio:.1f} ({low:.1f} to {high:.1f})")


def parse_args() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n-images", type=int, default=2000)
    parser.add_argument("--n-boxes", type=int, default=10, help="of each image (%(default)s)")
    parser.add_argument("--rounds", type=int, default=5)
    return parser.parse_args()


def made_pairs(n_images: int, n_boxes: int) -> list[Pair]:
    """Make what two passes find in each image: the same boxes, a little off."""
    rng, pairs = np.random.default_rng(0), []
    for _ in range(n_images):
        corner = rng.uniform(0, 400, (n_boxes, 2))
        boxes = np.concatenate([corner, corner + rng.uniform(30, 120, (n_boxes, 2))], axis=1)
        scores, labels = np.sort(rng.uniform(0.05, 1, n_boxes))[::-1], rng.integers(0, 3, n_boxes)
        again = Detections(boxes + rng.normal(0, 4, boxes.shape), scores, labels)
        pairs.append((again, Detections(boxes, rng.permutation(scores), labels)))
    return pairs


def match_one(found: Detections, truth: Detections) -> np.ndarray:
    """Match the boxes of one image in a loop; (confidences, thresholds, boxes by category)."""
    levels, sure = np.array(IOU_THRESHOLDS), truth.above(CONFIDENT[0])
    counted = sure.scores > np.array(CONFIDENT, np.float32)[:, None]
    matched = np.zeros((len(counted), len(levels), len(found)), bool)
    if not len(sure):
        return matched
    overlap = box_iou(found.boxes.astype(np.float64), sure.boxes.astype(np.float64))
    overlap[found.labels[:, None] != sure.labels] = 0
    free = np.repeat(counted[:, None], len(levels), axis=1)
    for n in np.flatnonzero(overlap.max(axis=1) >= levels[0]):
        offers = np.where(free & (overlap[n] >= levels[:, None]), overlap[n], 0)
        best = offers.argmax(axis=2)
        version, level = np.nonzero(offers.max(axis=2))
        matched[version, level, n] = True
        free[version, level, best[version, level]] = False
    return matched[..., np.argsort(found.labels, kind="stable")]


def _ratio(spent: dict[str, float]) -> float:
    return spent["one"] / spent["all"]


if __name__ == "__main__":
    main()
