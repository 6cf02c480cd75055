"""ONNX: ``FILE.onnx`` by ONNX Runtime, whose outputs are recognised by their shapes.

Boxes, scores and labels, or the raw output of a YOLOv5, a YOLOv8 (and later) or an RT-DETR, as
Ultralytics exports them. Images are prepared as for those: RGB in [0, 1], letterboxed to the input
size, or stretched to it for an RT-DETR; `options` say otherwise.
"""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from autoeval.boxes import as_xywh
from autoeval.detectors.adapters import chosen, needs
from autoeval.detectors.black_box import BlackBoxDetector, word_list
from autoeval.detectors.detector_spec import CLASSES_OPTION, LOW_SCORE, DetectorSpec
from autoeval.errors import InputError, first_line
from autoeval.words import counted, listed

FORM = "FILE.onnx"
EXTRA = "onnx"
PACKAGE = "onnxruntime"
FRAMEWORK = "onnx"
SCORE_THRESHOLD = "conf"
SETTINGS = ("device", "cfg_options", "classes")
OBJECTS = ()

GREY = 114
USUAL_SIDE = 640
MOST_QUERIES = 1000  # of an RT-DETR; a YOLO has thousands of places
MOST_CANDIDATES = 30_000
MASKS = 32  # coefficients of masks behind the scores of a network with two outputs
APART = 7680  # pixels between categories in the suppression, as Ultralytics has it
LAYOUTS = ("boxes", "yolov5", "yolov8", "rtdetr", "end2end")
SUPPRESSED = ("yolov5", "yolov8")  # layouts whose boxes overlap until they are suppressed here
RESIZING = ("letterbox", "stretch", "none")
EXPORT = (
    "Export one whose outputs are boxes (N, 4), scores (N,) and labels (N,), or the raw output of "
    "a YOLOv5 (1, N, 5 + K), a YOLOv8 (1, 4 + K, N) or an RT-DETR (1, N, 4 + K), such as "
    "`yolo export model=best.pt format=onnx`; or say which it is: --cfg-options layout=yolov8."
)
Found = tuple[np.ndarray, np.ndarray, np.ndarray]


def named(name: str) -> bool:
    """Whether it is an ONNX file.

    Parameters
    ----------
    name : str
        Of the detector.
    """
    return name.endswith(".onnx")


def load(spec: DetectorSpec) -> BlackBoxDetector:
    """Make a detector of a file.

    Categories are `spec.classes`, else the ``names`` in the metadata of the file, as Ultralytics
    writes them. Options: ``conf`` (.01) and ``max_det`` (300), ``iou`` (.7) of the suppression of
    the raw outputs `SUPPRESSED`, ``imgsz`` where the file leaves its input size open and images are
    resized, ``layout`` (one of `LAYOUTS`), ``resize`` (one of `RESIZING`), ``rgb``, and where a
    file takes no bytes ``mean`` and ``std`` on the scale of 0 to 255.

    Parameters
    ----------
    spec : DetectorSpec
        With the name of the file.

    Raises
    ------
    InputError
        If ONNX Runtime cannot load it, its inputs or outputs have no known layout, the categories
        are not known, or an option does not fit.
    """
    with needs(EXTRA):
        import onnxruntime
    try:
        session = onnxruntime.InferenceSession(
            spec.name, _session_options(onnxruntime), _providers(onnxruntime, spec.device)
        )
    except Exception as error:  # its own exceptions, without a base of theirs
        raise InputError(f"ONNX Runtime cannot load {spec.name}: {first_line(error)}") from error
    meta = session.get_modelmeta().custom_metadata_map
    words = list(spec.words) or word_list(_stated(meta, "names") or ())
    if not words:
        raise InputError(
            f"{spec.name} does not name its categories: {CLASSES_OPTION}, a word a line in the "
            "order of its labels."
        )
    if meta.get("task", "detect") not in ("detect", "segment"):
        raise InputError(
            f"Expected a model for detect or segment but {spec.name} is one for {meta['task']}."
        )
    kind = _kind(session, meta, len(words), spec)
    options = chosen(
        {
            **{"conf": LOW_SCORE, "iou": 0.7, "max_det": 300},
            **{"imgsz": kind.side or USUAL_SIDE, "layout": kind.layout},
            **{"resize": _usual_resizing(kind)},
            **{"rgb": True, "mean": 0.0, "std": 255.0},
        },
        spec.cfg_options,
        "an ONNX file",
    )
    if options["resize"] not in RESIZING:
        raise InputError(f"Expected resize= {listed(RESIZING)} but got {options['resize']!r}.")
    if options["rgb"] not in (True, False):  # a word would count as true, whatever it says
        raise InputError(f"Expected rgb=True or rgb=False but got {options['rgb']!r}.")
    given = spec.cfg_options or {}
    if "iou" in given and kind.layout not in SUPPRESSED:
        raise InputError(
            f"iou has no effect: {spec.name} is read as layout={kind.layout}, whose boxes are not "
            "suppressed here but in the network, if at all. Leave it out, or export another file."
        )
    if "imgsz" in given and options["resize"] == "none":
        raise InputError(
            "imgsz has no effect with resize=none, by which images go in as they are: leave it "
            "out, or choose resize=letterbox or resize=stretch."
        )
    taken = session.get_inputs()[0].shape[-2:]  # a word where a side is open
    size = np.broadcast_to(options["imgsz"], 2).tolist()
    if any(isinstance(side, int) and side != one for side, one in zip(taken, size, strict=True)):
        raise InputError(
            f"Expected imgsz={taken[0]},{taken[1]}, the height and width that {spec.name} takes, "
            f"but got {options['imgsz']}: leave imgsz out, or export another file."
        )
    values = f"(pixels - {options['mean']}) / {options['std']}"
    if kind.dtype is np.uint8:
        values = "pixels as they are"
        idle = [name for name in ("mean", "std") if name in given]
        if idle:
            raise InputError(
                f"{spec.name} takes pixels of 0 to 255 and scales them itself: leave out "
                f"{listed(idle)}."
            )
    resized_to = "" if options["resize"] == "none" else f" to {options['imgsz']}"
    print(
        f"note: {spec.name} is read as layout={kind.layout}, resize={options['resize']}"
        f"{resized_to}, rgb={options['rgb']}, {values}, label 0 is {words[0]}; --cfg-options "
        "KEY=VALUE changes all but the last",
        file=sys.stderr,
    )
    prepare, decode = _Preparing(kind, options), _DECODERS[kind.layout]

    def find(images: Sequence[np.ndarray]) -> tuple[list, list, list]:
        results = []
        for image in images:
            pixels, place = prepare(image)
            outputs = session.run(None, {kind.input: pixels})
            boxes, scores, labels = decode(outputs, len(words), options, pixels.shape[-2:])
            _refuse_shares(boxes)
            # These are corners for sure, and some of a YOLO26 end before they begin: without area.
            if meta.get("author") == "Ultralytics":
                rows = np.all(boxes[:, 2:] > boxes[:, :2], axis=1)
                boxes, scores, labels = boxes[rows], scores[rows], labels[rows]
            results.append((place.back(boxes), scores, labels))
        return tuple(list(part) for part in zip(*results, strict=True))  # type: ignore[return-value]

    return BlackBoxDetector(
        find,
        words,
        name=f"ONNX {kind.layout}",
        weights=_files(spec.name),
        settings={"framework": FRAMEWORK, **options},
    )


def _files(name: str) -> list[Path]:
    """Return a file and those beside it that hold its weights, as torch's exporter writes them.

    A tensor names such a file as the value of its entry ``location``, in protobuf.
    """
    path, content = Path(name), Path(name).read_bytes()
    entries = re.finditer(rb"\n\x08location\x12(.)", content, re.DOTALL)
    places = {content[entry.end() : entry.end() + entry[1][0]] for entry in entries}
    beside = sorted(path.parent / place.decode(errors="replace") for place in places)
    return [path, *(file for file in beside if file.is_file())]


def _session_options(onnxruntime: Any) -> Any:
    """Take as many threads as the other libraries of this process."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = int(os.environ.get("OMP_NUM_THREADS") or 0)
    options.log_severity_level = 3
    return options


def _providers(onnxruntime: Any, device: str | None) -> list:
    """Return the providers of the network: a GPU where one is asked for, or there is one."""
    provider, number = "CUDAExecutionProvider", (device or "cuda").partition(":")[2]
    has_cuda = provider in onnxruntime.get_available_providers()
    if device == "cpu" or (device is None and not has_cuda):
        return ["CPUExecutionProvider"]
    if not has_cuda:
        raise InputError(f"Cannot use device {device!r}: this ONNX Runtime has no {provider}.")
    return [(provider, {"device_id": int(number or 0)}), "CPUExecutionProvider"]


@dataclass(frozen=True)
class OnnxInput:
    """What a file takes and gives.

    Parameters
    ----------
    layout : str
        Of its outputs, one of `LAYOUTS`.
    input : str
        Name of its input.
    side : (int, int), optional
        Height and width of its input; None where it is open.
    has_batch : bool
        Whether there is an axis for several images.
    dtype : type
        Of its pixels.
    """

    layout: str
    input: str
    side: tuple[int, int] | None
    has_batch: bool
    dtype: type


def _kind(session: Any, meta: Mapping[str, str], n: int, spec: DetectorSpec) -> OnnxInput:
    """Recognise input and outputs.

    Parameters
    ----------
    session : onnxruntime.InferenceSession
        Of the file.
    meta : mapping of str to str
        Its metadata.
    n : int
        Number of categories.
    spec : DetectorSpec
        With the options that a user chose.

    Raises
    ------
    InputError
        If they have no known layout, or not the one that was chosen.
    """
    inputs, outputs = session.get_inputs(), session.get_outputs()
    pixels, *more = inputs
    shapes = [output.shape for output in outputs]
    if more or len(pixels.shape) not in (3, 4) or pixels.shape[-3] not in (3, "3"):
        raise InputError(
            f"Expected one input of pixels, (1, 3, height, width) or (3, height, width), but "
            f"{spec.name} takes {listed([f'{i.name} {i.shape}' for i in inputs])}. {EXPORT}"
        )
    if len(pixels.shape) == 4 and isinstance(pixels.shape[0], int) and pixels.shape[0] != 1:
        raise InputError(
            f"Expected a file that takes one image, but {spec.name} takes {pixels.shape[0]} at "
            "once: export it with batch=1."
        )
    layout = dict(spec.cfg_options or {}).get("layout") or _layout(outputs, meta, n)
    if layout not in LAYOUTS:
        raise InputError(
            f"The outputs of {spec.name} have no known layout: shapes {listed(shapes)}, with "
            f"{counted(n, 'category', 'categories')}. {CLASSES_OPTION} names other categories. "
            f"{EXPORT}"
        )
    if not any(_has_shapes(layout, outputs, n, masks=m, if_open=True) for m in (0, MASKS)):
        raise InputError(
            f"The outputs of {spec.name} cannot be layout={layout} of "
            f"{counted(n, 'category', 'categories')}: their shapes are {listed(shapes)}. Give the "
            f"layout that they have, one of {listed(LAYOUTS)}, and a word for each category: "
            f"{CLASSES_OPTION}."
        )
    side = tuple(s for s in pixels.shape[-2:] if isinstance(s, int))
    if not side:
        side = tuple(_stated(meta, "imgsz") or ())
    kinds = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(uint8)": np.uint8}
    return OnnxInput(
        layout,
        pixels.name,
        side if len(side) == 2 else None,
        len(pixels.shape) == 4,
        kinds.get(pixels.type, np.float32),
    )


def _stated(meta: Mapping[str, str], key: str) -> Any:
    """Return a collection that the metadata of a file state in Python, None where they do not."""
    try:
        value = ast.literal_eval(meta.get(key, ""))
    except (ValueError, SyntaxError):
        return None
    return value if isinstance(value, (list, tuple, dict)) else None


def _layout(outputs: Sequence[Any], meta: Mapping[str, str], n: int) -> str:
    """Name the layout of outputs by their shapes, "" for none of `LAYOUTS`."""
    fitting = [name for name in LAYOUTS if _has_shapes(name, outputs, n, masks=MASKS)]
    if "boxes" in fitting or not fitting:
        return next(iter(fitting), "")
    if len(outputs) > 2:
        return ""
    # Several may fit, as an RT-DETR of 2 categories and a YOLOv5 of one have 6 columns, too:
    # metadata and the usual numbers of rows decide.
    rows, columns = next(output.shape[1:] for output in outputs if len(output.shape) == 3)
    few = isinstance(rows, int) and rows <= MOST_QUERIES
    if columns == 6 and "RTDETR" in meta.get("head", ""):
        return "rtdetr"
    ended = meta.get("end2end") == "True" or "'nms': True" in meta.get("args", "")
    if "end2end" in fitting and (ended or n > 2 or (few and columns != 4 + n)):
        return "end2end"
    if "yolov8" in fitting and columns != 4 + n:
        return "yolov8"
    if columns == 4 + n and (few or not isinstance(rows, int)):
        return "rtdetr"
    return "yolov5" if "yolov5" in fitting else ""


def _has_shapes(
    layout: str, outputs: Sequence[Any], n: int, *, masks: int, if_open: bool = False
) -> bool:
    """Whether outputs have the shapes of a layout of n categories.

    masks: coefficients of masks behind the scores of a network with two outputs, else none.
    if_open: the answer where the file leaves the length of the axis of values open.
    """
    if layout == "boxes":
        return len(outputs) in (2, 3) and any(map(_is_labels, outputs))
    shape = next((output.shape for output in outputs if len(output.shape) == 3), None)
    if shape is None:
        return False
    length, masks = shape[1] if layout == "yolov8" else shape[2], masks * (len(outputs) == 2)
    if not isinstance(length, int):
        return if_open
    possible = {
        "yolov8": (4 + n + masks,),
        "yolov5": (5 + n + masks,),
        "rtdetr": (4 + n, 6),  # scores of all categories, or score and label
        "end2end": (6, 6 + MASKS),
    }
    return length in possible[layout]


def _usual_resizing(kind: OnnxInput) -> str:
    if kind.layout == "rtdetr":
        return "stretch"
    return "none" if kind.layout == "boxes" and kind.side is None else "letterbox"


def _is_labels(output: Any) -> bool:
    return output.type in ("tensor(int64)", "tensor(int32)")


@dataclass(frozen=True)
class Placing:
    """Where an image lies in the input of a network.

    Parameters
    ----------
    scale, shift : (float, float)
        Along x and y: a place in the input is that in the image times `scale` plus `shift`, pixels.

    Examples
    --------
    >>> Placing((2.0, 2.0), (0.0, 3.0)).back(np.array([[0, 3, 8, 11]])).tolist()
    [[0.0, 0.0, 4.0, 4.0]]
    """

    scale: tuple[float, float]
    shift: tuple[float, float]

    def back(self, boxes: np.ndarray) -> np.ndarray:
        """Return boxes in the pixels of the image.

        Parameters
        ----------
        boxes : ndarray of shape (N, 4)
            xyxy, pixels of the input.

        Returns
        -------
        ndarray of shape (N, 4), float32
            xyxy.
        """
        shift = np.array(2 * self.shift, np.float32)
        scale = np.array(2 * self.scale, np.float32)
        return (boxes.astype(np.float32) - shift) / scale


class _Preparing:
    """Makes the input of an image (H, W, 3), uint8, BGR."""

    def __init__(self, kind: OnnxInput, options: Mapping[str, Any]) -> None:
        self._kind, self._options = kind, options
        side = options["imgsz"]
        self._side = (side, side) if isinstance(side, int) else tuple(side)

    def __call__(self, image: np.ndarray) -> tuple[np.ndarray, Placing]:
        import cv2

        options = self._options
        height, width = image.shape[:2]
        place = Placing((1.0, 1.0), (0.0, 0.0))
        if options["resize"] == "stretch":
            image = cv2.resize(image, self._side[::-1])
            place = Placing((self._side[1] / width, self._side[0] / height), (0.0, 0.0))
        elif options["resize"] == "letterbox":
            image, place = letterbox(image, self._side)
        pixels = image[:, :, ::-1] if options["rgb"] else image
        pixels = np.ascontiguousarray(pixels.transpose(2, 0, 1))
        if self._kind.dtype is not np.uint8:
            mean = np.array(options["mean"], np.float32).reshape(-1, 1, 1)
            std = np.array(options["std"], np.float32).reshape(-1, 1, 1)
            pixels = ((pixels - mean) / std).astype(self._kind.dtype)
        return pixels[None] if self._kind.has_batch else pixels, place


def letterbox(image: np.ndarray, side: tuple[int, int]) -> tuple[np.ndarray, Placing]:
    """Resize an image with its proportions into the middle of a grey one, as Ultralytics does.

    Parameters
    ----------
    image : ndarray of shape (H, W, 3), uint8
        The image.
    side : (int, int)
        Height and width of the result.

    Returns
    -------
    ndarray of shape (*side, 3), uint8
        The image, with edges of the colour `GREY`.
    Placing
        Where it lies in that.

    Examples
    --------
    >>> letterboxed, place = letterbox(np.zeros((2, 4, 3), np.uint8), (8, 8))
    >>> letterboxed[:, 0, 0].tolist(), place
    ([114, 114, 0, 0, 0, 0, 114, 114], Placing(scale=(2.0, 2.0), shift=(0, 2)))
    """
    import cv2

    height, width = image.shape[:2]
    ratio = min(side[0] / height, side[1] / width)
    inner = max(round(width * ratio), 1), max(round(height * ratio), 1)
    if inner != (width, height):
        image = cv2.resize(image, inner, interpolation=cv2.INTER_LINEAR)
    # A half pixel goes to the right and the bottom.
    left = round((side[1] - inner[0]) / 2 - 0.1)
    top = round((side[0] - inner[1]) / 2 - 0.1)
    right, bottom = side[1] - inner[0] - left, side[0] - inner[1] - top
    edges = (top, bottom, left, right)
    boxed = cv2.copyMakeBorder(image, *edges, cv2.BORDER_CONSTANT, value=(GREY,) * 3)
    return boxed, Placing((inner[0] / width, inner[1] / height), (left, top))


def _given_boxes(outputs: list, n: int, options: Mapping[str, Any], side: tuple) -> Found:
    """Read boxes, scores and labels, in whatever order, or boxes with scores, and labels."""
    labels = next(o for o in outputs if np.issubdtype(o.dtype, np.integer))
    # By their axes, since scores of four or five boxes are as long as a box.
    *scores, boxes = sorted((o for o in outputs if o is not labels), key=lambda o: o.ndim)
    boxes = boxes.reshape(labels.size, boxes.shape[-1])
    best = scores[0] if scores else boxes[:, 4]
    return _above(boxes[:, :4], best.reshape(-1), labels.reshape(-1), options)


def _end2end(outputs: list, n: int, options: Mapping[str, Any], side: tuple) -> Found:
    """Read rows of xyxy, score, label."""
    rows = next(o for o in outputs if o.ndim == 3)[0]
    return _above(rows[:, :4], rows[:, 4], rows[:, 5].astype(np.int64), options)


def _rtdetr(outputs: list, n: int, options: Mapping[str, Any], side: tuple) -> Found:
    """Read rows of cxcywh in [0, 1] and scores of all categories, or score and label.

    Raises
    ------
    ValueError
        If a centre lies beyond 1, as in rows of a YOLO's xyxy, score, label.
    """
    rows = next(o for o in outputs if o.ndim == 3)[0]
    if (rows[:, :2] > 1).any():
        raise ValueError("its boxes are no shares of the input: --cfg-options layout=end2end")
    boxes = _corners(rows[:, :4]) * np.array([side[1], side[0]] * 2, np.float32)
    if rows.shape[1] == 6 and not (rows[:, 5] % 1).any():  # of 2 categories it may be a score
        return _above(boxes, rows[:, 4], rows[:, 5].astype(np.int64), options)
    return _above(boxes, rows[:, 4:].max(1), rows[:, 4:].argmax(1), options)


def _yolov8(outputs: list, n: int, options: Mapping[str, Any], side: tuple) -> Found:
    """Read columns of cxcywh and scores of all categories; further ones are of masks."""
    rows = next(o for o in outputs if o.ndim == 3)[0].T
    return _suppressed(_of_places(rows, side), rows[:, 4 : 4 + n], options)


def _yolov5(outputs: list, n: int, options: Mapping[str, Any], side: tuple) -> Found:
    """Read rows of cxcywh, objectness, and scores of all categories given an object."""
    rows = next(o for o in outputs if o.ndim == 3)[0]
    return _suppressed(_of_places(rows, side), rows[:, 4:5] * rows[:, 5 : 5 + n], options)


def _of_places(rows: np.ndarray, side: tuple) -> np.ndarray:
    """Return the boxes (N, 4) of the places of a YOLO, which lie all over its input.

    Raises
    ------
    ValueError
        If none lies beyond an eighth: a YOLOX gives them as offsets from its places, others as
        shares of the input.
    """
    farthest = rows[:, :2].max()
    if farthest < max(side) / 8:
        raise ValueError(
            f"no box lies beyond {farthest:.3g} of {max(side)} pixels, so they are not in pixels: "
            "export the decoded boxes (YOLOX: tools/export_onnx.py --decode_in_inference, then "
            "--cfg-options rgb=False std=1)"
        )
    return rows[:, :4]


def _suppressed(boxes: np.ndarray, scores: np.ndarray, options: Mapping[str, Any]) -> Found:
    """Keep the best category of each box, and of overlapping boxes of one category the best.

    Parameters
    ----------
    boxes : ndarray of shape (N, 4)
        cxcywh, pixels of the input.
    scores : ndarray of shape (N, K)
        Of all categories.
    options : mapping
        ``conf``, ``iou`` and ``max_det``; see `load`.

    Returns
    -------
    tuple of ndarray
        Boxes xyxy (n, 4), scores and labels (n,), the best first.
    """
    import cv2

    labels, best = scores.argmax(1), scores.max(1)
    rows = np.flatnonzero(best > options["conf"])
    rows = rows[np.argsort(-best[rows], kind="stable")][:MOST_CANDIDATES]
    xyxy, best, labels = _corners(boxes[rows]), best[rows], labels[rows]
    if not len(rows):
        return xyxy, best, labels
    moved = xyxy + labels[:, None] * np.float32(APART)
    xywh = as_xywh(moved)
    left = cv2.dnn.NMSBoxes(xywh.tolist(), best.tolist(), 0.0, options["iou"])
    kept = np.asarray(left, np.int64).reshape(-1)[: options["max_det"]]
    return xyxy[kept], best[kept], labels[kept]


def _refuse_shares(boxes: np.ndarray) -> None:
    """Refuse boxes xyxy (N, 4) of an image that are shares of the input: all with an area are.

    Raises
    ------
    ValueError
        If they lie in [0, 1].
    """
    with_area = boxes[np.all(boxes[:, 2:] > boxes[:, :2], axis=1)]
    if len(with_area) and with_area.min() >= 0 and with_area.max() <= 1:
        raise ValueError("its boxes lie in [0, 1]: export them in pixels of the input")


def _above(
    boxes: np.ndarray, scores: np.ndarray, labels: np.ndarray, options: Mapping[str, Any]
) -> Found:
    """Keep boxes over the threshold, the best `max_det` of them."""
    rows = np.argsort(-scores, kind="stable")[: options["max_det"]]
    rows = rows[scores[rows] > options["conf"]]
    return boxes[rows], scores[rows], labels[rows]


def _corners(boxes: np.ndarray) -> np.ndarray:
    """Turn boxes of centres and sizes (N, 4) into xyxy.

    Examples
    --------
    >>> _corners(np.array([[4.0, 5, 2, 4]])).tolist()
    [[3.0, 3.0, 5.0, 7.0]]
    """
    half = boxes[:, 2:] / 2
    return np.concatenate([boxes[:, :2] - half, boxes[:, :2] + half], axis=1)


_DECODERS: dict[str, Callable[..., Found]] = {
    "boxes": _given_boxes,
    "yolov5": _yolov5,
    "yolov8": _yolov8,
    "rtdetr": _rtdetr,
    "end2end": _end2end,
}
