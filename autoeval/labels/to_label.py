"""The images of a plan in a folder, ready to be labelled."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath

from autoeval.data.find_images import UnlabelledImage
from autoeval.data.image_header import read_header
from autoeval.data.labels.content import LabelledImage, LabelSet
from autoeval.data.labels.writing import coco_document
from autoeval.errors import InputError
from autoeval.labels.annotation_file import name_images
from autoeval.labels.plan import LabelPlan
from autoeval.labels.plan_file import save_plan
from autoeval.labels.prelabels import label_config, prelabels
from autoeval.runtime.files import atomic_path, write_json, write_text

IMAGES, EMPTY, CONFIG = "images", "annotations.json", "label_config.xml"


def write_to_label(
    plan: LabelPlan, images: Mapping[str, UnlabelledImage], folder: Path, *, prelabel: bool = False
) -> list[Path]:
    """Copy the drawn images into a folder, with an annotation file that names them.

    What the annotation file of an earlier, smaller plan holds by now is kept.

    Parameters
    ----------
    plan : LabelPlan
    images : mapping of str to UnlabelledImage
        By their names.
    folder : Path
    prelabel : bool
        Offer the detector's boxes, too: ``prelabels_coco.json`` (CVAT: COCO 1.0) and
        ``prelabels_label_studio.json`` (Label Studio: tasks with predictions); see `prelabels`.
        People who are shown boxes leave more of them as they are than they should.

    Returns
    -------
    list of Path
        What was written.
    """
    drawn = [plan.found.images[k] for k in plan.drawn]
    named = [
        LabelledImage(
            i.image_id, _file_name(images[i.image_id]), i.size or _size(images[i.image_id])
        )
        for i in drawn
    ]
    for image in named:
        _copy(images[image.image_id], folder / IMAGES / image.file_name)
    empty = LabelSet(folder / EMPTY, tuple(named), plan.found.categories)
    written = [folder / IMAGES, name_images(empty, folder / EMPTY)]
    if prelabel:
        offered = prelabels(plan, named)
        boxes = tuple(box for of_image in offered for box in of_image.labelled())
        tasks = [of_image.label_studio_task(IMAGES, plan.detector) for of_image in offered]
        written += [
            write_json(folder / "prelabels_coco.json", coco_document(replace(empty, boxes=boxes))),
            write_json(folder / "prelabels_label_studio.json", tasks),
        ]
    return written


def write_plan(
    plan: LabelPlan,
    folder: Path,
    images: Iterable[UnlabelledImage] = (),
    *,
    prelabel: bool = False,
) -> list[Path]:
    """Write a plan, and the folder to label where the images are at hand.

    ``label_config.xml`` is the labelling interface for Label Studio.

    Parameters
    ----------
    plan : LabelPlan
    folder : Path
    images : iterable of UnlabelledImage
        The drawn ones among them are copied; without them the annotation file names the images.
    prelabel : bool
        See `write_to_label`.

    Returns
    -------
    list of Path
        What was written.

    Raises
    ------
    InputError
        If boxes are to be offered and the images are not at hand.
    """
    files = {image.image_id: image for image in images}
    at_hand = all(plan.found.images[k].image_id in files for k in plan.drawn)
    if prelabel and not at_hand:
        raise InputError(
            "--prelabel needs the images, whose sizes the boxes are shares of: name their folder "
            "with --images-list."
        )
    written = [*save_plan(plan, folder), folder / CONFIG]
    write_text(folder / CONFIG, label_config(plan.found.categories))
    if at_hand:
        return written + write_to_label(plan, files, folder, prelabel=prelabel)
    drawn = [plan.found.images[k] for k in plan.drawn]
    named = tuple(LabelledImage(i.image_id, i.file_name, i.size) for i in drawn)
    empty = LabelSet(folder / EMPTY, named, plan.found.categories)
    return [*written, name_images(empty, folder / EMPTY)]


def _file_name(image: UnlabelledImage) -> str:
    name = PurePosixPath(image.image_id)
    path = getattr(image, "path", None)
    own = path is not None and getattr(image, "time_s", None) is None
    return name.as_posix() if own and name.suffix else f"{name.as_posix()}{_suffix(path, own)}"


def _size(image: UnlabelledImage) -> tuple[int, int] | None:
    """Read height and width, where the predictions do not come with them."""
    path = getattr(image, "path", None)
    header = read_header(path) if path is not None else None
    return (header.height, header.width) if header else None


def _suffix(path: Path | None, own: bool) -> str:
    return path.suffix if own and path is not None else ".png"


def _copy(image: UnlabelledImage, target: Path) -> None:
    path = getattr(image, "path", None)
    with atomic_path(target) as temporary:
        if path is not None and getattr(image, "time_s", None) is None:
            shutil.copyfile(path, temporary)
        else:
            import cv2

            cv2.imwrite(str(temporary), image.read())
