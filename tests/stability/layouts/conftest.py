"""Small labelled folders."""

from functools import partial

import pytest
from pictures import write_files


@pytest.fixture
def write(tmp_path):
    """Write text files and dark images into a folder; see `write_files`."""
    return partial(write_files, tmp_path)
