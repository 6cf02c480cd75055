import numpy as np

from autoeval.data.find_images import ImageArray
from autoeval.data.image_folder import ImageFile
from autoeval.data.same_files import copies_taken, later_copies, same_content, without_copies


def test_equal_content_is_found_whatever_the_name(tmp_path):
    contents = {"a": b"one", "b": b"two", "c": b"three", "d": b"one", "e": b"", "f": b""}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    new = [tmp_path / name for name in "abce"] + [tmp_path / "missing"]
    own = [tmp_path / name for name in "df"] + [tmp_path / "missing"]
    assert same_content(new, own) == [tmp_path / "a"]


def test_of_copies_the_first_is_kept(tmp_path):
    contents = {"a": b"one", "b": b"two", "c": b"one", "d": b"three", "e": b"one", "f": b""}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    paths = [tmp_path / name for name in (*contents, "missing", "gone")]
    assert later_copies(paths) == [2, 4]
    assert later_copies([paths[0]] * 2) == [1]
    array = ImageArray("g", np.zeros((2, 2, 3), np.uint8))
    images = [*(ImageFile(path.name, path) for path in paths), array, array]
    kept, (told,) = without_copies(images)
    assert [image.image_id for image in kept] == ["a", "b", "d", "f", "missing", "gone", "g", "g"]
    assert told.startswith("2 of 10 images are copies") and told.endswith(
        "(c, e), and were left out"
    )
    assert without_copies(kept) == (kept, ()) and copies_taken(kept) == ()
    assert copies_taken(images)[0].startswith("2 of 10 images are copies")
