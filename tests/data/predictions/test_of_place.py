"""Which file of a folder holds the predictions of a place."""

import pytest

from autoeval.data.predictions.reading import file_of, files_by_place
from autoeval.errors import InputError


def test_any_format_is_found_once(tmp_path):
    names = ("a.json", "b.parquet", "c.v2.jsonl.gz", "notes.txt")
    for name in names:
        (tmp_path / name).touch()
    found = files_by_place(tmp_path)
    assert {place: path.name for place, path in found.items()} == dict(
        zip(("a", "b", "c.v2"), names, strict=False)
    )
    assert all(file_of(place, tmp_path) == path for place, path in found.items())
    (tmp_path / "a.parquet").touch()
    with pytest.raises(InputError, match=r"two files of a: a.json and a.parquet"):
        files_by_place(tmp_path)
    with pytest.raises(InputError, match=r"Expected one file a.json .* but found 2"):
        file_of("a", tmp_path)
