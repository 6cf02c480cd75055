"""Run a script of mmdet without compiled ops: python -m autoeval.detectors.ops SCRIPT [ARGS]."""

import runpy
import sys
from pathlib import Path

from autoeval.detectors.building.checkpoints import register_model_zoo
from autoeval.detectors.ops import register

if __name__ == "__main__":
    if len(sys.argv) < 2 or not Path(sys.argv[1]).is_file():
        sys.exit(f"Expected a script of mmdet, such as tools/test.py, but got {sys.argv[1:2]}.")
    del sys.argv[0]
    sys.path[0] = str(Path(sys.argv[0]).parent)
    register()
    register_model_zoo()
    runpy.run_path(sys.argv[0], run_name="__main__")
