"""Small labelled folders."""

from functools import partial

import pytest
from pictures import write_files
from PIL import Image


@pytest.fixture
def write(tmp_path):
    """Write text files and dark images into a folder; see `write_files`."""
    return partial(write_files, tmp_path)


@pytest.fixture
def upright_photo(tmp_path):
    """A photograph stored on its side: 40 x 20 pixels that are shown as 20 x 40."""

    def write(name):
        exif = Image.Exif()
        exif[0x0112] = 6
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (40, 20)).save(path, exif=exif)

    return write
