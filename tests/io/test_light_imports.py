"""Reading and measuring are for everybody, also without torch and MMDetection."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import autoeval.accuracy

READERS = ("labels.any_format", "labels.writing", "find_images", "video")
HEAVY = ["torch", "mmengine", "mmcv", "mmdet", "albumentations", "pandas", "matplotlib"]
METRICS = [path.stem for path in Path(autoeval.accuracy.__path__[0]).glob("[a-z]*.py")]


@pytest.mark.parametrize(
    ("modules", "heavy"),
    [
        ([*(f"io.{name}" for name in READERS), "io.tasks.seed_set"], HEAVY),
        ([f"accuracy.{name}" for name in METRICS], [*HEAVY, "cv2", "sklearn"]),
    ],
    ids=["io", "accuracy"],
)
def test_modules_import_none_of_the_heavy_packages(modules, heavy):
    assert len(modules) > 3
    names = ", ".join(f"autoeval.{name}" for name in modules)
    code = f"import sys, json, {names}; print(json.dumps(list({{*sys.modules}} & {{*{heavy!r}}})))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert json.loads(done.stdout) == [], done.stderr
