"""Predictions and labels that are objects in memory, as the content of a file.

`content_in_memory` makes the `Content` that `autoeval.io.predictions.reading` reads on, as if it
was of a file, and `labels_in_memory` a `LabelSet`.

Objects are recognised by their attributes; no package of theirs is imported. A table has the
columns of a Parquet file, rows and documents have the fields of COCO's JSON. Lists have one item an
image: `supervision.Detections`, torchvision's dicts of tensors, lists of transformers' pipeline,
Ultralytics' `Results`, or MMDetection's `DetDataSample`, also as the dict that
`tools/test.py --out` dumps.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from autoeval.boxes import Boxes, LabelledImage, as_xywh
from autoeval.errors import InputError
from autoeval.io.coco import read_coco
from autoeval.io.image_identity import normal_id
from autoeval.io.labels.content import LabelSet
from autoeval.io.predictions.formats import (
    BOX_COLUMNS,
    COLUMNS,
    CORNERS,
    Coded,
    Content,
    RawColumns,
    columns_of_batch,
    columns_of_list,
    content_of_document,
    known_columns,
)
from autoeval.io.predictions.pipeline_results import (
    corners_of,
    is_of_pipeline,
    is_of_pipeline_by_name,
)
from autoeval.runtime.files import name_of
from autoeval.words import Notice, listed

ACCEPTED = (
    "a path; what autoeval.detect or autoeval.load_predictions returned; a DataFrame or an Arrow "
    "table with the columns of a Parquet file (image_id or file_name, category_id or category, x, "
    "y, w and h or bbox or x1, y1, x2 and y2, score); a list of COCO result rows; a COCO dict or "
    "pycocotools.COCO; or a list with one item an image of supervision.Detections, torchvision's "
    "dicts (boxes, scores, labels), the lists of transformers' pipeline, Ultralytics Results or "
    "MMDetection's data samples; or supervision.Detections or torchvision's dicts by file name or "
    "number of the image, or the lists of the pipeline by file name"
)
ACCEPTED_LABELS = (
    "a path (COCO JSON, or a folder of YOLO or VOC); what autoeval.load_labels returned; a COCO "
    "dict or pycocotools.COCO; a DataFrame or an Arrow table with one row an object (image_id or "
    "file_name, category or category_id, x, y, w and h or bbox or x1, y1, x2 and y2); or a "
    "supervision.DetectionDataset or supervision.Detections by file name"
)
OF_ARRAY = re.compile(r"image\d+\.jpg").fullmatch  # what Ultralytics calls an image without a file
IGNORED = ("iscrowd", "is_crowd", "difficult", "ignore", "IsGroupOf")
"""Columns of a table of labels that may say which objects evaluation ignores; the first counts. The
last is that of Open Images, where -1 says that nobody knows."""
ROW_KEYS = frozenset({"bbox", "score", "x"})
TORCHVISION = frozenset({"boxes", "scores", "labels"})


class _ImageBoxes(NamedTuple):
    """What was found on one image, of any of the lists.

    Parameters
    ----------
    boxes : ndarray of shape (n, 4)
        xyxy, pixels.
    scores, classes : ndarray of shape (n,)
        Confidences, and numbers of categories.
    words : sequence of str, optional
        Of each box, where there are.
    file_name : str, optional
        Name of the image, where the item has one.
    image_id : Any, optional
        Id of the image, where the item has one.
    size : tuple of int, optional
        Height and width.
    positions : bool
        Whether `classes` are positions in a list of categories, counted from 0.
    """

    boxes: np.ndarray
    scores: np.ndarray
    classes: np.ndarray
    words: Sequence[str | None] | None = None
    file_name: str | None = None
    image_id: Any = None
    size: tuple[int, int] | None = None
    positions: bool = False


def in_memory(predictions: object) -> bool:
    """Whether an object looks like predictions; see `ACCEPTED`.

    Parameters
    ----------
    predictions : object
        Any object.

    Examples
    --------
    >>> in_memory([{"image_id": 1}]), in_memory({"annotations": []}), in_memory("boxes.json")
    (True, True, False)
    """
    has_known_type = (
        isinstance(predictions, Boxes)
        or _is_table(predictions)
        or _document(predictions) is not None
        or isinstance(predictions, list | tuple)
    )
    return has_known_type or _by_image(predictions)


def content_in_memory(predictions: Any, images: Sequence[LabelledImage] | None) -> Content:
    """Read an object as the content of a file.

    Parameters
    ----------
    predictions : object
        One of `ACCEPTED`.
    images : sequence of LabelledImage, optional
        Those that the detector was run on; items of a list that do not name their image are of
        these, in their order.

    Returns
    -------
    Content
        Entries as of a file; of a list also its images.

    Raises
    ------
    InputError
        If it is none of `ACCEPTED`, an item of a list cannot be read, or a list has not one item an
        image.
    """
    document = _document(predictions)
    if document is not None:
        rows = document["annotations"]
        plain = [_plain(row) if isinstance(row, Mapping) else row for row in rows]
        return content_of_document({**document, "annotations": plain}, name_of(predictions))
    if isinstance(predictions, Boxes):
        return _of_boxes(predictions)
    if _is_table(predictions):
        return Content(_of_table(predictions))
    if _by_image(predictions):
        items = [(name, _of_image(item, name, predictions)) for name, item in predictions.items()]
        named = [
            item._replace(image_id=int(name))  # as in the evaluation of torchvision's references
            if isinstance(name, int | np.integer)
            else item._replace(file_name=str(name))
            for name, item in items
        ]
        return _of_images(named, images, predictions)
    if not isinstance(predictions, list | tuple):
        raise not_accepted(predictions)
    rows = list(predictions)
    if all(isinstance(row, Mapping) and ROW_KEYS & row.keys() for row in rows):
        return Content(columns_of_list([_plain(row) for row in rows]))
    image_boxes = [_of_image(item, k, predictions) for k, item in enumerate(rows)]
    return _of_images(image_boxes, images, predictions)


def _of_boxes(boxes: Boxes) -> Content:
    """Lay out boxes that were read before, or that a detector which was run has found."""
    boxes = boxes.on_images(boxes.covered) if boxes.uncovered else boxes
    columns = RawColumns(
        Coded(boxes.image, [image.image_id for image in boxes.images]),
        Coded(boxes.image, [image.file_name for image in boxes.images]),
        Coded(np.full(len(boxes), -1), []),
        Coded(boxes.label, [*boxes.categories]),
        as_xywh(boxes.boxes.astype(np.float64)),
        boxes.scores.astype(np.float64),
    )
    own_images = boxes.images if boxes.lists_images else None
    in_order = {str(k): word for k, word in enumerate(boxes.categories)}  # all, found or not
    notices = (*boxes.left_out, *boxes.warnings)
    return Content(iter([columns]), own_images, in_order, notices, boxes.run)


def labels_in_memory(labels: Any) -> LabelSet:
    """Read labels from an object.

    Parameters
    ----------
    labels : object
        One of `ACCEPTED_LABELS` but a path.

    Returns
    -------
    LabelSet
        Of a table and of detections by file name without numbers where categories were given by
        words; what `load_labels` returned as it is.

    Raises
    ------
    InputError
        For another object, and as `read_coco`.
    """
    if isinstance(labels, LabelSet):
        return labels
    document = _document(labels)
    if document is not None:
        return read_coco(document)
    classes: Sequence[str] = ()
    if _is_table(labels):
        document = _document_of_table(labels)
    elif _of_names(annotations := getattr(labels, "annotations", labels)):
        classes = getattr(labels, "classes", ())
        document = _document_of_detections(annotations, classes)
    else:
        raise InputError(
            f"Expected labels as {ACCEPTED_LABELS}; but got {_described(labels)}. "
            "Labels in several files go into one first."
        )
    # a position in the list of categories goes by their numbers, in whatever order objects come
    document["categories"].sort(key=_counting)
    content = read_coco(document)
    by_word = content.numbers == content.categories
    by_word &= not all(map(str.isdecimal, content.numbers))  # of numbers alone these are the words
    numbers = () if by_word else content.numbers
    return replace(content, numbers=numbers, lists_categories=len(classes) > 0)


def _counting(category: Mapping[str, Any]) -> int:
    """Sort key of an entry of categories: its number; words stay in their order."""
    number = normal_id(category["id"])
    return int(number) if number.isdecimal() else -1


def _of_names(data: Any) -> bool:
    """Whether it has `supervision.Detections` by the file name of each image."""
    named = isinstance(data, Mapping) and len(data) > 0
    return named and all(hasattr(item, "xyxy") for item in data.values())


def _by_image(data: Any) -> bool:
    """Whether it has what was found on each image by its file name or its number."""
    if _of_names(data) or is_of_pipeline_by_name(data):
        return True
    return isinstance(data, Mapping) and len(data) > 0 and all(map(_is_torchvision, data.values()))


def _is_torchvision(item: Any) -> bool:
    """Whether it is what a detector of torchvision returns of one image."""
    return isinstance(item, Mapping) and item.keys() >= TORCHVISION


def _document_of_table(labels: Any) -> dict[str, Any]:
    """Return a COCO document of a table with a labelled object a row.

    A row without a category and a box is an image that holds none.

    Raises
    ------
    InputError
        If columns are missing.
    """
    table = _as_arrow(labels)
    fields = known_columns(table.schema)
    columns = table.to_pydict()
    of_box = next((names for names, _ in BOX_COLUMNS if names[0] in fields), None)
    key = next((name for name in ("image_id", "file_name") if name in fields), None)
    if key is None or of_box is None or not {"category", "category_id"} & fields.keys():
        raise InputError(
            f"{name_of(labels)} has the columns {listed([*columns], 20)}. Expected labels with "
            "image_id or file_name, category or category_id, and x, y, w and h, or bbox, or x1, "
            "y1, x2 and y2, one row an object."
        )
    absent = [None] * table.num_rows
    by_field = {field: columns[name] for field, name in fields.items()}
    number_of = by_field["category_id" if "category_id" in fields else "category"]
    of_images = zip(
        by_field.get("file_name", absent),
        columns.get("width", absent),
        columns.get("height", absent),
        strict=True,
    )
    of_boxes = zip(*(by_field[name] for name in of_box), strict=True)
    images: dict[Any, dict[str, Any]] = {}
    names: dict[Any, Any] = {}
    annotations = []
    for image, (file_name, width, height), number, name, box, crowd, score in zip(
        by_field[key],
        of_images,
        number_of,
        by_field.get("category", number_of),
        of_boxes,
        next((columns[name] for name in IGNORED if name in columns), absent),
        by_field.get("score", absent),
        strict=True,
    ):
        about = {"id": image, "file_name": file_name, "width": width, "height": height}
        if (earlier_name := images.setdefault(image, about)["file_name"]) != file_name:
            raise _two_names(labels, f"{key} {image}", earlier_name, file_name)
        if number is None and all(side is None for side in box):
            continue
        if (earlier_name := names.setdefault(number, name)) != name:
            raise _two_names(labels, f"category_id {number}", earlier_name, name)
        bbox = box[0] if of_box == ("bbox",) else list(box)
        if of_box == CORNERS and None not in bbox:
            bbox[2:] = bbox[2] - bbox[0], bbox[3] - bbox[1]
        annotation = {"image_id": image, "category_id": number, "bbox": bbox, "score": score}
        annotations.append({**annotation, "iscrowd": None if crowd == -1 else crowd})
    # numbers of pandas become floats by a row without one: 3.0 is the category 3
    categories = [
        {"id": number, "name": normal_id(name) if isinstance(name, float) else name}
        for number, name in names.items()
    ]
    return {"images": [*images.values()], "categories": categories, "annotations": annotations}


def _document_of_detections(
    detections: Mapping[Any, Any], classes: Sequence[str]
) -> dict[str, Any]:
    """Return a COCO document of `supervision.Detections` by the file name of each image.

    Parameters
    ----------
    detections : mapping
        File name to detections, whose boxes are xyxy in pixels.
    classes : sequence of str
        Word of each class, counted from 0; may be empty.

    Raises
    ------
    InputError
        If objects have no class, or one class has two words.
    """
    names: dict[Any, str] = dict(enumerate(classes))
    annotations = []
    for image, item in detections.items():
        boxes, n = _array(item.xyxy), len(item.xyxy)
        if n and item.class_id is None:
            raise InputError(
                f"{name_of(detections)}: the objects of image {image} have no class_id."
            )
        numbers = _array(item.class_id).tolist() if n else []
        words = (getattr(item, "data", None) or {}).get("class_name")
        if words is None:
            words = [names.get(number, number) for number in numbers]
        for number, word in zip(numbers, words, strict=True):
            if (earlier_word := names.setdefault(number, str(word))) != str(word):
                raise _two_names(detections, f"class_id {number}", earlier_word, word)
        bboxes = as_xywh(boxes) if n else boxes
        confidence = getattr(item, "confidence", None)
        scores = [None] * n if confidence is None else _array(confidence).tolist()
        annotations += [
            {"image_id": str(image), "category_id": number, "bbox": bbox, "score": score}
            for number, bbox, score in zip(numbers, bboxes.tolist(), scores, strict=True)
        ]
    return {
        "images": [{"id": str(image), "file_name": str(image)} for image in detections],
        "categories": [{"id": number, "name": name} for number, name in names.items()],
        "annotations": annotations,
    }


def _two_names(labels: object, number: str, first: object, second: object) -> InputError:
    """Make the refusal of labels in which one number is of two things."""
    return InputError(
        f"{name_of(labels)}: {number} is {first} and {second}. Expected one name for each number: "
        "if several sets were joined, give each image and each category a number of its own."
    )


def not_accepted(predictions: object) -> InputError:
    """Return the error for an object that is none of `ACCEPTED`.

    Parameters
    ----------
    predictions : object
        The object.
    """
    return InputError(
        f"Expected predictions as {ACCEPTED}; but got {_described(predictions)}. "
        "A detector to be run is given as autoeval.Detector(...)."
    )


def _described(data: object) -> str:
    """Describe an object for a message.

    Examples
    --------
    >>> _described([1, 2]), _described({"a": 1}), _described(3)
    ('list of int', 'dict with a', 'int')
    """
    type_name = type(data).__name__
    if isinstance(data, list | tuple) and data:
        return f"{type_name} of {type(data[0]).__name__}"
    return f"{type_name} with {listed([*data], 4)}" if isinstance(data, Mapping) else type_name


def _document(data: object) -> Mapping[str, Any] | None:
    """Return a COCO document: a dict, or the `dataset` of a `pycocotools.COCO`."""
    dataset = getattr(data, "dataset", None)
    document = dataset if isinstance(dataset, Mapping) else data
    return document if isinstance(document, Mapping) and "annotations" in document else None


def _is_table(data: object) -> bool:
    """Whether it is a DataFrame of pandas or polars, or an Arrow table."""
    return isinstance(data, pa.Table | pa.RecordBatch) or (
        type(data).__name__ == "DataFrame" and hasattr(data, "columns")
    )


def _as_arrow(table: Any) -> pa.Table:
    """Return a table of pandas, polars or Arrow as one of Arrow."""
    try:
        if hasattr(table, "to_arrow"):
            return table.to_arrow()
        if isinstance(table, pa.RecordBatch):
            return pa.Table.from_batches([table])
        if isinstance(table, pa.Table):
            return table
        if len(set(table.columns)) < len(table.columns):
            raise InputError(
                f"{name_of(table)} has two columns of one name: {listed([*table.columns], 20)}. "
                "Expected each column once."
            )
        return pa.Table.from_pandas(table, preserve_index=False)
    except (pa.ArrowException, OverflowError) as error:
        raise InputError(f"{name_of(table)} cannot be read: {error}.") from error


def _of_table(table: Any) -> Iterator[RawColumns]:
    """Yield the columns of a table in memory."""
    for batch in _as_arrow(table).to_batches():
        yield columns_of_batch(name_of(table), batch)


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with Python's own numbers in the place of NumPy's."""
    return {
        key: value.tolist() if hasattr(value, "tolist") else value for key, value in row.items()
    }


def _array(values: Any) -> np.ndarray:
    """Return a tensor, on any device, or another sequence as an array."""
    if hasattr(values, "detach"):
        values = values.detach()
    if hasattr(values, "cpu"):
        values = values.cpu()
    if str(getattr(values, "dtype", "")) == "torch.bfloat16":  # NumPy has no such type
        values = values.float()
    return np.asarray(values)


def _of_image(item: Any, k: Any, predictions: object) -> _ImageBoxes:
    """Take the boxes out of item k of a list, or of that with the name k.

    Raises
    ------
    InputError
        If it is of no kind that is known, or malformed.
    """
    try:
        if hasattr(item, "xyxy") and hasattr(item, "confidence"):
            return _of_supervision(item)
        if _is_torchvision(item):
            return _of_torchvision(item)
        if is_of_pipeline(item):
            scores, words = [one["score"] for one in item], _words(one["label"] for one in item)
            numbers = np.full(len(item), -1)
            return _checked(
                _ImageBoxes(np.array(corners_of(item)), np.array(scores), numbers, words)
            )
        if hasattr(item, "boxes") and hasattr(item, "names"):
            return _of_ultralytics(item)
        if (instances := _part(item, "pred_instances")) is not None:
            boxes = _array(_part(instances, "bboxes"))
            scores = _array(_part(instances, "scores"))
            labels = _array(_part(instances, "labels"))
            names = (_part(item, name) for name in ("img_path", "img_id", "ori_shape"))
            image_boxes = _ImageBoxes(boxes, scores, labels, None, *names)
            return _checked(image_boxes._replace(positions=True))
    except (TypeError, ValueError) as error:
        raise InputError(f"Item {k} of {name_of(predictions)} cannot be read: {error}.") from error
    raise not_accepted(predictions)


def _words(words: Iterable[Any]) -> list[str | None]:
    """Return words as text, of whatever type they are; None where a box has none."""
    return [None if word is None else str(word) for word in words]


def _of_torchvision(item: Mapping[str, Any]) -> _ImageBoxes:
    """Take the boxes out of a dict of torchvision, or of transformers, whose labels may be words.

    Or they number what was asked for, and ``text_labels`` are its words. The name of the image is
    what users add: ``image_id``, or ``file_name`` and the like.
    """
    boxes, scores, words = _array(item["boxes"]), _array(item["scores"]), item.get("text_labels")
    labels = _array(item["labels"] if item["labels"] is not None else words)
    if labels.dtype.kind in "UO":
        words, labels = labels.tolist(), np.full(len(labels), -1)
    words = None if words is None else _words(words)
    image_id = item.get("image_id")
    if image_id is not None and hasattr(image_id, "item"):
        image_id = image_id.item()
    named = (item[name] for name in COLUMNS["file_name"] if item.get(name) is not None)
    file_name = next((PurePath(str(name)).as_posix() for name in named), None)
    return _checked(_ImageBoxes(boxes, scores, labels, words, file_name, image_id))


def _part(item: Any, name: str) -> Any:
    """Return a field of MMDetection's data sample, or of the dict that is dumped of it."""
    return item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)


def _of_supervision(item: Any) -> _ImageBoxes:
    """Take the boxes out of `supervision.Detections`; none may lack scores and classes."""
    if item.confidence is None or item.class_id is None:
        if not len(item.xyxy):
            return _ImageBoxes(np.zeros((0, 4)), np.zeros(0), np.zeros(0, int), positions=True)
        raise ValueError("its detections have no confidence or no class_id")
    words = (getattr(item, "data", None) or {}).get("class_name")
    words = None if words is None else _words(words)
    boxes, scores, classes = _array(item.xyxy), _array(item.confidence), _array(item.class_id)
    return _checked(_ImageBoxes(boxes, scores, classes, words, positions=True))


def _of_ultralytics(item: Any) -> _ImageBoxes:
    """Take the boxes out of Ultralytics' `Results`."""
    if item.boxes is None:
        raise ValueError("its boxes are None: expected the results of a detector")
    boxes, scores = _array(item.boxes.xyxy), _array(item.boxes.conf)
    classes = _array(item.boxes.cls).astype(np.int64)
    words = [str(item.names[int(number)]) for number in classes]
    name = PurePath(str(getattr(item, "path", "") or "")).as_posix()
    file_name = None if name in ("", ".") or OF_ARRAY(name) else name  # of a file it is absolute
    shape = getattr(item, "orig_shape", None)
    size = None if shape is None else (int(shape[0]), int(shape[1]))
    return _checked(_ImageBoxes(boxes, scores, classes, words, file_name, size=size))


def _checked(image_boxes: _ImageBoxes) -> _ImageBoxes:
    """Return the item with boxes (n, 4) and scores in float64; ValueError for what is none."""
    n, words, shape = len(image_boxes.scores), image_boxes.words, np.shape(image_boxes.boxes)
    in_columns = len(shape) > 1 and shape[-1] != 4 and n > 0
    if in_columns or np.size(image_boxes.boxes) != 4 * n or len(image_boxes.classes) != n:
        raise ValueError(
            f"expected boxes of shape ({n}, 4), scores and classes of shape ({n},), got "
            f"{shape} and {np.shape(image_boxes.classes)}"
        )
    if words is not None and len(words) != n:
        raise ValueError(f"expected a word for each of {n} boxes, got {len(words)}")
    image_id = image_boxes.image_id
    if isinstance(image_id, Mapping | list | tuple | set):
        raise ValueError(f"expected image_id as a number or a text, got {image_id}")
    boxes = np.asarray(image_boxes.boxes, np.float64).reshape(n, 4)
    return image_boxes._replace(boxes=boxes, scores=np.asarray(image_boxes.scores, np.float64))


def _of_images(
    items: Sequence[_ImageBoxes], images: Sequence[LabelledImage] | None, predictions: object
) -> Content:
    """Join what was found on all images; an image is named, or is that of its place.

    Parameters
    ----------
    items : sequence of _ImageBoxes
        Of each image.
    images : sequence of LabelledImage, optional
        See `content_in_memory`.
    predictions : object
        That was read, for messages.

    Raises
    ------
    InputError
        If items without a name are not as many as the images, those beside them that have one are
        in another order, or several are of one image.
    """
    names: list[str | None] = [item.file_name for item in items]
    ids: list[Any] = [item.image_id for item in items]
    item_images: tuple[LabelledImage, ...] | None = None
    notices: tuple[Notice, ...] = ()
    by_place = any(
        name is None and image_id is None for name, image_id in zip(names, ids, strict=True)
    )
    if by_place and images is not None:
        if len(images) != len(items):
            raise InputError(
                f"{name_of(predictions)} has {len(items)} items, one an image, and there are "
                f"{len(images)} images. Expected an item for each, in their order; those without "
                "a box are empty ones."
            )
        bare = [PurePath(image.file_name or "").name for image in images]
        for k, name in enumerate(names):  # those that are named are in this order, too
            named = name and PurePath(name).name
            if named in bare and named != bare[k]:
                raise InputError(
                    f"Item {k} of {name_of(predictions)} is of {name}, and image {k} is {bare[k]}; "
                    "other items name no image. Expected items in the order of the images, or that "
                    "each names its own."
                )
        names = [image.file_name for image in images]
        ids = [image.image_id for image in images]
        # an item without a box says that nothing was found there; its size, whether it is of it
        item_images = tuple(
            replace(image, size=item.size or image.size)
            for image, item in zip(images, items, strict=True)
        )
        text = (
            f"{name_of(predictions)} does not name its images: its items are taken in their order"
        )
        notices = (Notice("images-by-place", text, "note"),)
    else:
        times = Counter(str(name or i) for name, i in zip(names, ids, strict=True))
        twice = [] if by_place else [name for name, n in times.items() if n > 1]
        if twice:
            raise InputError(
                f"{name_of(predictions)} has several items of one image: {listed(twice, 3)}. "
                "Expected one item an image: give each frame of a video a name of its own, such as "
                "result.path = f'{k}.jpg', and join what was found in parts of an image."
            )
        names = [name or str(k) for k, name in enumerate(names)] if by_place else names
        several = len({*map(str, ids)}) < len(ids)  # MMDetection's `inference_detector` has 0 alone
        item_images = tuple(
            LabelledImage(str(name if i is None or several else i), str(name or i), item.size)
            for name, i, item in zip(names, ids, items, strict=True)
        )
    n_boxes = [len(item.scores) for item in items]
    image = np.repeat(np.arange(len(items)), n_boxes)
    boxes = np.concatenate([item.boxes for item in items]) if items else np.zeros((0, 4))
    scores = np.concatenate([item.scores for item in items]) if items else np.zeros(0)
    number = word = Coded(np.full(len(image), -1), [])
    if len(image):
        classes = np.concatenate([item.classes for item in items])
        values, codes = np.unique(classes, return_inverse=True)
        # of words alone there is no number, and the fit would remember -1 as one
        number = Coded(np.where(classes < 0, -1, codes.reshape(-1)), values.tolist())
        word = Coded.of(w for i in items for w in i.words or [None] * len(i.scores))
    columns = RawColumns(
        _named(ids, image),
        _named(names, image),
        number,
        word,
        as_xywh(boxes),
        scores,
    )
    positions = any(item.positions for item in items)
    return Content(iter([columns]), item_images, warnings=notices, positions=positions)


def _named(values: Sequence[Any], image: np.ndarray) -> Coded:
    """Code a column of names by image; None has no code."""
    has_name = np.array([value is not None for value in values], bool)
    return Coded(np.where(has_name[image] if len(has_name) else image, image, -1), list(values))
