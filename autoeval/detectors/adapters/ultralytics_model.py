"""Ultralytics: ``best.pt``, ``yolo11n.pt``, ``rtdetr-l.pt``, or a `YOLO` object.

Its licence is AGPL-3.0: it is imported where one of its models is named, and nowhere else.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from autoeval.detectors.adapters import chosen, in_batches, needs, usable_device
from autoeval.detectors.black_box import BlackBoxDetector, word_list
from autoeval.detectors.detector_spec import LOW_SCORE, DetectorSpec
from autoeval.detectors.settings import hash_weights
from autoeval.errors import DownloadError, InputError, first_line

FORM = "best.pt"
EXTRA = "ultralytics"
PACKAGE = "ultralytics"
FRAMEWORK = "ultralytics"
SCORE_THRESHOLD = "conf"
SETTINGS = ("device", "cfg_options")
OBJECTS = ("ultralytics.engine.model.", "ultralytics.models.")

TASKS = ("detect", "segment")
SET_ONLY_THERE = ("classes", "nms", "end2end", "half", "quantize")  # in ``overrides``
PROMPTS = ("pe", "txt_feats")  # what YOLOE and YOLO-World look for, no weights of the network
ADDRESS = "https://github.com/ultralytics/assets/releases"
SUPPRESSION_MS = 2000  # after which it may stop, and leave what is behind in a batch without boxes


def named(name: str) -> bool:
    """Whether it is a file of weights, which Ultralytics fetches where it knows the name.

    Parameters
    ----------
    name : str
        Of the detector.
    """
    return name.endswith(".pt")


def load(spec: DetectorSpec) -> BlackBoxDetector:
    """Load a file of weights.

    Parameters
    ----------
    spec : DetectorSpec
        With the path, or a name that Ultralytics knows.

    Raises
    ------
    InputError
        If it holds no detector, or cannot be read; a `DownloadError` if it is not here and
        Ultralytics cannot fetch it.
    """
    with needs(EXTRA):
        from ultralytics import YOLO
    path = Path(spec.name)
    if not path.is_file() and path.name != spec.name:
        raise InputError(f"No weights {spec.name}: check the path given as --detector.")
    try:
        model = YOLO(spec.name)
    except Exception as error:  # unpickling and downloading fail in any way
        if path.is_file():
            raise InputError(
                f"Ultralytics cannot load {spec.name} ({type(error).__name__}: {error}). Expected "
                "weights that its own `yolo` trained."
            ) from error
        raise DownloadError(
            f"There is no file {spec.name}, and Ultralytics cannot download it "
            f"({type(error).__name__}). Fetch it from {ADDRESS} to {path.absolute()}, or name a "
            "file: --detector PATH/best.pt."
        ) from error
    return from_ultralytics(model, device=usable_device(spec.device), options=spec.cfg_options)


def wrap(model: Any) -> BlackBoxDetector:
    """Take a `YOLO` object as it is.

    Parameters
    ----------
    model : ultralytics.YOLO
        See `from_ultralytics`.

    Raises
    ------
    InputError
        If it is for another task.
    """
    return from_ultralytics(model)


def from_ultralytics(
    model: Any, *, device: str | None = None, options: Mapping[str, Any] | None = None
) -> BlackBoxDetector:
    """Make a detector of a `YOLO` object.

    Parameters
    ----------
    model : ultralytics.YOLO
        A detector, or a segmentation model, of which the boxes are taken.
    device : str, optional
        As torch names it; by default where the model is.
    options : mapping, optional
        Of its `predict`: ``conf`` (.01 by default), and by default as the ``overrides`` of the
        object say, ``iou`` (else .7), ``imgsz`` (that of the training), ``max_det`` (else 300),
        ``agnostic_nms``, ``augment``. Its ``classes``, all that it finds, its precision and
        its kind of suppression are kept to, too; its callbacks do not count.

    Raises
    ------
    InputError
        If the model is neither, or exported, there is no such option, or it does not run with them.
    """
    from ultralytics.utils.callbacks import get_default_callbacks

    task = getattr(model, "task", None)
    if task in TASKS and not hasattr(model.model, "state_dict"):
        raise InputError(
            "Expected an Ultralytics model with its weights, such as best.pt, but got "
            f"{model.model}, which was exported: give an ONNX file by its name, others as a "
            "BlackBoxDetector."
        )
    if task not in TASKS:
        raise InputError(
            f"Expected an Ultralytics model for {' or '.join(TASKS)} but got one for {task}: only "
            "upright boxes with categories have an mAP here."
        )
    own = model.overrides  # what its user has set for every `predict`
    defaults = {
        "conf": LOW_SCORE,
        "iou": own.get("iou", 0.7),
        "imgsz": own.get("imgsz", 640),
        "max_det": own.get("max_det", 300),
        "agnostic_nms": own.get("agnostic_nms", False),
        "augment": own.get("augment", False),
    }
    settings = chosen(defaults, options, "Ultralytics")
    settings |= {name: own[name] for name in SET_ONLY_THERE if own.get(name) is not None}
    weights = _weights(model)
    place = device or str(next(model.model.parameters()).device)
    # What its user calls or adds, such as `track`, has no say in the boxes, nor this in theirs; no
    # other override counts, such as `save_txt`, which writes files.
    runner = copy.copy(model)
    vars(runner).update(predictor=None, overrides={"task": task}, callbacks=get_default_callbacks())

    def predict(images: Sequence[np.ndarray]) -> list[Any]:
        return runner.predict(list(images), device=place, verbose=False, save=False, **settings)

    def find(images: Sequence[np.ndarray]) -> tuple[list, list, list]:
        results = predict(images)
        if results[0].speed["postprocess"] * len(images) > SUPPRESSION_MS and len(images) > 1:
            results = [result for image in images for result in predict([image])]
        boxes = [result.boxes.cpu().numpy() for result in results]
        # The distances to the edges may be negative, as in a YOLO26: such a box has no area.
        boxes = [b[(b.xyxy[:, 2:] > b.xyxy[:, :2]).all(axis=1)] for b in boxes]
        return [b.xyxy for b in boxes], [b.conf for b in boxes], [b.cls for b in boxes]

    try:
        find([np.zeros((32, 32, 3), np.uint8)])  # makes the copy of the network that `predict` runs
    except Exception as error:  # an option of another type, memory: it fails in any way
        raise InputError(
            f"Ultralytics cannot run {type(model.model).__name__} with {settings}: "
            f"{first_line(error)}"
        ) from error
    sides = runner.predictor.imgsz  # 160 and (160, 160) are one setting
    settings["imgsz"] = sides[0] if len({*sides}) == 1 else [*sides]
    return BlackBoxDetector(
        in_batches(find, place),
        word_list(model.names),
        name=type(model.model).__name__,
        settings={"framework": FRAMEWORK, "weights": weights, **settings},
        network=runner.predictor.model.model,
    )


def _weights(model: Any) -> str:
    """Hash weights as they were saved: `fuse`, and `predict` of some versions, change them.

    Prompts are hashed, too: those by pictures have other embeddings under equal words.
    """
    network = model.model
    prompts: dict[str, Any] = {name: getattr(network, name, None) for name in PROMPTS}
    prompts = {name: tensor for name, tensor in prompts.items() if tensor is not None}
    if network.is_fused() and model.ckpt_path:
        network = type(model)(model.ckpt_path).model
    return hash_weights(network, prompts)
