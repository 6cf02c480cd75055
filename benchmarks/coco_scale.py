"""Processor time and memory of each command on files as large as those of COCO's validation set.

    python -m benchmarks.coco_scale DATA PREDICTIONS [--folder DIR] [--only NAME ...]
        [--hotcoco PYTHON] [--images N] [--categories N]

DATA and PREDICTIONS are laid out as `benchmarks/panel.py` reads them. The images of
``all/coco_mini`` are resampled, their boxes shifted by `SHIFT` of their sides and the scores by
`SCORES`, all by `SEED`: 4,920 labelled images of its `train` part, on which a detector is fitted,
and 4,920 new ones of its `val` part, 80 categories. With more `--categories` each copy of the
images has others. Each row is a whole process. COCO's evaluation of the same new files: by this
project, by pycocotools and, with the Python of an environment that has it, by hotcoco.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from autoeval.accuracy.coco_matching import rank_categories
from autoeval.io.coco import read_coco
from autoeval.io.labels.content import labelled_boxes
from autoeval.io.predictions import read_predictions
from autoeval.report.text import format_cells, to_markdown
from benchmarks.many_categories import LOWEST_SCORE, SET

N_IMAGES, N_CATEGORIES, N_SITES = 4920, 80, 30
LARGEST = 90  # number of a category
SEED, SHIFT, SCORES = 0, 0.03, 0.05
DETECTORS = ("yolov8n", "yolo26n")
PARTS = {"old": "train", "new": "val"}
FEW = (20, 200)  # labels
COLUMNS = {"processor, s": "{:.1f}", "peak memory, MB": "{:,.0f}"}
EVALUATIONS = {
    "this project": "from benchmarks.coco_scale import evaluate\nevaluate(*sys.argv[1:])\n",
    "pycocotools": "from pycocotools.coco import COCO\nfrom pycocotools.cocoeval import COCOeval\n",
    "hotcoco": "from hotcoco import COCO, COCOeval\n",
}
OF_COCO = """
import sys
truth = COCO(sys.argv[1]); found = truth.load_res(sys.argv[2]) if hasattr(truth, 'load_res') \\
    else truth.loadRes(sys.argv[2])
of = COCOeval(truth, found, 'bbox')
with timed():
    of.evaluate(); of.accumulate()
of.summarize(); print(float(of.stats[0]))
"""
TIMED = """
import contextlib, sys, time
@contextlib.contextmanager
def timed():
    start = time.process_time(); yield
    print('evaluation', time.process_time() - start)
"""


def evaluate(labels: str, predictions: str) -> None:
    """Print the processor time of this project's evaluation, in seconds, and its mAP."""
    content = read_coco(labels)
    numbers = dict(zip(content.numbers, content.categories, strict=True))
    found = read_predictions(predictions, images=content.images, numbers=numbers)
    names = list(content.categories)
    found = found.as_categories(names, {name: name for name in names})
    truth = labelled_boxes(content)
    start = time.process_time()
    ranked = rank_categories(found, truth)
    each = [ranking.average_precision().mean() for ranking in ranked if ranking.n_true.any()]
    print("evaluation", time.process_time() - start)
    print(float(np.mean(each)))


def resample(
    content: dict, boxes: list[dict], split: str, seed: int, n_images: int, n_words: int
) -> tuple[dict, list[dict]]:
    """Repeat the images of one part of a labelled set, with shifted boxes, up to `n_images`.

    The images lie in `N_SITES` folders. `boxes` are predictions on images of the same numbers. A
    category has `n_words` words, and a copy of the images one of them.
    """
    rng = np.random.default_rng(seed)
    images = [image for image in content["images"] if image["coco_split"] == split]
    true, found = _by_image(content["annotations"]), _by_image(boxes)
    new: dict[str, list] = {"images": [], "annotations": [], "boxes": []}
    for k in range(n_images):
        image = images[k % len(images)]
        name = f"site{k % N_SITES:02}/{k:05}.jpg"
        word = LARGEST * (k // len(images) % n_words)
        new["images"].append({**image, "id": k + 1, "file_name": name})
        for box in true.get(image["id"], ()):
            shifted = {**box, "image_id": k + 1, "id": len(new["annotations"]) + 1}
            shifted["category_id"] = box["category_id"] + word
            new["annotations"].append(shifted | _shifted(box, rng))
        for box in found.get(image["id"], ()):
            score = float(np.clip(box["score"] + SCORES * rng.normal(), LOWEST_SCORE, 1))
            kept = {"image_id": k + 1, "category_id": box["category_id"] + word}
            kept["score"] = round(score, 4)
            new["boxes"].append(kept | {"bbox": _shifted(box, rng)["bbox"]})
    words = [
        {**of, "id": of["id"] + LARGEST * k, "name": f"{of['name']} {k}" if k else of["name"]}
        for k in range(n_words)
        for of in content["categories"]
    ]
    labels = {"images": new["images"], "annotations": new["annotations"], "categories": words}
    return labels, new["boxes"]


def _by_image(rows: list[dict]) -> dict[int, list[dict]]:
    found: dict[int, list[dict]] = {}
    for row in rows:
        found.setdefault(row["image_id"], []).append(row)
    return found


def _shifted(box: dict, rng: np.random.Generator) -> dict:
    x, y, width, height = box["bbox"]
    dx, dy = SHIFT * rng.normal(size=2) * (width, height)
    left, top = round(max(x + dx, 0), 1), round(max(y + dy, 0), 1)
    return {"bbox": [left, top, width, height], "area": width * height}


def write_files(data: Path, predictions: Path, folder: Path, n_images: int, n_words: int) -> None:
    """Write labels, boxes, lists of images, and the labels of a few images."""
    content = json.loads((data / "all" / SET / "annotations.json").read_bytes())
    for place, (part, split) in enumerate(PARTS.items()):
        for detector in DETECTORS:
            boxes = json.loads((predictions / detector / "all" / f"{SET}.json").read_bytes())
            boxes = [box for box in boxes if box["score"] >= LOWEST_SCORE]
            size = n_images if part == "new" else N_IMAGES, n_words
            _, found = resample({**content, "annotations": []}, boxes, split, SEED + place, *size)
            (folder / f"{part}_{detector}.json").write_text(json.dumps(found))
        labels, _ = resample(content, [], split, SEED + place, *size)
        (folder / f"{part}.json").write_text(json.dumps(labels))


def few_labels(folder: Path, n: int) -> Path:
    """Write the labels of the first n images that the plan drew."""
    target, plan = folder / f"labels{n}.json", folder / f"plan{n}" / "plan.json"
    if not plan.exists():  # not there where `--only` leaves the plan out
        return target
    drawn = set(json.loads(plan.read_bytes())["drawn"])
    labels = json.loads((folder / "new.json").read_bytes())
    names = {"file_name", "id"}
    images = [i for i in labels["images"] if {str(i[name]) for name in names} & drawn]
    kept = {image["id"] for image in images}
    boxes = [box for box in labels["annotations"] if box["image_id"] in kept]
    target.write_text(json.dumps({**labels, "images": images, "annotations": boxes}))
    return target


def commands(folder: Path, n_images: int) -> Iterator[tuple[str, list[object]]]:
    """Yield what is measured: a name, and the words behind `python`."""
    program, first = ["-m", "autoeval"], DETECTORS[0]
    new, old = folder / "new.json", folder / "old.json"
    for name in DETECTORS:
        words = ["fit", "--labels", old, "--predictions", folder / f"old_{name}.json"]
        yield f"fit, {name}", [*program, *words, "--work-dir", folder / name]
    fitted = ["--estimator", folder / first, "--predictions", folder / f"new_{first}.json"]
    yield "estimate", [*program, "estimate", *fitted, "--images", new, *_into(folder, "est")]
    for n in (*FEW, n_images):
        words = ["label", "plan", *fitted, "--images", new, "--n", n]
        yield f"label plan, {n}", [*program, *words, *_into(folder, f"plan{n}")]
        labels = new if n == n_images else few_labels(folder, n)
        words = ["label", "estimate", "--plan", folder / f"plan{n}", "--labels", labels]
        yield f"label estimate, {n} labels", [*program, *words]
    both = [folder / name for name in DETECTORS]
    boxes = [folder / f"new_{name}.json" for name in DETECTORS]
    words = ["compare", *both, "--images", new, "--predictions", *boxes, *_into(folder, "compare")]
    yield "compare", [*program, *words]
    for n in FEW:
        yield f"compare, {n} labels", [*program, *words, "--labels", folder / f"labels{n}.json"]
    words = ["monitor", *fitted, "--images", new, *_into(folder, "monitor")]
    yield f"monitor, {N_SITES} sites", [*program, *words]


def _into(folder: Path, name: str) -> list[object]:
    return ["--work-dir", folder / name]


def evaluations(folder: Path, hotcoco: str | None) -> Iterator[tuple[str, list[object]]]:
    """Yield COCO's evaluation of the new files by each program."""
    files = [folder / "new.json", folder / f"new_{DETECTORS[0]}.json"]
    for name, code in EVALUATIONS.items():
        if name == "hotcoco" and hotcoco is None:
            continue
        rest = "" if name == "this project" else OF_COCO
        python = [hotcoco] if name == "hotcoco" else []
        yield f"COCO's evaluation, {name}", [*python, "-c", TIMED + code + rest, *files]


def run(words: list[object]) -> tuple[dict[str, float], str]:
    """Run Python; return its processor time and peak memory, and what it printed."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    python = [] if str(words[0]).endswith("python") else [sys.executable]
    command = [*python, *map(str, words)]
    with tempfile.TemporaryFile("w+") as printed:
        process = subprocess.Popen(command, env=environment, stdout=printed)
        _, status, used = os.wait4(process.pid, 0)
        if status:
            raise RuntimeError(f"{' '.join(command)} failed.")
        printed.seek(0)
        text = printed.read()
    figures = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
    return dict(zip(COLUMNS, figures, strict=True)), text


def parse_args() -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("predictions", type=Path)
    parser.add_argument("--folder", type=Path, help="where files are kept (default: nowhere)")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="rows that begin with it")
    parser.add_argument("--images", type=int, default=N_IMAGES, metavar="N", help="new ones")
    parser.add_argument("--categories", type=int, default=N_CATEGORIES, metavar="N")
    parser.add_argument("--hotcoco", metavar="PYTHON", help="of an environment that has hotcoco")
    return parser.parse_args()


def main() -> None:
    """Write the files, run everything, print tables."""
    args = parse_args()
    with contextlib.ExitStack() as stack:
        folder = args.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / "new.json").exists():
            n_words = args.categories // N_CATEGORIES
            # in another process: the peak of a child counts the memory that it was forked with
            wanted = args.data, args.predictions, folder, args.images, n_words
            writer = multiprocessing.Process(target=write_files, args=wanted)
            writer.start()
            writer.join()
        tables: list[list[dict]] = [[], []]
        runs = (commands(folder, args.images), evaluations(folder, args.hotcoco))
        for rows, named in zip(tables, runs, strict=True):
            for name, words in named:
                if args.only and not any(name.startswith(of) for of in args.only):
                    continue
                used, text = run(words)
                row = {"command": name, **used}
                if rows is tables[1]:
                    row |= _evaluated(text)
                rows.append(row)
                print(row, file=sys.stderr, flush=True)
    formats = COLUMNS | {"evaluation alone, s": "{:.2f}", "mAP": "{:.6f}"}
    for rows in filter(None, tables):
        print(to_markdown(format_cells(pd.DataFrame(rows), formats)), end="\n\n")


def _evaluated(text: str) -> dict[str, float]:
    lines = text.splitlines()
    seconds = next(line.split()[1] for line in lines if line.startswith("evaluation "))
    return {"evaluation alone, s": float(seconds), "mAP": float(lines[-1])}


if __name__ == "__main__":
    main()
