"""Labels in any format: chosen by looking at the files, or by name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from autoeval.data.image_folder import refuse_archive
from autoeval.data.labels.coco_folder import COCO
from autoeval.data.labels.content import LabelFormat, LabelSet
from autoeval.data.labels.voc import VOC
from autoeval.data.labels.yolo import YOLO
from autoeval.data.layouts.driving_layouts import BDD100K, BOX_CSV, CITYSCAPES, KITTI
from autoeval.data.layouts.other_layouts import EXDARK, UA_DETRAC
from autoeval.data.layouts.person_layouts import CALTECH, CITYPERSONS, CROWDHUMAN, EUROCITY
from autoeval.errors import InputError

DRIVING = (BDD100K, BOX_CSV, CITYSCAPES, KITTI)
PEOPLE = (CALTECH, CITYPERSONS, CROWDHUMAN, EUROCITY)
LAYOUTS = sorted((*DRIVING, *PEOPLE, EXDARK, UA_DETRAC), key=lambda layout: layout.name)
FORMATS: dict[str, LabelFormat] = {fmt.name: fmt for fmt in (COCO, YOLO, VOC, *LAYOUTS)}


def load_labels(
    path: str | os.PathLike[str],
    img_dir: str | os.PathLike[str] | None = None,
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
        Name of the format, one of `FORMATS`; by default the format that the files look like.
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
    if layout and layout not in FORMATS:
        raise InputError(f"Expected `layout` to be one of {', '.join(FORMATS)} but got {layout!r}.")
    chosen = FORMATS[layout] if layout else _recognised(path)
    try:
        return chosen.read(path, None if img_dir is None else Path(img_dir), **options)
    except TypeError as error:
        if "unexpected keyword" not in str(error):
            raise
        unknown = str(error).rpartition("argument ")[2].strip("'")
        raise InputError(
            f"Labels {path} are read as {chosen.name}, which has no option `{unknown}`: leave it "
            "out."
        ) from error


def _recognised(path: Path) -> LabelFormat:
    found = [fmt for fmt in FORMATS.values() if fmt.recognises(path)]
    if len(found) == 1:
        return found[0]
    looks = f"like {' and '.join(fmt.name for fmt in found)}" if found else "like no known format"
    raise InputError(
        f"The labels {path} look {looks}. Name the format with `layout`, one of "
        f"{', '.join(FORMATS)}. From CVAT and Label Studio export COCO or YOLO."
    )
