"""Labels in any format: chosen by looking at the files, or by name."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from autoeval.errors import InputError
from autoeval.io.image_folder import refuse_archive
from autoeval.io.labels.coco_folder import COCO
from autoeval.io.labels.content import LabelFormat, LabelSet
from autoeval.io.labels.voc import VOC
from autoeval.io.labels.yolo import YOLO
from autoeval.runtime.files import PathLike

FORMATS = {fmt.name: fmt for fmt in (COCO, YOLO, VOC)}
# The layouts of published data sets are read where they are named: `module:constant` of each.
LAYOUTS = {
    "bdd100k": "driving_layouts:BDD100K",
    "box_csv": "driving_layouts:BOX_CSV",
    "caltech": "person_layouts:CALTECH",
    "citypersons": "person_layouts:CITYPERSONS",
    "cityscapes": "driving_layouts:CITYSCAPES",
    "crowdhuman": "person_layouts:CROWDHUMAN",
    "eurocity": "person_layouts:EUROCITY",
    "exdark": "other_layouts:EXDARK",
    "kitti": "driving_layouts:KITTI",
    "ua_detrac": "other_layouts:UA_DETRAC",
}
LAYOUT_PACKAGE = "autoeval.stability.layouts"
NAMES = (*FORMATS, *LAYOUTS)


def label_format(name: str) -> LabelFormat:
    """Return a format of `FORMATS`, or a layout of a published data set, by its name."""
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
    """
    path = Path(path)
    if not path.exists():
        raise InputError(f"No labels {path}: check the path.")
    refuse_archive(path)
    chosen = label_format(layout) if layout else _recognised(path)
    try:
        return chosen.read(path, None if img_dir is None else Path(img_dir), **options)
    except TypeError as error:
        if not any(of in str(error) for of in ("unexpected keyword", "multiple values")):
            raise
        unknown = str(error).rpartition("argument ")[2].strip("'")
        raise InputError(
            f"Labels {path} are read as {chosen.name}, which has no option `{unknown}`: leave it "
            "out."
        ) from error


def _recognised(path: Path) -> LabelFormat:
    formats = [fmt for fmt in FORMATS.values() if fmt.recognises(path)]
    if len(formats) == 1:
        return formats[0]
    looks = (
        f"like {' and '.join(fmt.name for fmt in formats)}" if formats else "like no known format"
    )
    raise InputError(
        f"The labels {path} look {looks}. Convert them with `autoeval convert-labels --layout`, or "
        "name their format in a task file, as `layout` of a source: one of "
        f"{', '.join(NAMES)}. From CVAT and Label Studio export COCO or YOLO."
    )
