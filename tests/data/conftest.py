"""Small labelled folders."""

import cv2
import numpy as np
import pytest
from PIL import Image


@pytest.fixture
def write(tmp_path):
    """Write text files and dark images (by their suffix) into a folder."""

    def write(files, *, size=(20, 40)):
        for name, content in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.suffix in (".png", ".jpg"):
                cv2.imwrite(str(path), np.zeros((*size, 3), np.uint8))
            else:
                path.write_text(content)
        return tmp_path

    return write


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
