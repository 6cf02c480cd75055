"""Build a split of real images for CAPTURe, each as it is and with a black box over some objects.

With --metadata, the published split: FSC-147's images with the released boxes. With --coco or
--points, a split of one's own: images whose objects form a regular pattern are chosen, and a box
is placed that leaves the pattern readable. Writes original/, occluded/, metadata.json,
problems.txt and contact_sheet.png into the folder OUT.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autoeval.counting.capture.real import Built

SHOWN = 10
REGULARITY, OBJECTS = 0.5, 8  # as in `ImageChoice`, which takes a second to import


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
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--metadata", type=Path, metavar="FILE", help="released real_metadata.json")
    source.add_argument("--coco", type=Path, metavar="FILE", help="COCO annotations")
    source.add_argument(
        "--points", type=Path, metavar="FILE", help='JSON: image name -> {"points": [[x, y], ...]}'
    )
    parser.add_argument(
        "--classes",
        type=Path,
        metavar="FILE",
        help="FSC-147's ImageClasses_FSC147.txt, to check object names (with --metadata)",
    )
    parser.add_argument(
        "--annotations",
        type=Path,
        metavar="FILE",
        help="FSC-147's annotation_FSC147_384.json, whose points the oracle tasks need (with "
        "--metadata)",
    )
    own = parser.add_argument_group("a split of one's own")
    own.add_argument("--object", default="objects", help="plural of what --points are")
    own.add_argument("--min-regularity", type=float, default=REGULARITY, metavar="R")
    own.add_argument("--min-objects", type=int, default=OBJECTS, metavar="N")
    own.add_argument("--seed", type=int, default=0, help="of the boxes")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from autoeval.counting.capture.real import PROBLEMS, build_real
    from autoeval.counting.capture.split import write_contact_sheet

    if args.metadata:
        built = build_real(
            args.metadata,
            args.images,
            args.out,
            classes=args.classes,
            annotations=args.annotations,
        )
        noted: list[str] = []
    else:
        built, noted = _own(args)
    write_contact_sheet(built.split, args.out / "contact_sheet.png")
    problems = [*noted, *built.problems]
    print(f"{len(built.split.items)} pairs in {args.out}, {len(problems)} problems")
    for line in problems[:SHOWN]:
        print(f"  {line}")
    if len(problems) > SHOWN:
        print(f"  ... all in {args.out / PROBLEMS}")
    return 0


def _own(args: argparse.Namespace) -> tuple[Built, list[str]]:
    from autoeval.counting.capture.own import (
        ImageChoice,
        build_own,
        coco_candidates,
        point_candidates,
    )

    if args.coco:
        found, noted = coco_candidates(args.coco, args.images)
    else:
        found, noted = point_candidates(args.points, args.images, object_name=args.object)
    choice = ImageChoice(
        min_regularity=args.min_regularity, min_objects=args.min_objects, seed=args.seed
    )
    return build_own(found, args.out, choice), noted
