"""Python files of users, which are run with the modules that lie beside them."""

from __future__ import annotations

import hashlib
import importlib
import os
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType

from autoeval.runtime.files import PathLike

INSTALLED = ("site-packages", "dist-packages")  # folders whose modules stay as they are loaded
PROGRAM = ("__main__", __name__.partition(".")[0])  # never those of a file


@dataclass(frozen=True)
class _Imported:
    """What a file imported from its folder, by name, and the `digest_of` it with these modules."""

    modules: dict[str, ModuleType]
    digest: str


_IMPORTED: dict[Path, _Imported] = {}  # by the file


@contextmanager
def folder_modules(file: PathLike) -> Iterator[list[Path]]:
    """Let a Python file import modules of its folder, as ``python FILE.py`` does.

    Python imports a name once, so that the second of two files, each with a ``net.py`` in its
    folder, would compute with that of the first. Here each file has modules of its own. They are
    imported again by the next run only where one of these files was changed. Afterwards the paths
    are as before, and a module is found by its name (by a pickle, or a function that imports it
    again) only where no other file has another of that name, and this program has none.

    Parameters
    ----------
    file : path-like
        The file, which the body runs.

    Yields
    ------
    list of Path
        Once the body has ended, the files of the modules of its folder, sorted.

    Raises
    ------
    OSError
        If the file or its folder cannot be read.
    """
    file = Path(file).resolve()
    folder, files = str(file.parent), []
    names = {name.partition(".")[0] for name in os.listdir(folder)}.difference(PROGRAM)
    importlib.invalidate_caches()  # of folders in which a file was just written
    of_files = {id(module) for one in _IMPORTED.values() for module in one.modules.values()}
    _forget(name for name, module in sys.modules.items() if id(module) in of_files)
    hidden = _of_other_folders(names, folder)
    _forget(hidden)
    shared = _of_folder(names, folder)  # of the program, which may be run in this folder
    sys.path.insert(0, folder)
    try:
        earlier = _IMPORTED.pop(file, None)
        if earlier and earlier.digest == digest_of(file, _files_of(shared | earlier.modules)):
            sys.modules.update(earlier.modules | shared)
        yield files
        imported = _of_folder(names, folder)
        files += _files_of(imported)
        modules = {name: module for name, module in imported.items() if name not in shared}
        _IMPORTED[file] = _Imported(modules, digest_of(file, files))
    finally:
        if folder in sys.path:  # the file may have removed it
            sys.path.remove(folder)
        _forget(_of_folder(names, folder).keys() - shared.keys())
        sys.modules.update(hidden)
        sys.modules.update(_without_namesakes())


def digest_of(file: PathLike, modules: Iterable[Path] = ()) -> str:
    """Return the SHA-256 of a file, or of it with its modules, whose names count, too.

    Parameters
    ----------
    file : path-like
        The file.
    modules : iterable of Path
        Files that it imported, from its folder or folders in it; itself among them counts once.
    """
    file = Path(file).resolve()
    digest = hashlib.sha256(file.read_bytes())
    for path in sorted(set(modules) - {file}):
        name = os.path.relpath(path, file.parent)
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "gone"
        digest.update(f"\n{name} {content}".encode())
    return digest.hexdigest()


def _forget(names: Iterable[str]) -> None:
    for name in list(names):
        del sys.modules[name]


def _of_folder(names: Set[str], folder: str) -> dict[str, ModuleType]:
    """Return the loaded modules of a folder that have one of its names, with those inside them."""
    return _with_inner(name for name, home in _homes(names).items() if home == folder)


def _of_other_folders(names: Set[str], folder: str) -> dict[str, ModuleType]:
    """Return loaded modules of other folders that have one of its names, with those inside them.

    Those of Python and of installed packages are left out.
    """
    homes = _homes(names - sys.stdlib_module_names)
    return _with_inner(
        name
        for name, home in homes.items()
        if home is not None and home != folder and os.path.basename(home) not in INSTALLED
    )


def _homes(names: Set[str]) -> dict[str, str | None]:
    return {name: _home(sys.modules[name]) for name in names & sys.modules.keys()}


def _with_inner(names: Iterable[str]) -> dict[str, ModuleType]:
    """Return loaded modules with those inside them, by name."""
    outer = set(names)
    return {n: module for n, module in sys.modules.items() if n.partition(".")[0] in outer}


def _home(module: ModuleType) -> str | None:
    """Return the folder in which a module lies, or its package; None of one without a file."""
    content = getattr(module, "__dict__", {})
    return _folder_of(content.get("__path__"), content.get("__file__"))


def _folder_of(package: Iterable[str] | None, file: str | None) -> str | None:
    path = next(iter(package or ()), file)
    return os.path.dirname(os.path.realpath(path)) if path else None


def _files_of(modules: Mapping[str, ModuleType]) -> list[Path]:
    """Return the files of modules, sorted; a folder without ``__init__.py`` has none."""
    files = (getattr(module, "__file__", None) for module in modules.values())
    return sorted({Path(file).resolve() for file in files if file})


def _without_namesakes() -> dict[str, ModuleType]:
    """Return the modules of all files that no other module of their name is mistaken for."""
    homes: dict[str, set[str | None]] = defaultdict(set)
    for imported in _IMPORTED.values():
        for name, module in imported.modules.items():
            if "." not in name:
                homes[name].add(_home(module))
    for name, folders in homes.items():
        spec = None if name in sys.modules else PathFinder.find_spec(name)
        if spec is not None:
            folders.add(_folder_of(spec.submodule_search_locations, spec.origin))
    alone = {n for n, folders in homes.items() if len(folders) == 1 and n not in sys.modules}
    return {
        name: module
        for imported in _IMPORTED.values()
        for name, module in imported.modules.items()
        if name.partition(".")[0] in alone
    }
