"""Reading is for everybody: also where neither torch nor MMDetection is installed."""

import subprocess
import sys

READERS = (
    "autoeval.data.labels.any_format, autoeval.data.labels.writing, autoeval.data.find_images, "
    "autoeval.data.find_images, autoeval.data.video, autoeval.metasets.seed_set"
)
HEAVY = ("torch", "mmengine", "mmcv", "mmdet", "albumentations", "pandas", "matplotlib")


def test_readers_import_none_of_the_heavy_packages():
    code = f"import sys, {READERS}; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
