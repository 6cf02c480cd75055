"""What a program that runs a detector writes to the terminal."""

import subprocess
import sys

PROGRAM = """
import warnings
import numpy as np
from autoeval.detectors import Detector
from autoeval.detectors.building.category_names import coco_categories
from autoeval.detectors.loading import build_model, read_config

config = read_config("yolox_nano")
detector = Detector(build_model(config), config, coco_categories())
detector.observe([np.zeros((64, 64, 3), np.uint8)], ["a"])
warnings.warn("something else of the future", FutureWarning)
"""


def test_three_warnings_are_silent_and_no_other():
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    assert "something else of the future" in run.stderr
    assert "pkg_resources" not in run.stderr
    assert "autocast" not in run.stderr
    assert "meshgrid" not in run.stderr
