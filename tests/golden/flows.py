"""Flows whose complete results are recorded, so that a move of code that changes a number is seen.

A flow is a list of commands that run one after the other in a folder of inputs; what is recorded
are the numbers and names of the files `RESULTS` that they write. Paths, times, versions and
texts are left out: they are other tests' concern.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autoeval import cli

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "docs/getting-started/sample"
RECORDED = Path(__file__).parent / "recorded"
SITES = ("bdd_day", "coco_two", "dawn_sand", "dashcam_india", "hituav_day")
GROUPS = {"bdd_day": "bdd", "coco_two": "coco", "dawn_sand": "dawn", "hituav_day": "hituav"}
WORDS = "vehicle=car,bus,truck"
RESULTS = ("result.json", "measures.json", "tper.json")
#: Keys whose values are texts for people, or belong to a machine or a run.
LEFT_OUT = {
    *("warnings", "notes", "notices", "about", "command", "written", "version", "created"),
    *("seconds", "read_s", "network_s", "scores_s", "map_s", "work_dir", "unreadable", "method"),
}


EQUAL = 1e-9  # numbers that are the same, as a share and as a difference
ROUNDED = 1e-6  # the same of numbers that a network makes


@dataclass(frozen=True)
class Flow:
    """Commands, and what writes their inputs into a folder.

    slow: runs a network, so that it is compared with ``-m slow`` alone. Networks round otherwise on
    other processors: its numbers are equal to `ROUNDED`.
    """

    write: Callable[[Path, Path], None]
    commands: tuple[str, ...]
    needs_shared: bool = False
    slow: bool = False


def write_sample(folder: Path, shared: Path) -> None:
    """Copy the sample; a second detector misses every fourth box and is less sure of the rest."""
    for path in SAMPLE.glob("*.json"):
        shutil.copy(path, folder)
    for site in ("val", "new"):
        rows = json.loads((folder / f"{site}_predictions.json").read_text())
        weaker = [row | {"score": row["score"] * 0.8} for k, row in enumerate(rows) if k % 4]
        (folder / f"{site}_weaker.json").write_text(json.dumps(weaker))
    sites = folder / "sites"
    sites.mkdir()
    shutil.copy(folder / "new_predictions.json", sites / "new.json")
    shutil.copy(folder / "val_predictions.json", sites / "val.json")


def write_photos(folder: Path, shared: Path) -> None:
    """Write labels, boxes, boxes cut at .25 and a reference's boxes of photos of 80 categories.

    The first hundred of COCO's ``val`` split are the labelled set, the others the new site.
    """
    document = json.loads((shared / "real/all/coco_mini/annotations.json").read_text())
    photos = [image for image in document["images"] if image.get("coco_split") == "val"]
    for name, part in (("home", photos[:100]), ("site", photos[100:])):
        ids = {image["id"] for image in part}
        labels = {
            "images": part,
            "annotations": [a for a in document["annotations"] if a["image_id"] in ids],
            "categories": document["categories"],
        }
        (folder / f"{name}.json").write_text(json.dumps(labels))
        (folder / f"{name}_list.json").write_text(json.dumps(labels | {"annotations": []}))
        for detector in ("yolo26n", "yolov8n"):
            rows = json.loads(
                (shared / f"real_predictions/{detector}/all/coco_mini.json").read_text()
            )
            rows = [row for row in rows if row["image_id"] in ids]
            (folder / f"{name}_{detector}.json").write_text(json.dumps(rows))
            cut = [row for row in rows if row["score"] >= 0.25]
            (folder / f"{name}_{detector}_cut.json").write_text(json.dumps(cut))


def write_sites(folder: Path, shared: Path) -> None:
    """Write a task of five sites, their boxes in a folder, and two sites beside them."""
    (folder / "boxes").mkdir()
    for site in (*SITES, "bdd_city_people", "hituav_mixed"):
        shutil.copy(shared / f"real/two/{site}/annotations.json", folder / f"{site}.json")
        target = folder / (f"boxes/{site}.json" if site in SITES else f"{site}_boxes.json")
        shutil.copy(shared / f"real_predictions/yolo26n/two/{site}.json", target)
    sets = [
        {
            "name": site,
            "labels": f"{site}.json",
            "img_dir": ".",
            "group": GROUPS.get(site),
            "mapping": {"vehicle": "vehicle", "person": "person"},
        }
        for site in SITES
    ]
    (folder / "task.py").write_text(
        'name = "five"\ncategories = ["vehicle", "person"]\ndata_root = "."\n'
        'detector_mapping = dict(car="vehicle", bus="vehicle", truck="vehicle")\n'
        f"seed_sets = {sets!r}\n"
    )


def write_nothing(folder: Path, shared: Path) -> None:
    """Leave a folder empty: the commands make what they need."""


def fit_of(site: str) -> str:
    """Return the command that fits one of the five sites alone."""
    group = f" --group {GROUPS[site]}" if site in GROUPS else ""
    return (
        f"fit --labels {site}.json{group} --predictions boxes/{site}.json "
        f"--category {WORDS} --category person --work-dir fit_{site}"
    )


NEW = "--predictions new_predictions.json --images new_site.json"
PHOTOS = "--predictions site_yolo26n.json --images site_list.json"
CITY = "--predictions bdd_city_people_boxes.json --images bdd_city_people.json"
FLOWS = {
    "sample": Flow(
        write_sample,
        (
            "fit --labels val.json --predictions val_predictions.json --work-dir fit",
            f"estimate --estimator fit {NEW} --work-dir estimate",
            f"estimate --estimator fit {NEW} --score-thr .3 --work-dir at_threshold",
            "estimate --estimator fit --predictions new_predictions.json --work-dir no_list",
            f"estimate --estimator fit {NEW} --labels new_labels.json --work-dir labelled",
            f"label plan --estimator fit {NEW} --n 15 --work-dir labels",
            "label estimate --plan labels --labels new_labels.json --work-dir few",
            f"threshold --estimator fit {NEW} --recall .5 --work-dir threshold",
            "threshold --labels val.json --predictions val_predictions.json --work-dir exact",
        ),
    ),
    "sample_compare": Flow(
        write_sample,
        (
            "fit --labels val.json --predictions val_predictions.json --work-dir strong",
            "fit --labels val.json --predictions val_weaker.json --work-dir weak",
            "compare strong weak --images new_site.json --predictions new_predictions.json "
            "new_weaker.json --work-dir compare",
            "compare strong weak --images new_site.json --predictions new_predictions.json "
            "new_weaker.json --labels new_labels.json --work-dir labelled",
        ),
    ),
    "sample_monitor": Flow(
        write_sample,
        (
            "fit --labels val.json --predictions val_predictions.json --work-dir fit",
            "monitor --estimator fit --predictions sites --work-dir monitor",
        ),
    ),
    "photos": Flow(
        write_photos,
        (
            "fit --labels home.json --predictions home_yolo26n.json --work-dir fit",
            f"estimate --estimator fit {PHOTOS} --work-dir estimate",
            f"estimate --estimator fit {PHOTOS} --category person --work-dir person",
            f"estimate --estimator fit {PHOTOS} --labels site.json --work-dir labelled",
            "fit --labels home.json --predictions home_yolo26n_cut.json --work-dir fit_cut",
            "estimate --estimator fit_cut --predictions site_yolo26n_cut.json "
            "--images site_list.json --work-dir cut",
            "estimate --estimator fit --predictions site_yolo26n_cut.json "
            "--images site_list.json --work-dir cut_at_site",
            "fit --labels home.json --trained-here --predictions home_yolo26n.json "
            "--work-dir fit_home",
            f"estimate --estimator fit_home {PHOTOS} --work-dir trained_here",
        ),
        needs_shared=True,
    ),
    "photos_reference": Flow(
        write_photos,
        (
            "fit --labels home.json --predictions home_yolo26n.json "
            "--reference home_yolov8n.json --work-dir fit",
            f"estimate --estimator fit {PHOTOS} --reference site_yolov8n.json --work-dir estimate",
        ),
        needs_shared=True,
    ),
    "five_sites": Flow(
        write_sites,
        (
            "fit --task task.py --predictions boxes --work-dir fit",
            f"estimate --estimator fit {CITY} --work-dir estimate",
            f"estimate --estimator fit {CITY} --category person --work-dir person",
            "estimate --estimator fit --predictions boxes/dawn_sand.json "
            "--images dawn_sand.json --site dawn_sand --work-dir known",
            *map(fit_of, SITES),
            f"fit --join {' '.join(f'fit_{site}' for site in SITES)} --work-dir joined",
            f"estimate --estimator joined {CITY} --work-dir of_joined",
        ),
        needs_shared=True,
    ),
    "counting": Flow(
        write_nothing,
        (
            f"count evaluate {ROOT}/docs/counting/examples/roadworld_nano@0.3/predictions.csv "
            f"--truth {ROOT}/docs/counting/examples/overpass.csv --work-dir evaluate",
            "count capture generate split --counts 5-7 --patterns circle rectangle",
            f"count capture run split --counter {ROOT}/configs/counting/capture/visible_only.py "
            "--task total-occluded --work-dir answers",
            "count capture report split answers --work-dir report",
        ),
    ),
    "road_world": Flow(
        write_nothing,
        (
            "estimate-map --detector roadworld_nano --n-sets 1 --n-images 8 "
            "--preset paper --repeats 2 --method bos atc --work-dir map",
        ),
        slow=True,
    ),
}


def run(flow: Flow, folder: Path, shared: Path) -> dict[str, Any]:
    """Run a flow in an empty folder; return its results by the folder and path of each value."""
    flow.write(folder, shared)
    with contextlib.chdir(folder):
        for command in flow.commands:
            said = io.StringIO()
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                try:
                    status = cli.main(command.split())
                except SystemExit as refused:
                    status = refused.code or 0
            if status:
                raise AssertionError(f"autoeval {command}: status {status}\n{said.getvalue()}")
    found = {}
    for path in sorted(path for name in RESULTS for path in folder.rglob(name)):
        name = path.relative_to(folder).with_suffix("").as_posix()
        found |= {f"{name}: {key}": value for key, value in leaves(json.loads(path.read_text()))}
    return found


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the numbers and short names of nested values, each with its path."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in LEFT_OUT and not key.endswith("_s"):
                yield from leaves(inner, f"{path}/{key}")
    elif isinstance(value, list):
        yield f"{path}/n", len(value)
        for number, inner in enumerate(value):
            yield from leaves(inner, f"{path}/{number}")
    elif (
        value is None
        or isinstance(value, bool | int | float)
        or (isinstance(value, str) and len(value) < 40 and "/" not in value)
    ):
        yield path, value


def differences(
    found: dict[str, Any], recorded: dict[str, Any], tolerance: float = EQUAL
) -> list[str]:
    """List what differs: numbers by more than `EQUAL`, names at all, values of one side alone."""
    lines = [f"{key}: gone, was {recorded[key]}" for key in recorded.keys() - found.keys()]
    lines += [f"{key}: new, {found[key]}" for key in found.keys() - recorded.keys()]
    for key in found.keys() & recorded.keys():
        one, other = found[key], recorded[key]
        numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in (one, other))
        same = one == other
        if numbers:
            same = math.isclose(one, other, rel_tol=tolerance, abs_tol=tolerance)
        if not same and not (numbers and math.isnan(one) and math.isnan(other)):
            lines.append(f"{key}: {one}, was {other}")
    return sorted(lines)
