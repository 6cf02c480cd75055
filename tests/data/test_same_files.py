from autoeval.data.same_files import same_content


def test_equal_content_is_found_whatever_the_name(tmp_path):
    contents = {"a": b"one", "b": b"two", "c": b"three", "d": b"one", "e": b"", "f": b""}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    new = [tmp_path / name for name in "abce"] + [tmp_path / "missing"]
    own = [tmp_path / name for name in "df"] + [tmp_path / "missing"]
    assert same_content(new, own) == [tmp_path / "a"]
