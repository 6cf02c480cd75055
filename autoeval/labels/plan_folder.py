"""The folder of a plan: what the estimate from its labels needs, and what is to be labelled.

``plan.json`` and ``pool.npz`` hold the plan (`save_plan`, `load_plan`). For those who label there
are ``annotations.json``, which names the drawn images, the images themselves where they are at
hand, the labelling interface of Label Studio, and the detector's boxes where these are to be
offered (`write_plan`).
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote

import numpy as np

from autoeval.boxes import Boxes, LabelledImage, as_xywh, box_iou, over_threshold
from autoeval.detections import CONFIDENT
from autoeval.errors import InputError
from autoeval.io.coco import BATCH, coco_document
from autoeval.io.find_images import UnlabelledImage
from autoeval.io.image_identity import (
    LOCAL_FILES,
    Named,
    match_images,
    normal_id,
    without_suffix,
)
from autoeval.io.images import image_size
from autoeval.io.labels.content import BoxColumns, LabelledBox, LabelSet
from autoeval.labels import PLAN
from autoeval.labels.assistance import MixingWeights
from autoeval.labels.plan import ByImage, LabelPlan, inverse_probabilities
from autoeval.labels.values import ValueWithError
from autoeval.runtime.files import PathLike, atomic_path, read_json, write_json, write_text
from autoeval.words import codes_of, listed, notices_of

ARRAYS = "pool.npz"
FORMAT = 10
PARTS = ("usual", "category", "image", "values")  # of a `ByImage`
COLUMNS = ("image", "label", "boxes", "scores")
PLAIN = (
    *("n", "seed", "order", "small_sample_bias", "target", "level", "detector"),
    *("score_thr", "cut", "iou", "named", "detector_words", "known", "group", "nothing_found"),
)
SAME = 0.6  # of boxes of one category that overlap by more (IoU), the most confident is offered
IMAGES = "images"
EMPTY = "annotations.json"
CONFIG = "label_config.xml"


def save_plan(plan: LabelPlan, folder: PathLike) -> list[Path]:
    """Write a plan into a folder, as ``plan.json`` and ``pool.npz``.

    What `LabelPlan` calls not stored is left out.

    Parameters
    ----------
    plan : LabelPlan
        The plan.
    folder : path-like
        Where it is written; made where it is not there. Files of an earlier plan are replaced.

    Returns
    -------
    list of Path
        Both files.
    """
    folder = Path(folder)
    arrays = {f"found_{name}": getattr(plan.found, name) for name in COLUMNS}
    if plan.rest is not None:
        arrays |= {f"rest_{name}": getattr(plan.rest, name) for name in COLUMNS}
    for name in ("sequence", "blocks", "probabilities", "holding", "sizes"):
        if getattr(plan, name) is not None:
            arrays[name] = getattr(plan, name)
    for name in ("influence", "objects"):
        by_image = getattr(plan, name)
        if by_image is not None:
            arrays |= {f"{name}_{part}": getattr(by_image, part) for part in PARTS}
    with atomic_path(folder / ARRAYS) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **arrays)
    ids = plan.found.images
    document = {
        "format": FORMAT,
        **{name: getattr(plan, name) for name in PLAIN},
        "n_pool": plan.n_pool,
        **drawn_with(plan),
        "drawn": [ids[k].image_id for k in plan.drawn],
        "categories": list(plan.found.categories),
        "unlikely_categories": list(plan.rest.categories) if plan.rest is not None else None,
        "images": [[i.image_id, i.file_name, i.size] for i in ids],
        "warnings": list(plan.warnings),
        "warning_codes": codes_of(plan.warnings),
        "mixing": asdict(plan.mixing),
        "points": {name: asdict(mixing) for name, mixing in plan.points.items()},
        "priors": {name: asdict(prior) for name, prior in plan.priors.items()},
        "printed": plan.printed,
    }
    return [write_json(folder / PLAN, document, indent=1), folder / ARRAYS]


def drawn_with(plan: LabelPlan) -> dict[str, Any]:
    """Return what ``plan.json`` says of the draw, for others to use.

    Parameters
    ----------
    plan : LabelPlan
        The plan.

    Returns
    -------
    dict
        ``probability`` with which each image was drawn. Where images differ in it, which have
        ``sizes``, ``probabilities`` of the images drawn, in their order, rounded to six decimals.
    """
    weights = inverse_probabilities(plan.sizes, plan.drawn)
    if weights is None:
        return {"probability": plan.n / plan.n_pool}
    return {"probabilities": (1 / weights).round(6).tolist()}


def load_plan(folder: PathLike) -> LabelPlan:
    """Read what `save_plan` wrote.

    Parameters
    ----------
    folder : path-like
        The folder, or its ``plan.json``.

    Raises
    ------
    InputError
        If it is not there, was written by another version, or cannot be read.
    """
    folder = Path(folder)
    folder = folder.parent if folder.name == PLAN else folder
    if not (folder / PLAN).is_file():
        raise InputError(f"No plan in {folder}: expected {PLAN}, made by `autoeval label plan`.")
    document = read_json(folder / PLAN, "plan")
    if not isinstance(document, Mapping) or document.get("format") != FORMAT:
        raise InputError(
            f"The plan in {folder} was written by another version of autoeval: plan again into "
            "another folder."
        )
    try:
        with np.load(folder / ARRAYS, allow_pickle=False) as stored:
            return _plan(document, dict(stored))
    except Exception as error:  # a changed byte may make any part of the readers fail in any way
        raise InputError(
            f"The plan in {folder} cannot be read ({type(error).__name__}: {error}). Plan again "
            "into another folder."
        ) from error


def _plan(document: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> LabelPlan:
    images = tuple(
        LabelledImage(image_id, file_name, tuple(size) if size else None)
        for image_id, file_name, size in document["images"]
    )
    columns = (arrays[f"found_{name}"] for name in COLUMNS)
    boxes, rest = Boxes(images, tuple(document["categories"]), *columns), None
    if document["unlikely_categories"] is not None:
        columns = (arrays[f"rest_{name}"] for name in COLUMNS)
        rest = Boxes(images, tuple(document["unlikely_categories"]), *columns)
    by_image = {
        name: ByImage(n_images=len(images), **{part: arrays[f"{name}_{part}"] for part in PARTS})
        for name in ("influence", "objects")
        if f"{name}_{PARTS[0]}" in arrays
    }
    # what is not finite is null in JSON
    priors = {
        name: ValueWithError(
            prior["value"], prior["error"], math.inf if prior["dof"] is None else prior["dof"]
        )
        for name, prior in document["priors"].items()
    }
    printed = {
        name: {end: math.nan if v is None else v for end, v in interval.items()}
        for name, interval in document["printed"].items()
    }
    points = document["points"].items()
    return LabelPlan(
        found=boxes,
        influence=by_image["influence"],
        objects=by_image.get("objects"),
        holding=arrays["holding"],
        sequence=arrays["sequence"],
        blocks=arrays["blocks"],
        probabilities=arrays.get("probabilities"),
        sizes=arrays.get("sizes"),
        mixing=MixingWeights.from_dict(document["mixing"]),
        points={name: MixingWeights.from_dict(weights) for name, weights in points},
        priors=priors,
        printed=printed,
        rest=rest,
        warnings=notices_of(document["warning_codes"]),
        **{name: document[name] for name in PLAIN},
    )


def _added(
    content: Any, images: list[dict[str, Any]], plan: LabelPlan, path: Path
) -> dict[str, Any]:
    """Return a COCO annotation file with the images that it lacks.

    Which these are is decided as where its labels are read, by `match_images`: tools rewrite names.

    Parameters
    ----------
    content : Any
        Content of the file, as it was read.
    images : list of dict
        COCO entries of the images that are drawn, in their order. Those that the file lacks keep
        their ids, by which images without names are known, or get others after the largest.
    plan : LabelPlan
        The plan.
    path : Path
        The file, for the message.

    Raises
    ------
    InputError
        If the content is no COCO annotation file.
    """
    try:
        entries = [Named(str(image["id"]), image["file_name"]) for image in content["images"]]
        matches = match_images(entries, plan.found.images)
    except (TypeError, KeyError, AttributeError) as error:
        raise InputError(
            f"Expected {path} to be a COCO annotation file, in which to name the images. Move it "
            "away; `autoeval label estimate --labels` reads it from anywhere."
        ) from error
    there = {*matches.index.tolist(), *matches.possible}
    drawn = zip(plan.drawn.tolist(), images, strict=True)
    new = [image for k, image in drawn if k not in there]
    used = {normal_id(entry.image_id) for entry in entries}
    ids = [*used, *(str(image["id"]) for image in new)]
    first = 1 + max((int(image_id) for image_id in ids if image_id.isdecimal()), default=0)
    batch = {BATCH: plan.n} if content.get("annotations") else {}  # what is there is labelled
    named = [
        {**image, "id": first + k if str(image["id"]) in used else image["id"], **batch}
        for k, image in enumerate(new)
    ]
    return {**content, "images": [*content["images"], *named]}


@dataclass(frozen=True, eq=False)
class Prelabels:
    """The boxes that are offered in one image.

    Parameters
    ----------
    image : LabelledImage
        The image, with its size.
    boxes : ndarray of shape (N, 4), float64
        xyxy, pixels, inside the image where its size is known.
    scores : ndarray of shape (N,)
        Of the boxes, falling.
    categories : list of str
        Of the boxes.
    """

    image: LabelledImage
    boxes: np.ndarray
    scores: np.ndarray
    categories: list[str]

    @property
    def xywh(self) -> np.ndarray:
        """Left, top, width and height in pixels, (N, 4)."""
        return as_xywh(self.boxes)

    def labelled(self) -> list[LabelledBox]:
        """Return them as boxes of a label file."""
        named = zip(self.categories, self.xywh.tolist(), strict=True)
        return [LabelledBox(self.image.image_id, name, tuple(xywh)) for name, xywh in named]

    def label_studio_task(self, model: str) -> dict[str, Any]:
        """Return them as a task with a prediction for Label Studio, coordinates in per cent.

        The folder `IMAGES` is below the document root of Label Studio's local files; the labelling
        interface is that of `label_config`. Source: Label Studio's documentation, "Import
        pre-annotated data".

        Parameters
        ----------
        model : str
            Name of the detector, the model version of the prediction.
        """
        assert self.image.size is not None
        height, width = self.image.size
        shares = (self.xywh * (100 / np.array([width, height, width, height]))).round(4)
        results = [
            {
                "id": f"box{k}",
                "type": "rectanglelabels",
                "from_name": "label",
                "to_name": "image",
                "original_width": width,
                "original_height": height,
                "score": float(score),
                "value": {
                    "x": x,
                    "y": y,
                    "width": w,
                    "height": h,
                    "rotation": 0,
                    "rectanglelabels": [name],
                },
            }
            for k, ((x, y, w, h), score, name) in enumerate(
                zip(shares.tolist(), self.scores, self.categories, strict=True), 1
            )
        ]
        url = f"{LOCAL_FILES}{quote(f'{IMAGES}/{self.image.file_name}')}"
        predictions = [{"model_version": model, "result": results}]
        return {"data": {"image": url}, "predictions": predictions}


def prelabels(plan: LabelPlan, images: Sequence[LabelledImage]) -> list[Prelabels]:
    """Choose the boxes to offer in the images that a plan drew: the confident ones (`CONFIDENT`).

    Where several words of the detector are one category of the plan, it may find an object once as
    each; of boxes of one category that overlap by more than `SAME` the most confident is offered.

    Parameters
    ----------
    plan : LabelPlan
        The plan.
    images : sequence of LabelledImage
        The images that it drew, in their order, with their sizes.
    """
    return [_of_image(plan, int(k), image) for k, image in zip(plan.drawn, images, strict=True)]


def label_config(categories: Sequence[str]) -> str:
    """Return Label Studio's labelling interface for boxes of some categories.

    Source: Label Studio's documentation, tags "Image" and "RectangleLabels".

    Parameters
    ----------
    categories : sequence of str
        Labels to choose from, in this order; characters that mean something in XML are escaped.

    Returns
    -------
    str
        XML. Boxes have the name ``label``, as in `Prelabels.label_studio_task`.
    """
    from xml.sax.saxutils import quoteattr  # loads urllib, which no other command needs

    labels = "\n".join(f"    <Label value={quoteattr(name)}/>" for name in categories)
    return (
        '<View>\n  <Image name="image" value="$image"/>\n'
        '  <RectangleLabels name="label" toName="image">\n'
        f"{labels}\n  </RectangleLabels>\n</View>\n"
    )


def _of_image(plan: LabelPlan, k: int, image: LabelledImage) -> Prelabels:
    boxes_of_pool = plan.found
    confident = over_threshold(boxes_of_pool.scores, CONFIDENT)
    rows = np.flatnonzero((boxes_of_pool.image == k) & confident)
    rows = rows[np.argsort(-boxes_of_pool.scores[rows], kind="stable")]
    boxes = boxes_of_pool.boxes[rows].astype(np.float64)
    if image.size is not None:
        boxes = boxes.clip(0, np.array(image.size[::-1] * 2))
    kept = _distinct(boxes, boxes_of_pool.label[rows]) & (boxes[:, 2:] > boxes[:, :2]).all(axis=1)
    names = [boxes_of_pool.categories[label] for label in boxes_of_pool.label[rows[kept]]]
    return Prelabels(image, boxes[kept], boxes_of_pool.scores[rows[kept]], names)


def _distinct(boxes: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Say which boxes are of an object that has none yet.

    boxes (N, 4): xyxy, the most confident first
    labels (N,): their categories
    Returned (N,): False of a box that overlaps one before it, which was kept, by more than `SAME`
    """
    same = (box_iou(boxes, boxes) > SAME) & (labels[:, None] == labels)
    kept = np.ones(len(boxes), bool)
    for k in range(len(boxes)):
        if kept[k]:
            kept[k + 1 :] &= ~same[k, k + 1 :]
    return kept


def write_plan(
    plan: LabelPlan,
    folder: Path,
    images: Iterable[UnlabelledImage],
    *,
    prelabel: bool = False,
) -> list[Path]:
    """Write a plan, and what is to be labelled.

    An annotation file names the drawn images, without boxes. What that of an earlier, smaller plan
    holds by now is kept. The drawn images are copied where all of them are among `images`.
    ``label_config.xml`` is the labelling interface for Label Studio.

    Parameters
    ----------
    plan : LabelPlan
        The plan.
    folder : Path
        Where it is written.
    images : iterable of UnlabelledImage
        Images of the pool that are at hand.
    prelabel : bool
        Offer the detector's boxes, too: ``prelabels_coco.json`` (CVAT: COCO 1.0) and
        ``prelabels_label_studio.json`` (Label Studio: tasks with predictions). People who are shown
        boxes leave more of them as they are than they should.

    Returns
    -------
    list of Path
        What was written.

    Raises
    ------
    InputError
        If the annotation file that is there is no COCO annotation file, or boxes are wanted and the
        images are not at hand or do not show their size.
    """
    files = {image.image_id: image for image in images}
    named = [plan.found.images[k] for k in plan.drawn]
    at_hand = all(image.image_id in files for image in named)
    if at_hand:
        for k, image in enumerate(named):
            file = files[image.image_id]
            size = image.size or _size(file)
            named[k] = LabelledImage(image.image_id, _file_name(image, file), size)
    unknown = [image.image_id for image in named if image.size is None]
    if prelabel and not at_hand:
        raise InputError(
            "--prelabel needs the images, whose sizes the boxes are shares of: name their folder "
            "with --images."
        )
    if prelabel and unknown:
        raise InputError(
            "--prelabel needs the size of each image that is drawn, whose shares the boxes are, "
            f"but of {len(unknown)} the files do not show it ({listed(unknown)}): they are damaged "
            "or too large. Repair them, or plan without --prelabel."
        )
    # What is named is meant, though no box of it may be likely.
    categories = plan.all_categories if plan.named else plan.found.categories
    empty = LabelSet(folder / EMPTY, tuple(named), categories)
    document = coco_document(empty, with_sizes=False)
    if empty.path.exists():
        content = read_json(empty.path, "annotation file")
        document = _added(content, document["images"], plan, empty.path)
    written = [*save_plan(plan, folder), folder / CONFIG]
    write_text(folder / CONFIG, label_config(categories))
    if at_hand:
        for image in named:
            _copy(files[image.image_id], folder / IMAGES / image.file_name)
        written.append(folder / IMAGES)
    written.append(write_json(empty.path, document, indent=None))
    if prelabel:
        offered = prelabels(plan, named)
        boxes = BoxColumns.of([box for of_image in offered for box in of_image.labelled()])
        tasks = [of_image.label_studio_task(plan.detector) for of_image in offered]
        written += [
            write_json(folder / "prelabels_coco.json", coco_document(replace(empty, boxes=boxes))),
            write_json(folder / "prelabels_label_studio.json", tasks),
        ]
    return written


def _file_name(image: LabelledImage, file: UnlabelledImage) -> str:
    """Return the name under which an image is copied: as the pool calls it, with a suffix.

    By that name its labels are matched. What would lead out of the folder is left out of it.
    """
    whole, path = PurePosixPath(image.file_name), _own_file(file)
    name = PurePosixPath(*[part for part in whole.parts if part not in (whole.anchor, "..")])
    suffix = ".png" if path is None else path.suffix
    has_one = without_suffix(name.name) != name.name or name.suffix == suffix
    return name.as_posix() + ("" if has_one else suffix)


def _own_file(image: UnlabelledImage) -> Path | None:
    """Return the file that holds this image alone, which a frame of a video has not."""
    return getattr(image, "path", None) if getattr(image, "time_s", None) is None else None


def _size(image: UnlabelledImage) -> tuple[int, int] | None:
    """Read height and width, where the predictions do not come with them; None of a damaged file.

    What has no file of its own, as a frame of a video, is decoded.
    """
    path = _own_file(image)
    if path is not None:
        return image_size(path)
    height, width = image.read().shape[:2]
    return height, width


def _copy(image: UnlabelledImage, target: Path) -> None:
    path = _own_file(image)
    with atomic_path(target) as temporary:
        if path is not None:
            shutil.copyfile(path, temporary)
        else:
            import cv2

            temporary.write_bytes(cv2.imencode(".png", image.read())[1].tobytes())
