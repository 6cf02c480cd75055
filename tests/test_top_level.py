"""What `import autoeval` gives, and what it leaves alone."""

import subprocess
import sys

import pytest

import autoeval

CODE = """
import sys, autoeval
heavy = {"torch", "mmengine", "mmcv", "mmdet", "pandas", "sklearn", "numpy"} & set(sys.modules)
assert not heavy, heavy
sys.modules["mmcv"] = sys.modules["mmdet"] = None  # importing them fails
from autoeval import AccuracyEstimator, DetectorSpec, Estimate, fit, load_task, plan_labels
assert AccuracyEstimator.level == 0.9 and callable(fit) and callable(load_task)
assert not {"torch", "cv2", "mmengine", "albumentations"} & set(sys.modules)
"""


def test_the_package_is_light_and_the_estimator_needs_no_torch():
    subprocess.run([sys.executable, "-c", CODE], check=True)


def test_importing_it_takes_next_to_no_time():
    """It brings a handful of modules, none of another package."""
    code = "import sys; before = set(sys.modules); import autoeval; print(*{*sys.modules} - before)"
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    brought = ran.stdout.split()
    assert "autoeval" in brought and len(brought) < 50
    foreign = {name.partition(".")[0] for name in brought} - {*sys.stdlib_module_names, "autoeval"}
    assert foreign == set()


@pytest.mark.rare
def test_all_that_is_promised_is_there():
    assert {name for name in autoeval.__all__ if getattr(autoeval, name) is None} == set()
    assert set(dir(autoeval)) == set(autoeval.__all__)
    with pytest.raises(AttributeError, match="no attribute 'magic'"):
        autoeval.magic  # noqa: B018
