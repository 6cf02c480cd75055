"""Build a split of real images for CAPTURe, each as it is and with a box over some objects."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autoeval.runtime.files import PathLike

SHOWN = 10


def build_real_split(
    out: PathLike,
    *,
    images: PathLike,
    metadata: PathLike,
    classes: PathLike | None = None,
    annotations: PathLike | None = None,
) -> None:
    """Build a split of real images for CAPTURe, each as it is and with a box over some objects.

    The published split: FSC-147's images with the released boxes. Writes original/, occluded/,
    metadata.json, warnings.txt and contact_sheet.png into the folder OUT.

    Parameters
    ----------
    out : path-like
        Folder to write.
    images : path-like
        Folder of the images; FSC-147's is images_384_VarV2.
    metadata : path-like
        Released real_metadata.json.
    classes : path-like, optional
        FSC-147's ImageClasses_FSC147.txt, to check object names.
    annotations : path-like, optional
        FSC-147's annotation_FSC147_384.json, whose points the oracle tasks need.
    """
    from autoeval.counting.capture.real import WARNINGS, build_real
    from autoeval.counting.capture.split import write_contact_sheet

    folder = Path(out)
    built = build_real(
        Path(metadata),
        Path(images),
        folder,
        classes=None if classes is None else Path(classes),
        annotations=None if annotations is None else Path(annotations),
    )
    write_contact_sheet(built, folder / "contact_sheet.png")
    warnings = built.warnings
    print(f"{len(built.items)} pairs in {folder}, {len(warnings)} warnings")
    for line in warnings[:SHOWN]:
        print(f"  {line}")
    if len(warnings) > SHOWN:
        print(f"  ... all in {folder / WARNINGS}")
