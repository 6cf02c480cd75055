"""Detectors of other frameworks in the commands: a fit and an estimate at once, and from files.

Networks have random weights. What they find is labelled, the surer the more often, so that they
have an accuracy.
"""

import json
from importlib.metadata import version
from pathlib import Path

import cv2
import numpy as np
import pytest
from framework_images import scenes

import autoeval
from autoeval.cli import main
from autoeval.detectors.adapters import adapter_of
from autoeval.detectors.detector_spec import DetectorSpec
from tests.clients.torchvision_operators import usable_torchvision
from tests.doc_pages import ROOT

N = 40
SHRUNK = """
from autoeval.detectors import BlackBoxDetector
from autoeval.detectors.detector_spec import DetectorSpec

files = dict(checkpoint={checkpoint!r}, classes={classes!r})
inner = DetectorSpec({name!r}, **files, cfg_options={cfg_options!r})()

def find(images):
    boxes, scores, labels = inner.find(images)
    return [box + [1, 1, -1, -1] for box in boxes], scores, labels

detector = BlackBoxDetector(find, inner.categories, name="shrunk", settings=inner.settings)
"""


def ultralytics_model(folder):
    pytest.importorskip("ultralytics", reason="needs the extra 'ultralytics'")
    usable_torchvision()
    import torch
    from test_ultralytics_model import SIDE, spread
    from ultralytics import YOLO

    torch.manual_seed(0)
    model = YOLO("yolo11n.yaml")
    spread(model.model)
    model.ckpt = {"train_args": {"imgsz": SIDE}}  # as after a training
    model.save(folder / "best.pt")
    return DetectorSpec(str(folder / "best.pt"), cfg_options={"iou": 0.2, "max_det": 20})


def torchvision_model(folder):
    usable_torchvision()
    import torch
    from test_torchvision_model import FASTER, SIZE, build

    torch.save(build(FASTER, num_classes=3).state_dict(), folder / "last.pth")
    (folder / "words.txt").write_text("car\nbus\n")
    few = {"rpn_pre_nms_top_n_test": 60, "rpn_post_nms_top_n_test": 30}
    options = {**SIZE, **few, "num_classes": 3, "box_nms_thresh": 0.2}
    files = {"checkpoint": str(folder / "last.pth"), "classes": str(folder / "words.txt")}
    return DetectorSpec(f"torchvision:{FASTER}", **files, cfg_options=options)


def transformers_model(folder):
    pytest.importorskip("transformers", reason="needs the extra 'transformers'")
    import torch
    from test_transformers_model import yolos

    torch.manual_seed(0)
    for part in yolos():
        part.save_pretrained(folder / "model")
    return DetectorSpec(f"hf:{folder / 'model'}")


def onnx_model(folder):
    """Boxes that stay where they are; the score of each is the green of a pixel in it."""
    onnx = pytest.importorskip("onnx", reason="needs the extra 'test': onnx")
    pytest.importorskip("onnxruntime", reason="needs the extra 'onnx'")
    rows, columns = (np.arange(12) // 4 * 40 + 10, np.arange(12) % 4 * 40 + 10)
    corners = np.stack([columns - 8, rows - 8, columns + 8, rows + 8], 1).astype(np.float32)
    constants = {
        **{"boxes": corners, "labels": np.arange(12) % 2, "flat": np.array([-1])},
        "places": 160 * 160 + (rows + 20) * 160 + columns,
    }
    nodes = [
        onnx.helper.make_node("Constant", [], [k], value=onnx.numpy_helper.from_array(v, k))
        for k, v in constants.items()
    ]
    nodes.append(onnx.helper.make_node("Reshape", ["images", "flat"], ["pixels"]))
    nodes.append(onnx.helper.make_node("Gather", ["pixels", "places"], ["scores"]))
    kinds = {"boxes": (1, (12, 4)), "scores": (1, (12,)), "labels": (7, (12,))}
    infos = [onnx.helper.make_tensor_value_info(k, *v) for k, v in kinds.items()]
    pixels = onnx.helper.make_tensor_value_info("images", onnx.TensorProto.FLOAT, (1, 3, 160, 160))
    graph = onnx.helper.make_graph(nodes, "made", [pixels], infos)
    opset = onnx.helper.make_opsetid("", 17)
    model = onnx.helper.make_model(graph, opset_imports=[opset], ir_version=9)
    onnx.helper.set_model_props(model, {"names": str({0: "car", 1: "bus"})})
    onnx.save(model, folder / "best.onnx")
    return DetectorSpec(str(folder / "best.onnx"))


def write_site(folder, names, seed):
    """Images of one pattern in other brightness and colour."""
    for k, name in enumerate(names):
        (image,) = scenes(1)
        rng = np.random.default_rng(100 * seed + k)
        image = np.uint8(image * rng.uniform(0.4, 0.8)) + rng.integers(0, 50, (1, 1, 3), np.uint8)
        folder.mkdir(parents=True, exist_ok=True)
        cv2.imwrite(str(folder / name), image)


def write_labels(found, split, folder, *, alike):
    """Write YOLO labels of what was found there: the surest box in nine of ten cases.

    Where all scores are `alike`, eight of ten boxes.
    """
    rng = np.random.default_rng(1)
    order = np.argsort(np.argsort(found.scores)) / len(found)
    share = 0.8 if alike else order**2 * 0.9
    labelled = rng.random(len(found)) < share
    lines = {image.file_name: [] for image in found.images}
    for k in np.flatnonzero(labelled):
        image = found.images[found.image[k]]
        height, width = image.size
        x, y, x2, y2 = found.boxes[k] + rng.uniform(-2, 2, 4)
        box = [(x + x2) / 2 / width, (y + y2) / 2 / height, (x2 - x) / width, (y2 - y) / height]
        if x2 > x and y2 > y:
            numbers = " ".join(f"{number:.6f}" for number in np.clip(box, 0, 1))
            lines[image.file_name].append(f"{found.label[k]} {numbers}")
    (folder / "labels" / split).mkdir(parents=True)
    for name, of_image in lines.items():
        (folder / "labels" / split / name).with_suffix(".txt").write_text("\n".join(of_image))


@pytest.fixture(
    scope="module",
    params=[
        ultralytics_model,
        transformers_model,
        onnx_model,
        pytest.param(torchvision_model, marks=pytest.mark.slow),
    ],
)
def world(request, tmp_path_factory):
    """A detector, a data.yaml with a training and a validation split, a new site."""
    folder = tmp_path_factory.mktemp(request.param.__name__)
    spec = request.param(folder)
    detector = spec()
    names = [f"{k:02}.png" for k in range(N)]
    write_site(folder / "images/val", names, 1)
    write_site(folder / "images/train", names[:4], 2)
    write_site(folder / "new_site", names, 3)
    for split in ("val", "train"):
        path = folder / f"{split}.parquet"
        found = autoeval.detect(detector, folder / "images" / split, path)
        alike = request.param is transformers_model
        write_labels(found, split, folder, alike=alike)
    words = dict(enumerate(detector.categories))
    data = {"path": str(folder), "train": "images/train", "val": "images/val", "names": words}
    (folder / "data.yaml").write_text(json.dumps(data))  # JSON is YAML
    named = ["--detector", spec.name, "--device", "cpu"]
    for option in ("checkpoint", "classes"):
        if getattr(spec, option):
            named += [f"--{option}", getattr(spec, option)]
    if spec.cfg_options:
        named += ["--cfg-options", *(f"{k}={v}" for k, v in spec.cfg_options.items())]
    return folder, named, spec


def run(*words):
    return main([str(word) for word in words])


def numbers_of(folder):
    """The estimate that a command has written."""
    return json.loads((folder / "result.json").read_text())["estimate"]


def same(one, other):
    """Whether two estimates have the same numbers, to the last digit."""
    texts = ("warnings", "notes", "warning_codes")
    one, other = ({k: v for k, v in r.items() if k not in texts} for r in (one, other))
    return json.dumps(one) == json.dumps(other)


def test_one_command_fits_and_estimates(world, tmp_path, capsys):
    folder, named, _ = world
    words = ["estimate", *named, "--fit-labels", folder / "data.yaml"]
    words += ["--images", folder / "new_site", "--work-dir", tmp_path / "one"]
    assert run(*words) == 0
    printed = capsys.readouterr()
    assert "mAP" in printed.out and "90% interval" in printed.out
    assert "add --trained-here" in printed.out and "next step" in printed.out
    once = numbers_of(tmp_path / "one")
    codes = [warning["code"] for warning in once["warning_codes"]]
    assert once["n_images"] == N and "splits-left-out" in codes  # of train
    values = [of["value"] for of in once["per_category"].values()]
    assert values and all(0 < value < 1 for value in values)
    assert run(*words) == 0
    again = capsys.readouterr()
    assert again.err.count(f"all {N} images are kept") == 2  # of val, and of the new site
    assert numbers_of(tmp_path / "one") == once
    # Fit and estimate apart, by the detector and by its file: the same to the last digit.
    fit = ["fit", *named, "--labels", folder / "data.yaml", "--work-dir", tmp_path / "fit"]
    assert run(*fit) == 0
    by_fit = ["--estimator", tmp_path / "fit"]
    new = ["--images", folder / "new_site"]
    assert run("estimate", *by_fit, *new, "--device", "cpu", "--work-dir", tmp_path / "two") == 0
    assert same(numbers_of(tmp_path / "two"), once)
    boxes = tmp_path / "boxes.parquet"
    assert run("detect", *named, *new, "-o", boxes, "--work-dir", tmp_path / "kept") == 0
    assert run("estimate", *by_fit, "--predictions", boxes, "--work-dir", tmp_path / "three") == 0
    assert same(numbers_of(tmp_path / "three"), once)


def test_the_version_of_the_framework_is_noted(world):
    folder, _, spec = world
    package = adapter_of(spec.name).PACKAGE
    noted = autoeval.load_predictions(folder / "val.parquet").run.versions
    assert noted[package] == version(package)


def test_the_other_commands_take_the_detector(world, tmp_path):
    folder, named, spec = world
    new = ["--images", folder / "new_site"]
    other = folder / "other.py"  # another detector: boxes shrunk a little
    other.write_text(SHRUNK.format(**vars(spec)))
    for name, detector in (("one", named), ("two", ["--detector", f"{other}:detector"])):
        fit = ["fit", *detector, "--labels", folder / "data.yaml", "--work-dir", tmp_path / name]
        assert run(*fit) == 0
    fitted = ["--estimator", tmp_path / "one"]
    plan = ["label", "plan", *fitted, *named, *new, "--n", 5, "--work-dir", tmp_path / "plan"]
    assert run(*plan) == 0
    assert len(json.loads((tmp_path / "plan/plan.json").read_text())["drawn"]) == 5
    choice = ["threshold", *fitted, *named, *new]
    assert run(*choice, "--work-dir", tmp_path / "threshold") == 0
    compare = ["compare", tmp_path / "one", tmp_path / "two", *new]
    assert run(*compare, "--work-dir", tmp_path / "compare") == 0


def test_a_training_ends_with_the_estimate_of_a_folder(world, tmp_path, monkeypatch):
    """The callback of the example, called by a trainer of Ultralytics whose training is over."""
    folder, _, spec = world
    if not spec.name.endswith(".pt"):
        pytest.skip("for Ultralytics")
    from ultralytics.models.yolo.detect import DetectionTrainer

    made, logged = {"__name__": "example"}, []
    exec((ROOT / "examples/ultralytics_callback.py").read_text("utf-8"), made)
    estimate, given = autoeval.estimate, []

    def as_fitted(**options):
        """With the options of the labels, and without the fall of a detector trained here."""
        given.append(options)
        changed = {"trained_here": False, "cfg_options": spec.cfg_options}
        return estimate(**{**options, **changed})

    monkeypatch.setattr(autoeval, "estimate", as_fitted)
    options = {"model": spec.name, "data": str(folder / "data.yaml"), "device": "cpu"}
    trainer = DetectionTrainer(overrides={**options, "project": str(tmp_path), "name": "train"})
    callback = made["log_estimate"](folder / "new_site", log=logged.append)
    trainer.add_callback("on_train_end", callback)
    trainer.best = Path(spec.name)
    trainer.run_callbacks("on_train_end")
    assert given[0]["trained_here"] and given[0]["detector"] == spec.name
    (numbers,) = logged
    assert 0 < numbers["estimate/lower"] < numbers["estimate/mAP"] < 1
    assert (trainer.save_dir / "autoeval/fit/estimator.parquet").exists()
