"""Which images there are: a predictions file does not name those on which nothing was found."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from autoeval.errors import InputError
from autoeval.io.coco import read_coco_images
from autoeval.io.image_folder import load_image_folder
from autoeval.io.image_sizes import image_folders, with_sizes
from autoeval.io.json_file import is_json
from autoeval.io.labels.content import LabelledImage
from autoeval.io.wording import listed
from autoeval.runtime.files import PathLike


def read_image_list(path: PathLike, warnings: list[str] | None = None) -> tuple[LabelledImage, ...]:
    """List images, with their sizes by the headers of their files where the list has none.

    The path is a text file with a file name or an id a line (those that begin with # are comments),
    a COCO JSON file, whose annotations are not read, or a folder of images. The files that a text
    file names are relative to its folder or to the current one; for those of a JSON file see
    `image_folders`. `warnings` takes which entries of a JSON file are malformed and left out;
    without it they are refused.
    """
    path = Path(path)
    if path.is_dir():
        files = load_image_folder(path)
        return with_sizes([LabelledImage(f.image_id, f.image_id, None) for f in files], [path])
    if is_json(path):
        return with_sizes(read_coco_images(path, warnings), image_folders(path))
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
    return with_sizes([LabelledImage(name, name, None) for name in names], [path.parent, Path()])
