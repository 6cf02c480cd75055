"""Processor time and memory of an estimate from a predictions file, by number of images and format.

    python -m benchmarks.predictions_scale --images 10000 100000 1000000
    python -m benchmarks.predictions_scale --images 100000 --formats parquet --labels

Made-up boxes of 80 categories, 20 an image, are written as Parquet, JSON lines and COCO results.
An estimator is fitted on 2,000 other images, on which boxes are right as often as their scores say.
Each row is one `autoeval estimate --predictions FILE --images FILE` in a process of its own:
reading, scoring, the bootstrap over images, and the report. With ``--labels`` a second row of each
is the same with the labels of all images (``--labels FILE``).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from autoeval.report.text import format_cells, to_markdown
from autoeval.runtime.files import write_text

PER_IMAGE, N_CATEGORIES, N_FITTED, AT_ONCE = 20, 80, 2000, 20_000
FORMATS = ("parquet", "jsonl", "json")
COLUMNS = {
    "images": "{:,.0f}",
    "boxes": "{:,.0f}",
    "file, MB": "{:,.0f}",
    **dict.fromkeys(("processor, s", "wall clock, s"), "{:.1f}"),
    "µs a box": "{:.2f}",
    "peak memory, MB": "{:,.0f}",
}


def made_up(n_images: int, seed: int) -> Iterator[dict[str, np.ndarray]]:
    """Draw the boxes of images, some images at a time, as the columns of a file."""
    rng = np.random.default_rng(seed)
    for start in range(0, n_images, AT_ONCE):
        images = np.arange(start, min(start + AT_ONCE, n_images))
        n = len(images) * PER_IMAGE
        yield {
            "image_id": np.repeat(images, PER_IMAGE),
            "category_id": 1 + np.minimum(rng.geometric(0.06, n) - 1, N_CATEGORIES - 1),
            **{name: np.round(500 * rng.random(n), 2) for name in "xy"},
            **{name: np.round(10 + 90 * rng.random(n), 2) for name in "wh"},
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


def run(*words: object) -> dict[str, float]:
    """Run the program; return its seconds by two clocks and its peak memory in MB."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    start = time.perf_counter()
    command = [sys.executable, "-m", "autoeval.cli", *map(str, words)]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(f"{' '.join(command)} failed.")
    return {
        "processor, s": used.ru_utime + used.ru_stime,
        "wall clock, s": time.perf_counter() - start,
        "peak memory, MB": used.ru_maxrss / 1024,
    }


def main() -> None:
    """Write, fit, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--formats", nargs="+", choices=FORMATS, default=list(FORMATS))
    parser.add_argument("--labels", action="store_true", help="also with all images labelled")
    parser.add_argument("--folder", type=Path, help="where files are kept (default: nowhere)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.folder) as name:
        folder, rows = Path(name), []
        write_labels(folder / "val.json", N_FITTED, seed=0)
        (part,) = made_up(N_FITTED, seed=0)
        write_text(folder / "val_predictions.json", json.dumps([*results(part)]))
        fit = ["fit", "--labels", folder / "val.json", "--work-dir", folder / "fit"]
        run(*fit, "--predictions", folder / "val_predictions.json")
        for n_images in args.images:
            write_predictions(folder, n_images, args.formats)
            if args.labels:
                write_labels(folder / "new_labels.json", n_images, seed=1)
            for kind in args.formats:
                file = folder / f"new.{kind}"
                words = ["--predictions", file, "--images", folder / "images.txt"]
                words += ["--estimator", folder / "fit" / "estimator.parquet"]
                words += ["--work-dir", folder / "estimate"]
                labelled = ["--labels", folder / "new_labels.json"]
                for more in ([], labelled) if args.labels else ([],):
                    used = run("estimate", *words, *more)
                    n_boxes = n_images * PER_IMAGE
                    name = f"{kind}, all labels" if more else kind
                    row = {"format": name, "images": n_images, "boxes": n_boxes, **used}
                    row["file, MB"] = file.stat().st_size / 1e6
                    row["µs a box"] = 1e6 * used["processor, s"] / n_boxes
                    rows.append(row)
                    print(row, file=sys.stderr, flush=True)
    table = pd.DataFrame(rows)[["format", *COLUMNS]]
    print(to_markdown(format_cells(table, COLUMNS)))


if __name__ == "__main__":
    main()
