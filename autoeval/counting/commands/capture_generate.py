"""Generate CAPTURe's synthetic split: patterns of dots and squares, and the same behind a box.

Writes original/, occluded/, metadata.json and contact_sheet.png into the folder OUT. The metadata
hold every key of the released ones, and the box, the hidden objects and the count inside the image.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from autoeval.errors import InputError

# As in `autoeval.counting.capture.synthetic`, which takes half a second to import.
LAYOUTS = ("circle", "triangle", "rectangle", "staggered", "cross")
RELEASED = ("circle", "triangle", "rectangle")
SIZE = 200


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("out", type=Path, metavar="OUT")
    parser.add_argument("--seed", type=int, default=0, help="of the boxes (default: %(default)s)")
    parser.add_argument(
        "--patterns",
        nargs="+",
        choices=sorted(LAYOUTS),
        default=list(RELEASED),
        metavar="P",
        help=f"of {', '.join(LAYOUTS)} (default: the published {', '.join(RELEASED)})",
    )
    parser.add_argument(
        "--counts",
        default="5-15",
        metavar="A-B",
        help="numbers of objects, a range or a list such as 6,10 (default: %(default)s)",
    )
    parser.add_argument(
        "--size",
        type=int,
        default=SIZE,
        metavar="PIXELS",
        help="side of the images (default: %(default)s)",
    )
    parser.add_argument(
        "--fit-canvas",
        action="store_true",
        help="keep every object inside the image; the published layout leaves one outside in a "
        "seventh of the items",
    )
    parser.add_argument(
        "--box-anywhere",
        action="store_true",
        help="centre boxes on objects outside the image, too, as the authors' generator does; such "
        "a box may hide nothing that can be seen",
    )


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from autoeval.counting.capture.split import write_contact_sheet
    from autoeval.counting.capture.synthetic import SyntheticSpec, write_synthetic

    if args.size < 40:
        raise InputError(f"Expected --size of at least 40 pixels but got {args.size}.")
    spec = SyntheticSpec(
        seed=args.seed,
        size=args.size,
        counts=read_counts(args.counts),
        patterns=tuple(dict.fromkeys(args.patterns)),
        fit_canvas=args.fit_canvas,
        box_anywhere=args.box_anywhere,
    )
    split = write_synthetic(spec, args.out)
    write_contact_sheet(split, args.out / "contact_sheet.png")
    outside = sum(i.record["in_canvas_count"] < i.ground_truth for i in split.items)
    hidden = sum(item.num_occluded or 0 for item in split.items) / len(split.items)
    print(f"{len(split.items)} pairs in {args.out}, {hidden:.2f} objects hidden on average")
    if outside:
        print(f"{outside} of them have an object outside the image (--fit-canvas avoids that)")
    return 0


def read_counts(text: str) -> tuple[int, ...]:
    """Read ``5-15`` or ``6,10`` as numbers from 1 up, or raise `InputError`."""
    if match := re.fullmatch(r"(\d+)-(\d+)", text):
        counts = tuple(range(int(match[1]), int(match[2]) + 1))
    elif re.fullmatch(r"\d+(,\d+)*", text):
        counts = tuple(sorted({int(part) for part in text.split(",")}))
    else:
        counts = ()
    if not counts or counts[0] < 1:
        raise InputError(f"Expected --counts like 5-15 or 6,10 but got '{text}'.")
    return counts
