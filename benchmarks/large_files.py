"""Processor time and memory of commands on many images, boxes, categories and sites.

coco: processor time and memory of each command on files as large as those of COCO's validation set.

    python -m benchmarks.large_files coco DATA PREDICTIONS [--folder DIR] [--only NAME ...]
        [--hotcoco PYTHON] [--images N] [--categories N]

DATA and PREDICTIONS are laid out as `benchmarks/panel.py` reads them. The images of
``all/coco_mini`` are resampled, their boxes shifted by `SHIFT` of their sides and the scores by
`SCORES`, all by `SEED`: 4,920 labelled images of its `train` part, on which a detector is fitted,
and 4,920 new ones of its `val` part, 80 categories. With more `--categories` each copy of the
images has others. Each row is a whole process. COCO's evaluation of the same new files: by this
project, by pycocotools and, with the Python of an environment that has it, by hotcoco.

boxes: processor time and memory of an estimate from predictions, by number of images and format.

    python -m benchmarks.large_files boxes --images 10000 100000 1000000
    python -m benchmarks.large_files boxes --images 100000 --formats parquet --labels

Made-up boxes of 80 categories, 20 an image, are written as Parquet, JSON lines and COCO results.
An estimator is fitted on 2,000 other images, on which boxes are right as often as their scores say.
Each row is one `autoeval estimate --predictions FILE --images FILE` in a process of its own:
reading, scoring, the bootstrap over images, and the report. With ``--labels`` a second row of each
is the same with the labels of all images (``--labels FILE``).

monitor: time `autoeval monitor` on many sites: a first run, a run without news, one more site.

    python -m benchmarks.large_files monitor [--sites 1 100 1000]

Each site has 50 images with boxes drawn from the sample of the documentation, in five windows of
which three are the baseline. Every run is a process of its own. Seconds are of processors (user and
system), which other work on the machine changes little; what can be compared are the columns and
rows with one another: twice as many sites should take twice as long, and one more site among many
as long as a single one beside a run without news.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from autoeval.accuracy.coco_evaluation import rank_categories
from autoeval.io.coco import read_coco
from autoeval.io.labels.content import labelled_boxes
from autoeval.io.predictions import read_predictions
from autoeval.report.page import format_cells, to_markdown
from autoeval.runtime.files import write_text
from benchmarks.commands import MEMORY, PROCESSOR, SAMPLE, WALL, run_part, run_python
from benchmarks.many_categories import LOWEST_SCORE, SET

N_IMAGES = 4920
N_CATEGORIES = 80
N_SITES = 30
LARGEST = 90  # number of a category
SEED = 0
SHIFT = 0.03
SCORES = 0.05
DETECTORS = ("yolov8n", "yolo26n")
SPLITS = {"old": "train", "new": "val"}
FEW = (20, 200)  # labels
COLUMNS = {PROCESSOR: "{:.1f}", MEMORY: "{:,.0f}"}
EVALUATIONS = {
    "this project": "from benchmarks.large_files import evaluate\nevaluate(*sys.argv[1:])\n",
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
PER_IMAGE = 20
N_FITTED = 2000
AT_ONCE = 20_000
FORMATS = ("parquet", "jsonl", "json")
SCALE_COLUMNS = {
    "images": "{:,.0f}",
    "boxes": "{:,.0f}",
    "file, MB": "{:,.0f}",
    **dict.fromkeys((PROCESSOR, WALL), "{:.1f}"),
    "µs a box": "{:.2f}",
    MEMORY: "{:,.0f}",
}
IN_SITE = 50  # images
IN_WINDOW = 10
IN_BASELINE = 30
START = datetime(2026, 3, 2, 8)
FIT = "fit --labels val.json --predictions val_predictions.json --work-dir fit"


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
    for place, (part, split) in enumerate(SPLITS.items()):
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
        yield f"COCO's evaluation, {name}", ["-c", TIMED + code + rest, *files]


def parse_args(words: list[str]) -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(prog="large_files coco")
    parser.add_argument("data", type=Path)
    parser.add_argument("predictions", type=Path)
    parser.add_argument("--folder", type=Path, help="where files are kept (default: nowhere)")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="rows that begin with it")
    parser.add_argument("--images", type=int, default=N_IMAGES, metavar="N", help="new ones")
    parser.add_argument("--categories", type=int, default=N_CATEGORIES, metavar="N")
    parser.add_argument("--hotcoco", metavar="PYTHON", help="of an environment that has hotcoco")
    return parser.parse_args(words)


def coco(words: list[str]) -> None:
    """Write the files, run everything, print tables."""
    args = parse_args(words)
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
            for name, command in named:
                if args.only and not any(name.startswith(of) for of in args.only):
                    continue
                other = args.hotcoco if name.endswith("hotcoco") else sys.executable
                used, text = run_python(command, python=other)
                row = {"command": name, **{column: used[column] for column in COLUMNS}}
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


def made_up(n_images: int, seed: int) -> Iterator[dict[str, np.ndarray]]:
    """Draw the boxes of images, some images at a time, as the columns of a file."""
    rng = np.random.default_rng(seed)
    for start in range(0, n_images, AT_ONCE):
        images = np.arange(start, min(start + AT_ONCE, n_images))
        n = len(images) * PER_IMAGE
        yield {
            "image_id": np.repeat(images, PER_IMAGE),
            "category_id": 1 + np.minimum(rng.geometric(0.06, n) - 1, N_CATEGORIES - 1),
            "x": np.round(500 * rng.random(n), 2),
            "y": np.round(500 * rng.random(n), 2),
            "w": np.round(10 + 90 * rng.random(n), 2),
            "h": np.round(10 + 90 * rng.random(n), 2),
            "score": np.round(np.maximum(rng.beta(0.4, 1.2, n), 0.01), 5),
        }


def write_predictions(folder: Path, n_images: int, formats: list[str], seed: int = 1) -> None:
    """Write the list of images, and their boxes in each format."""
    write_text(folder / "images.txt", "\n".join(map(str, range(n_images))) + "\n")
    streams = {name: (folder / f"new.{name}").open("w") for name in formats if name != "parquet"}
    schema = pa.table(next(made_up(1, seed))).schema
    with pyarrow.parquet.ParquetWriter(folder / "new.parquet", schema) as writer:
        for number, part in enumerate(made_up(n_images, seed)):
            _write(writer, streams, part, number)
    for name, stream in streams.items():
        stream.write("]" if name == "json" else "\n")
        stream.close()


def _write(writer: Any, streams: dict[str, Any], part: dict[str, np.ndarray], number: int) -> None:
    writer.write_table(pa.table(part))
    if streams:
        text = [json.dumps(row) for row in results(part)]
    for name, stream in streams.items():
        between = ", " if name == "json" else "\n"
        stream.write((between if number else "[" * (name == "json")) + between.join(text))


def results(part: dict[str, np.ndarray]) -> Iterator[dict[str, Any]]:
    """Yield boxes as COCO results."""
    for image, category, *bbox, score in zip(*(c.tolist() for c in part.values()), strict=True):
        yield {"image_id": image, "category_id": category, "bbox": bbox, "score": score}


def write_labels(path: Path, n_images: int, seed: int) -> None:
    """Write labels of images: a box is right with the probability that its score is."""
    rng = np.random.default_rng(7)
    rows: list[dict[str, Any]] = []
    for part in made_up(n_images, seed):
        right = rng.random(len(part["score"])) < part["score"]
        rows += results({name: column[right] for name, column in part.items()})
    labels = {
        "images": [
            {"id": k, "file_name": f"{k}.jpg", "height": 700, "width": 700} for k in range(n_images)
        ],
        "categories": [{"id": k + 1, "name": f"thing {k}"} for k in range(N_CATEGORIES)],
        "annotations": [{**row, "id": n} for n, row in enumerate(rows, 1)],
    }
    write_text(path, json.dumps(labels))


def boxes(words: list[str]) -> None:
    """Write, fit, measure, print."""
    parser = argparse.ArgumentParser(prog="large_files boxes")
    parser.add_argument("--images", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--formats", nargs="+", choices=FORMATS, default=list(FORMATS))
    parser.add_argument("--labels", action="store_true", help="also with all images labelled")
    parser.add_argument("--folder", type=Path, help="where files are kept (default: nowhere)")
    args = parser.parse_args(words)
    with tempfile.TemporaryDirectory(dir=args.folder) as name:
        folder, rows, program = Path(name), [], ["-m", "autoeval"]
        write_labels(folder / "val.json", N_FITTED, seed=0)
        (part,) = made_up(N_FITTED, seed=0)
        write_text(folder / "val_predictions.json", json.dumps([*results(part)]))
        fit = ["fit", "--labels", folder / "val.json", "--work-dir", folder / "fit"]
        run_python([*program, *fit, "--predictions", folder / "val_predictions.json"])
        for n_images in args.images:
            write_predictions(folder, n_images, args.formats)
            if args.labels:
                write_labels(folder / "new_labels.json", n_images, seed=1)
            for kind in args.formats:
                file = folder / f"new.{kind}"
                asked = ["--predictions", file, "--images", folder / "images.txt"]
                asked += ["--estimator", folder / "fit" / "estimator.parquet"]
                asked += ["--work-dir", folder / "estimate"]
                labelled = ["--labels", folder / "new_labels.json"]
                for more in ([], labelled) if args.labels else ([],):
                    used, _ = run_python([*program, "estimate", *asked, *more])
                    n_boxes = n_images * PER_IMAGE
                    name = f"{kind}, all labels" if more else kind
                    row = {"format": name, "images": n_images, "boxes": n_boxes, **used}
                    row["file, MB"] = file.stat().st_size / 1e6
                    row["µs a box"] = 1e6 * used[PROCESSOR] / n_boxes
                    rows.append(row)
                    print(row, file=sys.stderr, flush=True)
    table = pd.DataFrame(rows)[["format", *SCALE_COLUMNS]]
    print(to_markdown(format_cells(table, SCALE_COLUMNS)))


def monitor(words: list[str]) -> None:
    """Write sites, run, print."""
    parser = argparse.ArgumentParser(prog="large_files monitor")
    parser.add_argument("--sites", nargs="+", type=int, default=[1, 100, 1000])
    args = parser.parse_args(words)
    rows = []
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for path in SAMPLE.glob("*.json"):
            shutil.copy(path, folder)
        run_python(["-m", "autoeval", *FIT.split()], cwd=folder)
        for n_sites in args.sites:
            rows.append(timed(folder, n_sites))
    print(to_markdown(pd.DataFrame(rows)))


def timed(folder: Path, n_sites: int) -> dict[str, Any]:
    """Return the seconds of each kind of run over some sites."""

    def seconds() -> float:
        return round(run_python(command, cwd=folder)[0][PROCESSOR], 1)

    sites, boxes = folder / f"sites_{n_sites}", images_of_sample()
    for k in range(n_sites):
        write_site(sites, k, boxes)
    command = ["-m", "autoeval", "monitor", "--estimator", "fit", "--predictions", sites.name]
    command += ["--work-dir", f"work_{n_sites}", "--by", f"every:{IN_WINDOW}"]
    command += ["--baseline", str(IN_BASELINE)]
    row: dict[str, Any] = {"sites": n_sites, "first run (s)": seconds()}
    row["run without news (s)"] = seconds()
    write_site(sites, n_sites, boxes)
    return {**row, "run with one more site (s)": seconds()}


def images_of_sample() -> list[list[dict[str, Any]]]:
    """Return the boxes of each image of the sample's new site."""
    found: dict[Any, list[dict[str, Any]]] = {}
    for box in json.loads((SAMPLE / "new_predictions.json").read_text()):
        found.setdefault(box["image_id"], []).append(box)
    return list(found.values())


def write_site(folder: Path, number: int, sample: list[list[dict[str, Any]]]) -> None:
    """Write the results of one site, 50 images ten minutes apart."""
    rng, rows, images = np.random.default_rng(number), [], []
    for k in range(IN_SITE):
        taken = START + timedelta(minutes=10 * k)
        name = f"{k:03}.jpg"
        images.append({"id": k, "file_name": name, "width": 640, "height": 480})
        images[-1]["date_captured"] = f"{taken:%Y-%m-%d %H:%M:%S}"
        for box in sample[rng.integers(len(sample))]:
            rows.append({**box, "image_id": k, "file_name": name})
    categories = json.loads((SAMPLE / "new_site.json").read_text()).get("categories", [])
    content: dict[str, Any] = {"images": images, "annotations": rows, "categories": categories}
    folder.mkdir(exist_ok=True)
    (folder / f"site_{number:04}.json").write_text(json.dumps(content))


PARTS = {"coco": coco, "boxes": boxes, "monitor": monitor}


if __name__ == "__main__":
    run_part(__doc__, PARTS)
