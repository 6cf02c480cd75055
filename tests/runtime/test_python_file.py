"""Files that import modules of their folder, as ``python FILE.py`` lets them."""

import importlib
import os
import pickle
import runpy
import sys

import pytest

from autoeval.runtime.python_file import digest_of, folder_modules

IMPORT = "import net_of_file\nNUMBER = net_of_file.NUMBER\n"


@pytest.fixture(autouse=True)
def modules_as_before():
    """Names that a test leaves in this process are not found by the next one."""
    before, path = dict(sys.modules), list(sys.path)
    yield
    assert sys.path == path
    for name in sys.modules.keys() - before.keys():
        if name.endswith("_of_file"):
            del sys.modules[name]


def write(folder, texts):
    """Write files by name, and return the first."""
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder / next(iter(texts))


def run(file):
    with folder_modules(file) as modules:
        defined = runpy.run_path(str(file))
    return defined, [os.path.relpath(path, file.parent) for path in modules]


def test_modules_packages_and_folders_are_found_and_named(tmp_path):
    file = write(
        tmp_path,
        {
            "mine.py": "import net_of_file\nfrom parts_of_file.head import HEAD\n"
            "from bare_of_file import tail\n",
            "net_of_file.py": "import deep_of_file\nNUMBER = 1\n",
            "deep_of_file.py": "",
            "parts_of_file/__init__.py": "",
            "parts_of_file/head.py": "HEAD = 2\n",
            "bare_of_file/tail.py": "",
            "not_imported_of_file.py": "1 / 0\n",
        },
    )
    defined, modules = run(file)
    assert (defined["net_of_file"].NUMBER, defined["HEAD"]) == (1, 2)
    assert modules == [
        "bare_of_file/tail.py",
        "deep_of_file.py",
        "net_of_file.py",
        "parts_of_file/__init__.py",
        "parts_of_file/head.py",
    ]


def test_each_file_has_its_own_module_of_a_name_and_none_of_another(tmp_path):
    files = [
        write(tmp_path / name, {"mine.py": IMPORT, "net_of_file.py": f"NUMBER = {number}\n"})
        for number, name in enumerate(("one", "two"), 1)
    ]
    assert [run(file)[0]["NUMBER"] for file in (*files, files[0])] == [1, 2, 1]
    alone = write(tmp_path / "three", {"mine.py": IMPORT})
    with pytest.raises(ModuleNotFoundError):  # those of the others are not its own
        run(alone)
    with pytest.raises(ModuleNotFoundError):  # of which file?
        importlib.import_module("net_of_file")


def test_one_file_runs_another(tmp_path):
    inner = write(tmp_path / "in", {"mine.py": IMPORT, "net_of_file.py": "NUMBER = 1\n"})
    within = (
        "import runpy\nfrom autoeval.runtime.python_file import folder_modules\n"
        f"with folder_modules({str(inner)!r}):\n    inner = runpy.run_path({str(inner)!r})\n"
    )
    for first, last in (("", IMPORT), (IMPORT, "")):
        texts = {"mine.py": first + within + last, "net_of_file.py": "NUMBER = 22\n"}
        defined, modules = run(write(tmp_path / f"out{len(first)}", texts))
        assert (defined["inner"]["NUMBER"], defined["NUMBER"]) == (1, 22)
        assert modules == ["net_of_file.py"]


def test_a_module_is_imported_again_where_it_changed(tmp_path):
    file = write(tmp_path, {"mine.py": IMPORT, "net_of_file.py": "NUMBER = 1\n"})
    first, same = run(file)[0]["net_of_file"], run(file)[0]["net_of_file"]
    assert first is same  # what it registers is registered once
    write(tmp_path, {"net_of_file.py": "NUMBER = 1 + 1\n"})
    assert run(file)[0]["NUMBER"] == 2
    write(tmp_path, {"net_of_file.py": "NUMBER = 33 / 0\n"})
    with pytest.raises(ZeroDivisionError):
        run(file)
    assert "net_of_file" not in sys.modules
    write(tmp_path, {"net_of_file.py": "NUMBER = 3 * 2 - 2\n"})
    assert run(file)[0]["NUMBER"] == 4
    file.unlink()
    with pytest.raises(FileNotFoundError):
        run(file)
    assert "net_of_file" not in sys.modules


def test_a_pickle_finds_the_module_of_the_only_file(tmp_path):
    text = "from only_of_file import Net\nnet = Net()\n"
    file = write(tmp_path, {"mine.py": text, "only_of_file.py": "class Net: pass\n"})
    net = run(file)[0]["net"]
    assert type(pickle.loads(pickle.dumps(net))) is type(net)


def test_the_modules_of_the_program_stay(tmp_path, monkeypatch):
    write(tmp_path / "program", {"net_of_file.py": "NUMBER = 1\n", "late_of_file.py": "N = 1\n"})
    monkeypatch.syspath_prepend(tmp_path / "program")
    of_program = importlib.import_module("net_of_file")
    texts = {"mine.py": IMPORT + "import late_of_file\n", "late_of_file.py": "N = 2\n"}
    file = write(tmp_path / "file", {**texts, "net_of_file.py": "NUMBER = 2\n"})
    defined, _ = run(file)
    assert (defined["NUMBER"], defined["late_of_file"].N) == (2, 2)
    assert sys.modules["net_of_file"] is of_program
    assert importlib.import_module("late_of_file").N == 1
    # a program in the folder of the file shares its modules with it, and they count as its own
    shared = write(tmp_path / "program", {"mine.py": IMPORT})
    defined, modules = run(shared)
    assert defined["net_of_file"] is of_program
    assert modules == ["late_of_file.py", "net_of_file.py"]


def test_what_python_and_installed_packages_have_stays(tmp_path):
    file = write(
        tmp_path,
        {
            "mine.py": "import json, numpy, autoeval.errors\n",
            "json.py": "1 / 0\n",
            "numpy/__init__.py": "1 / 0\n",
            "autoeval/__init__.py": "1 / 0\n",
        },
    )
    defined, modules = run(file)
    names = ("json", "numpy", "autoeval")
    assert all(defined[name] is sys.modules[name] for name in names)
    assert modules == []


def test_the_digest_is_that_of_the_file_and_of_its_modules(tmp_path):
    texts = {"mine.py": b"a", "net.py": b"b", "other.py": b"b"}
    for name, content in texts.items():
        (tmp_path / name).write_bytes(content)
    mine, net, other = (tmp_path / name for name in texts)
    # sha256sum of a file with one letter, a
    alone = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
    assert digest_of(mine) == digest_of(mine, [mine]) == alone
    different = {digest_of(mine, modules) for modules in ([], [net], [other], [net, other])}
    assert len(different) == 4
    assert digest_of(mine, [net, other]) == digest_of(mine, [other, net])
    net.write_bytes(b"c")
    assert digest_of(mine, [net]) not in different
