"""A small data set in FSC-147's layout, and counters that answer from a table."""

from pathlib import Path

import cv2
import numpy as np
import pytest
from counting_files import write_fsc147 as write_files

from autoeval.counting.counters import CountResult

CLASS_OF = {"3.jpg": "c", "1.jpg": "a", "2.jpg": "b", "4.jpg": "a"}
COUNTS = {"1.jpg": 10, "2.jpg": 4, "3.jpg": 5, "4.jpg": 2}
SIZES = {"1.jpg": (40, 60), "2.jpg": (31, 20), "3.jpg": (90, 16), "4.jpg": (24, 200)}


def write_fsc147(root: Path) -> Path:
    """Write four images; the order of the split differs from that of the class file."""
    images = root / "images_384_VarV2"
    images.mkdir(parents=True)
    rng = np.random.default_rng(0)
    for name, (height, width) in SIZES.items():
        cv2.imwrite(str(images / name), rng.integers(0, 256, (height, width, 3), np.uint8))
    objects = {
        name: (CLASS_OF[name], [[k + 0.5, 1.0] for k in range(count)])
        for name, count in COUNTS.items()
    }
    write_files(root, objects, classes=["a", "b", "c"])
    lines = [f"{name}\t{category}\n" for name, category in CLASS_OF.items()]
    (root / "ImageClasses_FSC147.txt").write_text("".join(lines))
    return root


@pytest.fixture
def fsc147(tmp_path) -> Path:
    return write_fsc147(tmp_path / "fsc")


class StubCounter:
    """Answers every prompt with as many points as `answer` says, all at one height."""

    name = "stub"
    capabilities = frozenset({"count", "points"})

    def __init__(self, answer=lambda prompt, context: 3, y: float = 0.0) -> None:
        self.answer = answer
        self.y = y
        self.asked: list[tuple[str, str]] = []
        self.contexts: list[dict] = []

    def count(self, image, prompt, context=None):
        self.asked.append((context["image_id"], prompt))
        self.contexts.append(dict(context))
        count = self.answer(prompt, context)
        if not np.isfinite(count) or count < 0:
            return CountResult(count, context=context)
        points = np.full((int(count), 2), self.y)
        return CountResult(float(count), points=points, context=context)


@pytest.fixture
def stub_counter():
    return StubCounter
