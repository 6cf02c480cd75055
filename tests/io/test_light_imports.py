"""Reading and measuring are for everybody, also without torch and MMDetection."""

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import autoeval.accuracy

READERS = ("labels.any_format", "coco", "find_images", "video")
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
    assert len(modules) > 1
    names = ", ".join(f"autoeval.{name}" for name in modules)
    code = f"import sys, json, {names}; print(json.dumps(list({{*sys.modules}} & {{*{heavy!r}}})))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert json.loads(done.stdout) == [], done.stderr


READ = """
import json, sys
from autoeval.io.image_lists import read_image_list
from autoeval.io.predictions import read_predictions
images = read_image_list(sys.argv[1])
for path in sys.argv[2:]:
    assert len(read_predictions(path, images=images, numbers={"1": "car"})) == 2
print(json.dumps(sorted({*sys.modules})))
"""


def test_reading_predictions_imports_none_of_the_heavy_packages(tmp_path):
    """Arrow imports pandas for numbers and arrays that Python gives it."""
    rows = [{"image_id": k, "category_id": 1, "bbox": [0, 0, 9, 9], "score": 0.5} for k in (1, 2)]
    images, listed, boxes, lines = (
        tmp_path / n for n in ("i.txt", "a.json", "b.parquet", "c.jsonl")
    )
    images.write_text("1\n2\n3\n")
    listed.write_text(json.dumps(rows))
    lines.write_text("\n".join(map(json.dumps, rows)))
    pq.write_table(pa.Table.from_pylist([*rows]), boxes)
    command = [sys.executable, "-c", READ, *map(str, (images, listed, boxes, lines))]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not {*HEAVY, "sklearn", "scipy.stats"} & {*json.loads(done.stdout)}
