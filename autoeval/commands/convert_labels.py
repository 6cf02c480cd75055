"""Write labels of any format as a COCO annotation file, and say what was left out."""

from __future__ import annotations

import argparse
from pathlib import Path

LAYOUTS = (  # as `autoeval.io.labels.any_format` lists its formats
    *("coco", "yolo", "voc", "bdd100k", "box_csv", "caltech", "citypersons", "cityscapes"),
    *("crowdhuman", "eurocity", "exdark", "kitti", "ua_detrac"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("labels", type=Path, help="file or folder: COCO, YOLO, Pascal VOC ...")
    parser.add_argument("out", type=Path, help="COCO JSON file to write")
    parser.add_argument(
        "--img-dir", type=Path, metavar="DIR", help="folder of the images (default: as the format)"
    )
    parser.add_argument(
        "--layout", metavar="NAME", help=f"default: by looking; one of {', '.join(LAYOUTS)}"
    )
    parser.add_argument(
        "--option", nargs="+", default=[], metavar="KEY=VALUE", help="of the format: split=val"
    )


def run(args: argparse.Namespace) -> int:
    """Read, write, and count."""
    from autoeval.io.labels.any_format import load_labels
    from autoeval.io.labels.writing import write_coco
    from autoeval.io.wording import listed, printable

    labels = load_labels(args.labels, args.img_dir, layout=args.layout, **_options(args.option))
    write_coco(labels, args.out)
    for warning in labels.warnings:
        print(f"note: {warning}")
    if labels.unlabelled:
        names = listed(labels.unlabelled)
        print(f"note: images without labels, left out: {len(labels.unlabelled)} ({names})")
    print(
        f"{len(labels.images)} images, {len(labels.boxes)} boxes of {len(labels.categories)} "
        f"categories ({listed(labels.categories)}); images in {printable(labels.img_dir or '?')}"
    )
    print(f"written: {args.out}")
    return 0


def _options(words: list[str]) -> dict[str, str]:
    from autoeval.errors import InputError

    pairs = [word.partition("=") for word in words]
    wrong = [word for word, (_, sign, _) in zip(words, pairs, strict=True) if not sign]
    if wrong:
        raise InputError(f"Expected --option as KEY=VALUE but got {wrong[0]!r}.")
    return {key: value for key, _, value in pairs}
