"""What the pages show is run as it is written, in a folder with small made-up files of those names.

Commands that need data of several gigabytes, a download or hours are read by the program's parser
(`test_docs_commands.py`) and not run; Python that needs them is compiled, and its imports are made.
"""

import ast
import json
import shutil
from importlib import import_module

import cv2
import numpy as np
import pandas as pd
import pytest
from labelled_colours import labels_of, write_colours, write_detector

from autoeval.cli import main
from autoeval.detectors.ops import register
from tests.commands.predicted_world import HEIGHT, WIDTH, write_world
from tests.doc_pages import PAGES, ROOT, name_of, python_of, shell_of, snippet
from tests.test_docs_commands import commands_of

CLIENTS = {
    *("datumaro", "fiftyone", "label_studio_sdk", "mlflow", "supervision", "torchvision"),
    *("ultralytics", "wandb"),
}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The files that the first pages name: labels and predictions of two sites, grey images."""
    folder = tmp_path_factory.mktemp("docs")
    for seed, name in enumerate(("val", "new")):
        labels, found = write_world(folder, name, seed=seed, n_images=40, boxes=12)
        (folder / name).mkdir()
        words = labels.read_text().replace('"thing 0"', '"car"').replace('"thing 1"', '"bus"')
        (folder / name / "annotations.json").write_text(words)
    shutil.copy(found, folder / "new.json")
    shutil.copy(folder / "val" / "annotations.json", folder / "val.json")
    (folder / "new_site").mkdir()
    for image in json.loads((folder / "new" / "annotations.json").read_text())["images"]:
        grey = np.full((HEIGHT, WIDTH, 3), image["id"], np.uint8)
        cv2.imwrite(str(folder / "new_site" / image["file_name"]), grey)
    return folder


@pytest.fixture
def here(site, tmp_path, monkeypatch):
    """A copy of the files to run in."""
    folder = tmp_path / "here"
    shutil.copytree(site, folder)
    monkeypatch.chdir(folder)
    return folder


def block(page, holding):
    """The block of commands of a page that holds a text."""
    (found,) = [b for b in shell_of((ROOT / page).read_text("utf-8")) if holding in b]
    return found


def run_block(text, *, before=()):
    """Run the commands of a block in turn; `before` maps a command to what precedes it."""
    done = []
    for words in commands_of(text):
        dict(before).get(" ".join(words[:2]), lambda: None)()
        assert main(words) == 0, words
        done.append(" ".join(words))
    return done


def label_plan_by_hand(folder, plan):
    """Draw the boxes of the images that a plan drew, into its annotation file."""
    names = json.loads((folder / plan / "plan.json").read_text())["drawn"]
    labels_of(folder / "new", names, folder / plan / "annotations.json")


@pytest.mark.usefixtures("drawn_here")
def test_predictions_from_files(here):
    done = run_block(block("docs/how-to/predictions.md", "autoeval fit --labels val.json"))
    assert len(done) == 2
    export = "estimate --predictions new.json --images new_site/ --export out"
    assert main(export.split()) == 0
    assert (here / "out" / "predictions.json").exists()


def test_a_detector_is_run_once(tmp_path, monkeypatch, capsys):
    """Two folders of images, a black box in a file that finds rectangles, labels of the first."""
    monkeypatch.chdir(tmp_path)
    write_detector(tmp_path, 60)
    code = (tmp_path / "mine.py").read_text()  # with low scores, too
    (tmp_path / "my_detector.py").write_text(code.replace("level / 256", "((level - 60) / 200)**2"))
    for name, seed in (("val", 0), ("new_site", 1)):
        made = write_colours(tmp_path / f"made_{name}", seed, n_images=40)
        (made / "images").rename(name)
        (made / "annotations.json").rename(f"{name}.json")
    done = run_block(block("docs/how-to/predictions.md", "-o val.parquet"))
    assert len(done) == 4
    assert "estimated mAP" in capsys.readouterr().out


def test_labels_of_a_detector_at_hand(tmp_path, monkeypatch):
    """The three steps with a black box in a file, which finds coloured rectangles."""
    monkeypatch.chdir(tmp_path)
    detector = write_detector(tmp_path)
    write_colours(tmp_path / "val", 0, n_images=40)
    new = write_colours(tmp_path / "new", 1, n_images=40)
    for k, image in enumerate(sorted((new / "images").iterdir())):
        image.write_bytes(image.read_bytes() + bytes([k]))  # copies would be left out
    shutil.copytree(new / "images", "new_site")
    words = ["fit", "--labels", "val/annotations.json", "--detector", detector]
    assert main(words) == 0
    shutil.copy("work_dirs/fit/estimator.parquet", "estimator.parquet")
    before = {"label estimate": lambda: label_plan_by_hand(tmp_path, "site")}
    assert len(run_block(block("docs/how-to/labels.md", "--work-dir site"), before=before)) == 2
    assert (tmp_path / "site" / "estimate" / "report.html").exists()


@pytest.mark.parametrize(
    ("commands", "n"),
    [
        (block("docs/getting-started/sample/README.md", "autoeval fit"), 4),
        (block("docs/how-to/operating-point.md", "autoeval threshold --est"), 6),
    ],
    ids=["sample", "operating point"],
)
def test_the_sample(commands, n, tmp_path, monkeypatch):
    shutil.copytree(ROOT / "docs" / "getting-started" / "sample", tmp_path / "sample")
    monkeypatch.chdir(tmp_path / "sample")
    assert len(run_block(commands)) == n


def test_comparing_from_files(here):
    """A second detector that misses every other box."""
    for name in ("val", "new"):
        found = json.loads((here / f"{name}_predictions.json").read_text())
        (here / f"{name}_a.json").write_text(json.dumps(found))
        (here / f"{name}_b.json").write_text(json.dumps(found[::2]))
    assert len(run_block(block("docs/how-to/compare.md", "autoeval fit --labels val.json"))) == 3
    by_hand = {"compare work_dirs/a": lambda: label_plan_by_hand(here, "work_dirs/labels")}
    labelled = block("docs/how-to/compare.md", "--compare work_dirs/b")
    assert len(run_block(labelled, before=by_hand)) == 2
    run_block(block("docs/how-to/compare.md", "--target recall"))


def test_monitoring_from_files(here):
    (here / "sites").mkdir()
    shutil.copy("new_predictions.json", "sites/gate.json")
    shutil.copy("val_predictions.json", "val_pred.json")
    assert len(run_block(block("docs/how-to/monitoring.md", "val_pred.json"))) == 2
    assert len(run_block(block("docs/how-to/monitoring.md", "--alarm-below"))) == 1


def test_python_from_files(here, capsys):
    """The first lines of Python: a plan, boxes drawn by hand, a number."""
    page = "docs/how-to/python.md"
    code = snippet(page, "autoeval.plan_labels(est")
    plan, estimate = code.rsplit("print(autoeval.estimate_with_labels", 1)
    made = {}
    exec(compile(plan, page, "exec"), made)
    label_plan_by_hand(here, "plan")
    exec(compile("print(autoeval.estimate_with_labels" + estimate, page, "exec"), made)
    assert "labelled images of 40" in capsys.readouterr().out
    exec(snippet("docs/how-to/python.md", "estimate.to_pandas"), made)
    made |= {"estimate": made["est"].predict("new_predictions.json", images="new_site/")}
    exec(snippet("docs/how-to/python.md", "estimate_page("), made)
    assert (here / "work_dirs/new_site/report.html").exists()


def test_python_of_boxes_in_memory(here):
    new = json.loads((here / "new_predictions.json").read_text())
    table = pd.DataFrame(new)
    sides = np.stack(table.pop("bbox"))
    detections, paths = [], sorted((here / "new_site").iterdir())
    for k in range(len(paths)):
        mine = [row for row in new if row["image_id"] == k]
        xywh = np.array([row["bbox"] for row in mine]).reshape(-1, 4)
        boxes = np.concatenate([xywh[:, :2], xywh[:, :2] + xywh[:, 2:]], axis=1)
        parts = [np.array([row[name] for row in mine]) for name in ("score", "category_id")]
        detections.append(dict(zip(("boxes", "scores", "labels"), [boxes, *parts], strict=True)))
    made = {
        "rows": json.loads((here / "val_predictions.json").read_text()),
        "table": table.assign(**dict(zip("xywh", sides.T, strict=True))),
        "detections": detections,
        "paths": paths,
        "autoeval": import_module("autoeval"),
    }
    code = snippet("docs/how-to/python.md", "predictions=detections")
    exec(code, made)
    values = [
        made["est"].predict(made[name], images=images).value
        for name, images in (("table", "new_site/"), ("detections", paths))
    ]
    wanted = made["est"].predict("new_predictions.json", images="new_site/").value
    assert values == [wanted, wanted]


def test_python_of_fitting(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(snippet("docs/how-to/python.md", "DataFrame"), {})
    # mAP is twice the score less .5, and the score is .45
    assert capsys.readouterr().out.startswith("estimated mAP by bos: 40.0 (")


def test_python_of_labels(here, capsys):
    assert main(["fit", "--labels", "val.json", "--predictions", "val_predictions.json"]) == 0
    shutil.copy("work_dirs/fit/estimator.parquet", "estimator.parquet")
    code = snippet("docs/how-to/labels.md", "plan.drawn")
    code = code.replace('est, images="new_site/"', 'est, "new.json", images="new_site/"')
    plan, rest = code.split("# ... label ...")
    made = {}
    exec(plan, made)
    label_plan_by_hand(here, "site")
    labels_of(here / "new", [f"{k:06}.jpg" for k in range(12)], here / "some_labels.json")
    exec(rest, made)
    assert capsys.readouterr().out.count("labelled images of 40") == 2


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_python_compiles_and_finds_what_it_imports(page):
    register()  # operators for mmdet, as the README has it
    for code in python_of(page.read_text("utf-8")):
        tree = ast.parse(code)
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "autoeval":
                module = import_module(node.module)
                for name in node.names:
                    assert hasattr(module, name.name) or import_module(f"{node.module}.{name.name}")
            elif isinstance(node, ast.Import):
                for name in node.names:
                    if name.name.split(".")[0] not in CLIENTS:
                        import_module(name.name)


def test_a_task_of_several_sites(here):
    """The commands of pages for a task file, and its labels as COCO."""
    for seed, name in enumerate(("harbour", "tunnel", "market"), 5):
        labels, found = write_world(here, name, seed=seed, n_images=30, boxes=12)
        (here / "PREDICTIONS").mkdir(exist_ok=True)
        found.rename(here / "PREDICTIONS" / f"{name}.json")
        labels.rename(here / f"{name}.json")
    sources = [
        {"name": name, "labels": f"{name}.json", "img_dir": "new_site"}
        for name in ("harbour", "tunnel", "market")
    ]
    task = {"name": "vehicle", "categories": ["thing 2", "thing 3"], "data_root": str(here)}
    lines = [f"{key} = {value!r}" for key, value in {**task, "seed_sets": sources}.items()]
    (here / "my_task.py").write_text("\n".join(lines))
    done = run_block(block("docs/how-to/predictions.md", "--predictions new.json"))
    assert len(done) == 2
    assert len(run_block(block("docs/how-to/data.md", "autoeval check"))) == 1
    assert main(["convert-labels", "val.json", "OUT.json", "--img-dir", "new_site"]) == 0
    assert len(json.loads((here / "OUT.json").read_text())["images"]) == 40
