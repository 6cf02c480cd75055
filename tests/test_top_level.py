"""What `import autoeval` gives, and what it leaves alone."""

import subprocess
import sys

CODE = """
import sys, autoeval
heavy = {"torch", "mmengine", "mmcv", "mmdet", "pandas", "sklearn"} & set(sys.modules)
assert not heavy, heavy
sys.modules["mmcv"] = sys.modules["mmdet"] = None  # importing them fails
from autoeval import MapEstimator
assert MapEstimator("bos").level == 0.9
"""


def test_the_package_is_light_and_the_estimator_needs_no_mmcv():
    subprocess.run([sys.executable, "-c", CODE], check=True)
