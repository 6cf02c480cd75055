"""Tiny hand-made data sets."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from pictures import write_coco_set


@pytest.fixture
def configs(request) -> Path:
    return request.config.rootpath / "configs"


@pytest.fixture
def make_coco(tmp_path) -> Callable[..., tuple[Path, Path]]:
    """Write a COCO data set; see `write_coco_set`."""
    return partial(write_coco_set, tmp_path)
