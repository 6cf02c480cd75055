"""Write labels of any format as a COCO annotation file, and say what was left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from autoeval.errors import InputError

if TYPE_CHECKING:
    from autoeval.runtime.files import PathLike


def convert_labels(
    labels: PathLike,
    output: PathLike,
    *,
    img_dir: PathLike | None = None,
    layout: str | None = None,
    option: Mapping[str, str] | None = None,
) -> None:
    """Write labels of any format as a COCO annotation file, and say what was left out.

    Parameters
    ----------
    labels : path-like
        File or folder: COCO, YOLO, Pascal VOC, or the published layout of a data set.
    output : path-like
        COCO JSON file to write.
    img_dir : path-like, optional
        Folder of the images (default: as the format has them).
    layout : str, optional
        One of coco, yolo, voc, bdd100k, box_csv, caltech, citypersons, cityscapes, crowdhuman,
        eurocity, exdark, kitti, ua_detrac (default: by looking).
    option : mapping of str to str, optional
        Of the format, as KEY=VALUE such as split=val.
    """
    from autoeval.io.coco import write_coco
    from autoeval.io.labels.any_format import load_labels
    from autoeval.words import listed, printable

    for name in {"path", "img_dir", "layout"} & set(option or {}):
        raise InputError(f"--option {name}=VALUE is no option of a format: see --help.")
    content = load_labels(labels, img_dir, layout=layout, **(option or {}))
    write_coco(content, output)
    for warning in content.warnings:
        print(f"note: {warning}")
    if content.unlabelled:
        names = listed(content.unlabelled)
        print(f"note: images without labels, left out: {len(content.unlabelled)} ({names})")
    print(
        f"{len(content.images)} images, {len(content.boxes)} boxes of {len(content.categories)} "
        f"categories ({listed(content.categories)}); images in {printable(content.img_dir or '?')}"
    )
    print(f"written: {output}")
