import subprocess
import sys
from pathlib import Path

import autoeval.metrics

CODE = """
import sys, pkgutil
sys.modules |= dict.fromkeys(["torch", "cv2", "mmdet", "mmengine", "sklearn", "pandas"])
import autoeval.metrics
for module in pkgutil.iter_modules(autoeval.metrics.__path__, "autoeval.metrics."):
    __import__(module.name)
    print(module.name)
"""


def test_metrics_need_no_more_than_numpy_and_scipy():
    run = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    files = Path(autoeval.metrics.__path__[0]).glob("[a-z]*.py")
    assert len(run.stdout.split()) == len(list(files)) > 3
