"""ONNX files: layouts worked out by hand, and boxes equal to those of Ultralytics."""

import numpy as np
import pytest
from framework_images import scenes, two_sizes

from autoeval.detectors.adapters import chosen
from autoeval.detectors.adapters.onnx_model import letterbox
from autoeval.detectors.detector_spec import DetectorSpec
from autoeval.errors import InputError

onnx = pytest.importorskip("onnx", reason="needs the extra 'test': onnx")
pytest.importorskip("onnxruntime", reason="needs the extra 'test': onnxruntime")
NAMES = {0: "car", 1: "bus", 2: "tram"}
SIDE = 80
WIDE = np.zeros((40, 80, 3), np.uint8)  # scaled by 1, 20 pixels of grey above and below


def write(path, outputs, *, meta=None, shape=(1, 3, SIDE, SIDE), dtype=onnx.TensorProto.FLOAT):
    """A file that gives constant outputs, whatever it sees."""
    pixels = onnx.helper.make_tensor_value_info("images", dtype, shape)
    nodes, infos = [], []
    for name, value in outputs.items():
        tensor = onnx.numpy_helper.from_array(np.asarray(value), name)
        nodes.append(onnx.helper.make_node("Constant", [], [name], value=tensor))
        infos.append(onnx.helper.make_tensor_value_info(name, tensor.data_type, tensor.dims))
    graph = onnx.helper.make_graph(nodes, "made", [pixels], infos)
    opset = onnx.helper.make_opsetid("", 17)
    model = onnx.helper.make_model(graph, opset_imports=[opset], ir_version=9)
    onnx.helper.set_model_props(model, {"names": str(NAMES), **(meta or {})})
    onnx.save(model, path)
    return str(path)


def found_in(path, image=WIDE, **options):
    detector = DetectorSpec(str(path), device="cpu", cfg_options=options or None)()
    (seen,) = detector.observe([image], ["a"])
    return seen.clean, detector


# Three boxes as cx, cy, w, h in the input: a car, the same one again, and a bus below it.
CENTRES = [[20, 40, 20, 10], [21, 40, 20, 10], [60, 50, 10, 20]]
SCORES = [[0.9, 0.1, 0], [0.8, 0.1, 0], [0.1, 0.5, 0.2]]
# In the image, 20 pixels higher: the second car is suppressed, IoU 19/21.
CORNERS = [[10, 15, 30, 25], [55, 20, 65, 40]]


def padded(rows, n=100):
    """Places of a YOLO at which nothing is."""
    return np.concatenate([rows, np.zeros((n - len(rows), len(rows[0])))]).astype(np.float32)[None]


def yolov8():
    return {"output0": padded(np.hstack([CENTRES, SCORES])).transpose(0, 2, 1)}


def yolov5():
    scores = np.array(SCORES)
    return {"output": padded(np.hstack([CENTRES, [[0.5], [0.5], [0.5]], scores * 2]))}


def end2end():
    rows = [[10, 35, 30, 45, 0.9, 0], [55, 40, 65, 60, 0.5, 1]]
    return {"output0": padded(rows, 30)}


def rtdetr():
    rows = np.hstack([np.array(CENTRES) / SIDE, SCORES])[[0, 2]]
    return {"output0": padded(rows, 30)}


def masks():
    """A segmentation model: 32 columns of masks behind the scores, and their prototypes."""
    rows = np.hstack([CENTRES, SCORES, np.ones((3, 32))])
    return {"output0": padded(rows).transpose(0, 2, 1), "output1": np.zeros((1, 32, 8, 8), "f4")}


def boxes():
    corners = np.array([[10, 35, 30, 45], [55, 40, 65, 60]], np.float32)
    return {"boxes": corners, "scores": np.float32([0.9, 0.5]), "labels": np.array([0, 1])}


def dets():
    rows = np.float32([[10, 35, 30, 45, 0.9], [55, 40, 65, 60, 0.5]])
    return {"dets": rows[None], "labels": np.array([[0, 1]])}


@pytest.mark.parametrize("layout", [yolov8, yolov5, end2end, boxes, dets, masks])
def test_a_layout_is_recognised_and_said(layout, tmp_path, capsys):
    found, detector = found_in(write(tmp_path / "a.onnx", layout()))
    name = {dets: "boxes", masks: "yolov8"}.get(layout, layout.__name__)
    assert detector.settings["layout"] == name
    said = capsys.readouterr().err
    assert f"layout={name}" in said and "label 0 is car" in said
    np.testing.assert_allclose(found.boxes, CORNERS, atol=1e-5)
    np.testing.assert_allclose(found.scores, [0.9, 0.5], atol=1e-6)
    assert found.labels.tolist() == [0, 1]
    assert detector.categories == ("car", "bus", "tram")


def test_boxes_that_end_before_they_begin_have_no_area(tmp_path):
    """As in a YOLO26 that Ultralytics exported; of others they may be left, top and sides."""
    rows = [[10, 35, 30, 45, 0.9, 0], [70, 60, 60, 50, 0.7, 0], [55, 40, 65, 60, 0.5, 1]]
    outputs = {"output0": padded(rows, 30)}
    meta = {"author": "Ultralytics", "end2end": "True"}
    found, _ = found_in(write(tmp_path / "a.onnx", outputs, meta=meta))
    np.testing.assert_allclose(found.boxes, CORNERS)
    np.testing.assert_allclose(found.scores, [0.9, 0.5])
    with pytest.raises(InputError, match="ends before it begins"):
        found_in(write(tmp_path / "b.onnx", outputs, meta={"end2end": "True"}))


@pytest.mark.parametrize("n", [0, 1, 4, 5])  # four scores are as long as a box, five as a row
@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize("order", [("box", "score", "label"), ("score", "box", "label"), None])
def test_as_many_boxes_as_there_are(n, batch, order, tmp_path):
    """Of a network whose number of boxes is open, whatever the order of its outputs."""
    box, score = np.tile(np.float32([10, 35, 30, 45]), (n, 1)), np.linspace(0.9, 0.5, n)
    values = {"box": box, "score": np.float32(score), "label": np.arange(n) % 3}
    if order is None:
        values["box"] = np.column_stack([box, np.float32(score)])
    shown = {name: values[name][None] if batch else values[name] for name in order or values}
    if order is None:
        del shown["score"]
    found, _ = found_in(write(tmp_path / "a.onnx", shown))
    np.testing.assert_allclose(found.boxes, np.tile([10, 15, 30, 25], (n, 1)))
    np.testing.assert_allclose(found.scores, score, atol=1e-6)
    assert found.labels.tolist() == [k % 3 for k in range(n)]


def test_an_rtdetr_sees_the_image_stretched(tmp_path):
    found, detector = found_in(write(tmp_path / "a.onnx", rtdetr()))
    assert (detector.settings["layout"], detector.settings["resize"]) == ("rtdetr", "stretch")
    # half of the input's height: y from 35 / 2 to 45 / 2, and from 40 / 2 to 60 / 2
    expected = [[10, 17.5, 30, 22.5], [55, 20, 65, 30]]
    np.testing.assert_allclose(found.boxes, expected, atol=1e-5)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_score_and_label_of_an_rtdetr_of_any_number_of_categories(n, tmp_path):
    """As Ultralytics exports them now; of two categories the older export has as many columns."""
    labels = [0, n - 1]
    rows = np.column_stack([np.array(CENTRES)[[0, 2]] / SIDE, [0.5, 0.9], labels])
    meta = {"names": str(dict(enumerate("abc"[:n]))), "head": "RTDETRDecoder", "end2end": "False"}
    found, detector = found_in(write(tmp_path / "a.onnx", {"output0": padded(rows)}, meta=meta))
    assert detector.settings["layout"] == "rtdetr"
    np.testing.assert_allclose(found.scores, [0.9, 0.5])
    assert found.labels.tolist() == labels[::-1]


def test_scores_of_an_rtdetr_of_two_categories(tmp_path):
    rows = np.hstack([np.array(CENTRES) / SIDE, [[0.9, 0.1], [0.2, 0.3], [0.1, 0.5]]])
    meta = {"names": "{0: 'car', 1: 'bus'}"}
    found, _ = found_in(write(tmp_path / "a.onnx", {"output0": padded(rows)}, meta=meta))
    np.testing.assert_allclose(found.scores, [0.9, 0.5, 0.3])
    assert found.labels.tolist() == [0, 1, 1]


def test_rows_of_a_yolov10_whose_metadata_do_not_say_so(tmp_path):
    """As Ultralytics 8.2 exports it: of one category it has the columns of a YOLOv5, too."""
    one = padded([[10, 35, 30, 45, 0.9, 0], [55, 40, 65, 60, 0.5, 0]], 300)
    path = write(tmp_path / "one.onnx", {"output0": one}, meta={"names": "{0: 'car'}"})
    found, detector = found_in(path)
    assert detector.settings["layout"] == "end2end"
    np.testing.assert_allclose(found.boxes, CORNERS)
    np.testing.assert_allclose(found.scores, [0.9, 0.5])
    names = {"names": "{0: 'car', 1: 'bus'}"}  # of two those of an RT-DETR
    path = write(tmp_path / "two.onnx", {"output0": end2end()["output0"]}, meta=names)
    with pytest.raises(InputError, match="no shares of the input: --cfg-options layout=end2end"):
        found_in(path)
    np.testing.assert_allclose(found_in(path, layout="end2end")[0].boxes, CORNERS)
    places = np.hstack([CENTRES, np.array([[1.0], [0.5], [0.5]]), [[0.9], [0.8], [0.5]]])
    yolov5 = {"output": padded(places, 25200)}
    path = write(tmp_path / "v5.onnx", yolov5, meta={"names": "{0: 'car'}"})
    assert found_in(path)[1].settings["layout"] == "yolov5"


def test_options_of_the_suppression(tmp_path):
    path = write(tmp_path / "a.onnx", yolov8())
    assert len(found_in(path, iou=0.95)[0]) == 3
    assert len(found_in(path, conf=0.6)[0]) == 1
    assert len(found_in(path, max_det=1)[0]) == 1
    plain, confident = found_in(path)[1], found_in(path, conf=0.6)[1]
    assert plain.fingerprint != confident.fingerprint and plain.is_identified
    copy = write(tmp_path / "renamed.onnx", yolov8())
    assert found_in(copy)[1].fingerprint == plain.fingerprint


def test_weights_in_a_file_of_their_own_make_another_detector(tmp_path):
    """As torch's exporter keeps them: the first file alone is the same of any training."""
    fingerprints = set()
    for training, score in (("first", 0.9), ("second", 0.8), ("again", 0.9)):
        folder = tmp_path / training
        folder.mkdir()
        outputs = yolov8()
        outputs["output0"][0, 4, 0] = score
        path = write(folder / "a.onnx", {"output0": np.zeros((1, 7, 100), np.float32)})
        model = onnx.load(path)
        (node,) = model.graph.node
        model.graph.initializer.append(onnx.numpy_helper.from_array(outputs["output0"], "output0"))
        model.graph.node.remove(node)
        onnx.save_model(model, path, save_as_external_data=True, location="a.onnx.data")
        found, detector = found_in(path)
        assert found.scores[0] == np.float32(score)
        assert (folder / "a.onnx.data").is_file()
        fingerprints.add(detector.fingerprint)
    assert len(fingerprints) == 2


@pytest.mark.parametrize("given", [{"conf": 2}, {"iou": -0.1}, {"box_score_thresh": "high"}])
def test_a_threshold_that_no_score_can_have_is_refused(given):
    defaults = {"conf": 0.01, "iou": 0.7, "box_score_thresh": 0.05, "imgsz": 96}
    ((name, _),) = given.items()
    with pytest.raises(InputError, match=rf"Expected {name} of the detector in \[0, 1\]"):
        chosen(defaults, given, "the detector")
    assert chosen(defaults, {"conf": 1, "imgsz": 640}, "the detector")["imgsz"] == 640


def test_what_is_seen(tmp_path):
    """A network that gives back a pixel as a score: channels, scale and the grey beside."""
    x = onnx.helper.make_tensor_value_info("images", onnx.TensorProto.FLOAT, (1, 3, SIDE, SIDE))
    constants = {"box": np.float32([[[0, 0, 80, 80]]]), "label": np.zeros((1, 1), np.int64)}
    bounds = {"start": [0, 0, 40, 40], "end": [1, 1, 41, 41], "flat": [1, 1]}
    constants |= {name: np.array(value) for name, value in bounds.items()}
    nodes = [
        onnx.helper.make_node("Constant", [], [k], value=onnx.numpy_helper.from_array(v, k))
        for k, v in constants.items()
    ]
    nodes.append(onnx.helper.make_node("Slice", ["images", "start", "end"], ["pixel"]))
    nodes.append(onnx.helper.make_node("Reshape", ["pixel", "flat"], ["score"]))
    kinds = {"box": (1, (1, 1, 4)), "score": (1, (1, 1)), "label": (7, (1, 1))}
    infos = [onnx.helper.make_tensor_value_info(k, *v) for k, v in kinds.items()]
    graph = onnx.helper.make_graph(nodes, "seen", [x], infos)
    opset = onnx.helper.make_opsetid("", 17)
    onnx.save(
        onnx.helper.make_model(graph, opset_imports=[opset], ir_version=9), tmp_path / "a.onnx"
    )
    (tmp_path / "words.txt").write_text("pixel\n")
    image = np.zeros((SIDE, SIDE, 3), np.uint8)
    image[40, 40] = 51, 0, 102  # blue, green, red

    def score(**options):
        words = str(tmp_path / "words.txt")
        spec = DetectorSpec(
            str(tmp_path / "a.onnx"), device="cpu", classes=words, cfg_options=options
        )
        return float(spec().observe([image], ["a"])[0].clean.scores[0])

    assert score() == pytest.approx(102 / 255)
    assert score(rgb=False) == pytest.approx(51 / 255)
    with pytest.raises(InputError, match="Expected rgb=True or rgb=False but got 'bgr'"):
        score(rgb="bgr")
    assert score(mean=[52.0, 0.0, 0.0], std=100.0) == pytest.approx(0.5)


def test_a_file_that_takes_bytes_has_no_mean_to_subtract(tmp_path, capsys):
    path = write(tmp_path / "a.onnx", yolov8(), dtype=onnx.TensorProto.UINT8)
    found, _ = found_in(path)
    np.testing.assert_allclose(found.boxes, CORNERS)
    assert "pixels as they are" in capsys.readouterr().err
    for given in ({"mean": 3.0}, {"std": 1.0}):
        with pytest.raises(InputError, match=f"leave out {next(iter(given))}"):
            found_in(path, **given)


@pytest.mark.parametrize(
    ("outputs", "told"),
    [
        ({"a": np.zeros((1, 9, 100), np.float32)}, r"no known layout.*\[1, 9, 100\].*Export one"),
        ({"a": np.zeros((1, 100), np.float32)}, "yolo export"),
    ],
)
def test_what_is_not_recognised_says_what_to_export(outputs, told, tmp_path):
    with pytest.raises(InputError, match=told):
        found_in(write(tmp_path / "a.onnx", outputs))


def test_files_that_are_refused(tmp_path):
    (tmp_path / "torn.onnx").write_bytes(b"torn")
    with pytest.raises(InputError, match=r"ONNX Runtime cannot load .*torn"):
        found_in(tmp_path / "torn.onnx")
    with pytest.raises(InputError, match=r"ONNX Runtime cannot load .*none"):
        found_in(tmp_path / "none.onnx")
    for names in ("{}", "", "car,bus,tram", "car bus", "3"):
        with pytest.raises(InputError, match="does not name its categories: --classes FILE"):
            found_in(write(tmp_path / "a.onnx", yolov8(), meta={"names": names}))
    with pytest.raises(InputError, match=r"for detect or segment but .* is one for pose"):
        found_in(write(tmp_path / "a.onnx", yolov8(), meta={"task": "pose"}))
    with pytest.raises(InputError, match="takes images"):
        found_in(write(tmp_path / "a.onnx", yolov8(), shape=(1, 1000)))
    with pytest.raises(InputError, match="takes 4 at once"):
        found_in(write(tmp_path / "a.onnx", yolov8(), shape=(4, 3, SIDE, SIDE)))


@pytest.mark.parametrize(
    ("made", "given"),
    [
        (yolov8, "boxes"),
        (yolov8, "yolov5"),
        (boxes, "yolov8"),
        (yolov5, "rtdetr"),
        (rtdetr, "end2end"),
    ],
)
def test_a_layout_that_the_outputs_cannot_have_is_refused(made, given, tmp_path):
    path = write(tmp_path / "a.onnx", made())
    with pytest.raises(InputError, match=f"cannot be layout={given} of 3 categories"):
        found_in(path, layout=given)


@pytest.mark.parametrize(
    "boxes", [[[0.4, -0.2, 0.7, -0.3], [1.2, 0.1, 0.2, 0.9]], [[0.25, 0.5, 0.25, 0.125]]]
)
@pytest.mark.parametrize("layout", ["yolov5", "yolov8"])
def test_boxes_that_are_not_in_pixels_are_refused(layout, boxes, tmp_path):
    """Offsets from places and logarithms of sizes, as YOLOX exports them; shares of the input."""
    confident = np.full((len(boxes), 3 + (layout == "yolov5")), 0.9)
    rows = padded(np.hstack([boxes, confident]))
    outputs = {"output": rows if layout == "yolov5" else rows.transpose(0, 2, 1)}
    path = write(tmp_path / "raw.onnx", outputs)
    with pytest.raises(InputError, match="of 80 pixels, so they are not in pixels: export"):
        found_in(path)


@pytest.mark.parametrize("made", [boxes, end2end])
@pytest.mark.parametrize("size", [(40, 80), (160, 320)])
def test_shares_of_the_input_are_refused_whatever_the_size(made, size, tmp_path):
    """Brought back to an image they lie above it, or are no shares any more."""
    outputs = made()
    outputs["boxes" if made is boxes else "output0"][..., :4] /= SIDE
    path = write(tmp_path / "shares.onnx", outputs)
    image = np.zeros((*size, 3), np.uint8)
    with pytest.raises(InputError, match=r"lie in \[0, 1\]: export them in pixels of the input"):
        found_in(path, image)


def test_no_category_is_left_out_in_silence(tmp_path):
    """Two words for scores of three categories, whatever the layout is said to be."""
    path = write(tmp_path / "a.onnx", yolov8(), meta={"names": "{0: 'car', 1: 'bus'}"})
    with pytest.raises(InputError, match=r"with 2 categories.*--classes FILE"):
        found_in(path)
    with pytest.raises(InputError, match=r"layout=yolov8 of 2 categories.*--classes FILE"):
        found_in(path, layout="yolov8")


def test_another_input_size_than_that_of_the_file_is_refused(tmp_path):
    path = write(tmp_path / "a.onnx", yolov8())
    for same in (SIDE, [SIDE, SIDE]):
        assert len(found_in(path, imgsz=same)[0]) == 2
    with pytest.raises(InputError, match=f"Expected imgsz={SIDE},{SIDE}"):
        found_in(path, imgsz=2 * SIDE)
    open_sides = {"meta": {"imgsz": f"[{SIDE}, {SIDE}]"}, "shape": (1, 3, "height", "width")}
    path = write(tmp_path / "open.onnx", yolov8(), **open_sides)
    for side in (SIDE, 2 * SIDE):
        assert found_in(path, imgsz=side)[1].settings["imgsz"] == side


@pytest.mark.parametrize("outputs", [boxes, rtdetr, end2end])
def test_an_iou_that_suppresses_nothing_is_refused(outputs, tmp_path):
    path = write(tmp_path / "a.onnx", outputs())
    assert len(found_in(path)[0]) == 2
    with pytest.raises(InputError, match="iou has no effect"):
        found_in(path, iou=0.1)


def test_a_size_to_which_nothing_is_resized_is_refused(tmp_path):
    path = write(tmp_path / "a.onnx", boxes(), shape=(3, "h", "w"))
    with pytest.raises(InputError, match="imgsz has no effect with resize=none"):
        found_in(path, imgsz=SIDE)
    assert found_in(path, imgsz=SIDE, resize="stretch")[1].settings["imgsz"] == SIDE


@pytest.mark.parametrize("size", [(120, 160), (97, 61), (33, 200)])
def test_letterboxing_returns_a_box_to_its_place(size):
    image = np.zeros((*size, 3), np.uint8)
    boxed, place = letterbox(image, (SIDE, SIDE))
    inside = np.argwhere(boxed[:, :, 0] == 0)
    (top, left), (bottom, right) = inside.min(0), inside.max(0) + 1
    (whole,) = place.back(np.float32([[left, top, right, bottom]]))
    np.testing.assert_allclose(whole, [0, 0, size[1], size[0]], atol=1e-4)


@pytest.mark.parametrize("name", ["yolo11n", "yolo26n"])
def test_boxes_of_an_export_are_those_of_ultralytics(name, tmp_path, monkeypatch):
    """Its own `predict` runs the same file, in the same ONNX Runtime."""
    pytest.importorskip("ultralytics", reason="needs the extra 'ultralytics'")
    from test_ultralytics_model import SIDE as IMAGE_SIZE
    from test_ultralytics_model import spread

    from tests.clients.torchvision_operators import usable_torchvision

    usable_torchvision()
    import torch
    from ultralytics import YOLO

    torch.manual_seed(0)
    model = YOLO(f"{name}.yaml")
    spread(model.model)
    monkeypatch.chdir(tmp_path)
    model.save("a.pt")
    path = YOLO("a.pt").export(format="onnx", imgsz=IMAGE_SIZE, simplify=False)
    images = two_sizes()
    options = {"conf": 0.01, "max_det": 40}
    if name == "yolo11n":  # the other suppresses nothing, and an iou for it is refused
        options["iou"] = 0.5
    detector = DetectorSpec(str(path), device="cpu", cfg_options=options)()
    own = YOLO(path, task=model.task)
    for image, seen in zip(images, detector.observe(images, list("abc")), strict=True):
        (result,) = own.predict(image, imgsz=IMAGE_SIZE, verbose=False, **options)
        theirs = result.boxes.cpu().numpy()
        assert len(theirs) == len(seen.clean) > 3
        np.testing.assert_allclose(seen.clean.boxes, theirs.xyxy, atol=1e-3)
        np.testing.assert_allclose(seen.clean.scores, theirs.conf, atol=1e-6)
        np.testing.assert_array_equal(seen.clean.labels, theirs.cls)


def test_boxes_of_an_open_size_are_those_of_the_image(tmp_path):
    """As torchvision exports: the network takes any size, and gives pixels of what it took."""
    path = write(tmp_path / "a.onnx", boxes(), shape=(3, "h", "w"))
    found, detector = found_in(path, scenes(1)[0])
    assert detector.settings["resize"] == "none"
    np.testing.assert_allclose(found.boxes, [[10, 35, 30, 45], [55, 40, 65, 60]])
