"""Build a split of real images for CAPTURe, each as it is and with a black box over some objects.

The published split: FSC-147's images with the released boxes. Writes original/, occluded/,
metadata.json, warnings.txt and contact_sheet.png into the folder OUT.
"""

from __future__ import annotations

import argparse
from pathlib import Path

SHOWN = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("out", type=Path, metavar="OUT")
    parser.add_argument(
        "--images",
        type=Path,
        required=True,
        metavar="DIR",
        help="folder of the images; FSC-147's is images_384_VarV2",
    )
    parser.add_argument(
        "--metadata", type=Path, required=True, metavar="FILE", help="released real_metadata.json"
    )
    parser.add_argument(
        "--classes",
        type=Path,
        metavar="FILE",
        help="FSC-147's ImageClasses_FSC147.txt, to check object names",
    )
    parser.add_argument(
        "--annotations",
        type=Path,
        metavar="FILE",
        help="FSC-147's annotation_FSC147_384.json, whose points the oracle tasks need",
    )


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from autoeval.counting.capture.real import WARNINGS, build_real
    from autoeval.counting.capture.split import write_contact_sheet

    built = build_real(
        args.metadata, args.images, args.out, classes=args.classes, annotations=args.annotations
    )
    write_contact_sheet(built, args.out / "contact_sheet.png")
    warnings = built.warnings
    print(f"{len(built.items)} pairs in {args.out}, {len(warnings)} warnings")
    for line in warnings[:SHOWN]:
        print(f"  {line}")
    if len(warnings) > SHOWN:
        print(f"  ... all in {args.out / WARNINGS}")
    return 0
