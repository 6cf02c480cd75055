"""Which images there are: a predictions file does not name those on which nothing was found."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

from autoeval.errors import InputError
from autoeval.io.coco import read_coco_images
from autoeval.io.image_folder import load_image_folder
from autoeval.io.image_header import image_size
from autoeval.io.labels.content import LabelledImage
from autoeval.io.wording import listed
from autoeval.runtime.files import PathLike


def read_image_list(path: PathLike, warnings: list[str] | None = None) -> tuple[LabelledImage, ...]:
    """List images; none is opened.

    The path is a text file with a file name or an id a line (those that begin with # are comments),
    a COCO JSON file, whose annotations are not read, or a folder of images. `warnings` takes which
    entries of a JSON file are malformed and left out; without it they are refused.
    """
    path = Path(path)
    if path.is_dir():
        return tuple(
            LabelledImage(file.image_id, file.image_id, None) for file in load_image_folder(path)
        )
    if path.suffix.lower() == ".json":
        return read_coco_images(path, warnings)
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        raise InputError(f"No list of images {path}: check the path.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"Cannot read the list of images {path}: {error}.") from error
    names = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    twice = [name for name, n in Counter(names).items() if n > 1]
    if twice or not names:
        what = f"lists {len(twice)} images twice ({listed(twice)})" if twice else "lists no image"
        raise InputError(f"{path} {what}: expected a file name or an id a line, each once.")
    return tuple(LabelledImage(name, name, None) for name in names)


def with_sizes(images: tuple[LabelledImage, ...], folder: PathLike) -> tuple[LabelledImage, ...]:
    """Read the sizes of the images of a folder from their headers; None where one has none."""
    return tuple(
        replace(image, size=image_size(Path(folder) / image.file_name)) for image in images
    )
