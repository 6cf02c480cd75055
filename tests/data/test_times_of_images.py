"""When an image was taken, by the fields of a COCO file."""

import json
from datetime import datetime

import pytest

from autoeval.data.coco import read_coco


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"date_captured": "2026-03-02 09:15:07"}, datetime(2026, 3, 2, 9, 15, 7)),  # COCO
        ({"date_captured": "2026-03-02T09:15:07+00:00"}, datetime(2026, 3, 2, 9, 15, 7)),
        ({"datetime": "2026-03-02T09:15:07Z"}, datetime(2026, 3, 2, 9, 15, 7)),
        ({"datetime": "2026:03:02 09:15:07"}, datetime(2026, 3, 2, 9, 15, 7)),  # as EXIF writes it
        ({"date_captured": "", "datetime": "2026-03-02"}, datetime(2026, 3, 2)),
        ({"date_captured": "yesterday"}, None),
        ({"date_captured": None}, None),
        ({"date_captured": 1_772_000_000}, None),  # in which unit?
        ({}, None),
    ],
)
def test_the_time_of_an_image_is_read(fields, expected, tmp_path):
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"images": [{"id": 1, "file_name": "a.jpg", **fields}]}))
    assert read_coco(path).images[0].taken == expected
