"""Labels in any format, chosen by looking at the files or by name; COCO files in folders.

`load_labels` is `autoeval.load_labels`: fits, estimates with labels, tasks and `convert-labels`
read labels by it. Formats are `LabelFormat`s: COCO here, YOLO and VOC in modules of their own;
layouts of published data sets, read only where they are named, in `autoeval.stability.layouts`.
"""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from autoeval.boxes import LabelledImage
from autoeval.errors import InputError
from autoeval.io.coco import read_coco
from autoeval.io.image_identity import Named, match_images
from autoeval.io.image_lists import (
    folder_of,
    holds_file,
    load_image_folder,
    refuse_archive,
    with_sizes,
)
from autoeval.io.labels.content import LabelFormat, LabelSet
from autoeval.io.labels.pairing import holds_images
from autoeval.io.labels.voc import VOC
from autoeval.io.labels.yolo import YOLO, is_nearly_yolo
from autoeval.runtime.files import PathLike, is_json, read_json
from autoeval.words import listed, refuse_unknown

# The layouts of published data sets are read where they are named: `module:constant` of each.
LAYOUTS = {
    "bdd100k": "vehicle_layouts:BDD100K",
    "box_csv": "vehicle_layouts:BOX_CSV",
    "caltech": "person_layouts:CALTECH",
    "citypersons": "person_layouts:CITYPERSONS",
    "cityscapes": "vehicle_layouts:CITYSCAPES",
    "crowdhuman": "person_layouts:CROWDHUMAN",
    "eurocity": "person_layouts:EUROCITY",
    "exdark": "vehicle_layouts:EXDARK",
    "kitti": "vehicle_layouts:KITTI",
    "ua_detrac": "vehicle_layouts:UA_DETRAC",
}
LAYOUT_PACKAGE = "autoeval.stability.layouts"
BOXES = "instances_"
"""What names of files with boxes begin with, where a data set has a file for each kind of label."""


def read_coco_labels(path: Path, img_dir: Path | None = None) -> LabelSet:
    """Read a COCO file, or the only one of a folder (as CVAT and Label Studio export them).

    Sizes that the file lacks are read from the headers of the images.

    Parameters
    ----------
    path : Path
        The file, or a folder that has it in it or in its subfolder ``annotations``.
    img_dir : Path, optional
        By default that of `folder_of`.

    Returns
    -------
    LabelSet
        Whose images are called as their files are, where these lie in the folder.

    Raises
    ------
    InputError
        If a folder holds no COCO file or several, and as `read_coco`.
    """
    content = read_coco(_only_file(path) if path.is_dir() else path)
    folder = img_dir or folder_of(content.path, content.images)
    content = _as_on_disk(replace(content, img_dir=folder))
    assert content.img_dir is not None
    if not content.img_dir.is_dir():
        return content
    return replace(content, images=with_sizes(content.images, content.img_dir))


def _as_on_disk(content: LabelSet) -> LabelSet:
    """Give images the names of their files, where the labels have others."""
    folder = content.img_dir
    assert folder is not None
    lost = [not holds_file(folder, image.file_name) for image in content.images]
    if not any(lost) or not holds_images(folder):
        return content
    files = [file.image_id for file in load_image_folder(folder)]
    images_on_disk = [LabelledImage(name, name, None) for name in files]
    named = [Named(None, image.file_name) for image in content.images]
    places = match_images(named, images_on_disk).index.tolist()
    images = [
        replace(image, file_name=files[place]) if is_lost and place >= 0 else image
        for image, is_lost, place in zip(content.images, lost, places, strict=True)
    ]
    return replace(content, images=tuple(images))


def _only_file(folder: Path) -> Path:
    """Return the one COCO file of a folder, or the one with boxes; `InputError` without it."""
    files = _coco_files(folder)
    boxes = [file for file in files if file.stem.startswith(BOXES)]  # not captions, stuff, ...
    if 1 in (len(files), len(boxes)):
        return (files if len(files) == 1 else boxes)[0]
    if not files:
        raise InputError(f"No COCO annotation file in {folder}: name the JSON file.")
    names = [str(file.relative_to(folder)) for file in files]
    raise InputError(f"{folder} holds several COCO files: name one of {listed(names)}.")


def _coco_files(folder: Path) -> list[Path]:
    """Return the COCO files with labels of a folder and of its ``annotations``."""
    coco_files = []
    for file in sorted([*folder.glob("*"), *folder.glob("annotations/*")]):
        if not is_json(file) or not file.is_file():
            continue
        try:
            document = read_json(file)
        except InputError:
            continue
        if isinstance(document, dict) and {"images", "annotations"} <= document.keys():
            coco_files.append(file)
    return coco_files


def _is_coco(path: Path) -> bool:
    """Whether a path looks like COCO labels."""
    return is_json(path) if path.is_file() else bool(_coco_files(path))


COCO = LabelFormat("coco", "COCO JSON", read_coco_labels, _is_coco)
FORMATS = {fmt.name: fmt for fmt in (COCO, YOLO, VOC)}
NAMES = (*FORMATS, *LAYOUTS)


def label_format(name: str) -> LabelFormat:
    """Return a format of `FORMATS`, or a layout of a published data set, by its name.

    Parameters
    ----------
    name : str
        One of `NAMES`.

    Raises
    ------
    InputError
        If there is none of this name.
    """
    if name in FORMATS:
        return FORMATS[name]
    if name not in LAYOUTS:
        raise InputError(f"Expected `layout` to be one of {', '.join(NAMES)} but got {name!r}.")
    module, _, constant = LAYOUTS[name].partition(":")
    return getattr(import_module(f"{LAYOUT_PACKAGE}.{module}"), constant)


def load_labels(
    path: PathLike,
    img_dir: PathLike | None = None,
    *,
    layout: str | None = None,
    **options: Any,
) -> LabelSet:
    """Read the labels of a data set.

    Parameters
    ----------
    path : path-like
        File or folder with the labels: COCO JSON, YOLO txt, Pascal VOC XML, or one of the
        published layouts. CVAT and Label Studio export COCO and YOLO.
    img_dir : path-like, optional
        Folder of the images; by default where the format has them.
    layout : str, optional
        Name of the format, one of `NAMES`; by default the format that the files look like.
    **options
        Of the format, such as ``split="val"``.

    Returns
    -------
    LabelSet
        Images that nobody has labelled are apart from those that hold nothing.

    Raises
    ------
    InputError
        If there are no labels, they look like no format or several, they are malformed, or the
        format has no such option.

    Examples
    --------
    >>> import json, tempfile
    >>> labels = {
    ...     "images": [{"id": 7, "file_name": "7.jpg", "height": 480, "width": 640}],
    ...     "categories": [{"id": 3, "name": "car"}],
    ...     "annotations": [{"image_id": 7, "category_id": 3, "bbox": [10, 20, 30, 40]}],
    ... }
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "val.json"
    ...     _ = path.write_text(json.dumps(labels))
    ...     read = load_labels(path)
    >>> read.categories, len(read.boxes), read.boxes[0].xywh
    (('car',), 1, (10.0, 20.0, 30.0, 40.0))
    """
    path = Path(path)
    if not path.exists():
        raise InputError(f"No labels {path}: check the path.")
    refuse_archive(path)
    if path.is_fifo():
        raise InputError(
            f"{path} is a pipe. Expected label files, which are read more than once: write the "
            "labels into a file, and name that."
        )
    chosen = label_format(layout) if layout else _recognised(path)
    if img_dir is not None and not Path(img_dir).is_dir():
        raise InputError(f"No image folder {img_dir}: check `img_dir` (--img-dir).")
    if options:
        refuse_unknown(options, chosen.options, f"Labels {path}, which are read as {chosen.name},")
    return chosen.read(path, None if img_dir is None else Path(img_dir), **options)


def _recognised(path: Path) -> LabelFormat:
    """Return the format that files look like; `InputError` for none or several."""
    formats = [fmt for fmt in FORMATS.values() if fmt.recognises(path)]
    if not formats and is_nearly_yolo(path):
        return YOLO  # whose reader says what is wrong
    if len(formats) == 1:
        return formats[0]
    at = [k for k, name in enumerate(path.parts) if name == "images"]
    labels_folder = Path(*path.parts[: at[-1]], "labels", *path.parts[at[-1] + 1 :]) if at else path
    if at and labels_folder.is_dir():
        raise InputError(
            f"{path} holds images, and labels seem to lie in {labels_folder}: give that "
            "folder, or the data.yaml that names the categories."
        )
    folders = [folder for folder in sorted(path.glob("*")) if folder.is_dir()]
    splits = [] if formats else [str(folder) for folder in folders if _coco_files(folder)]
    if splits:
        raise InputError(
            f"{path} holds COCO files in its folders, as one a split: give one of {listed(splits)}."
        )
    looks = (
        f"like {' and '.join(fmt.name for fmt in formats)}" if formats else "like no known format"
    )
    raise InputError(
        f"The labels {path} look {looks}. Convert them with `autoeval convert-labels --layout`, or "
        "name their format in a task file, as `layout` of a source: one of "
        f"{', '.join(NAMES)}. From CVAT and Label Studio export COCO or YOLO."
    )
