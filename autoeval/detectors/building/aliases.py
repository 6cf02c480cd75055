"""The detectors known by name: one config file each under ``configs/detectors``.

Those in a folder there have its name before theirs: ``paper/retinanet_r50``. Files whose name
begins with ``_`` are parts of others.
"""

from __future__ import annotations

from pathlib import Path

from autoeval.detectors.adapters import adapters
from autoeval.errors import InputError
from autoeval.runtime.files import or_shipped, shipped_config


def detector_names() -> tuple[str, ...]:
    """Return the known names in alphabetical order."""
    folder = shipped_config("detectors")
    files = [path.relative_to(folder) for path in folder.rglob("[!_]*.py")]
    return tuple(sorted(path.with_suffix("").as_posix() for path in files))


def find_config(name_or_config: str) -> Path:
    """Return the config file of a known detector, or the given file.

    Parameters
    ----------
    name_or_config : str
        A name of `detector_names`, or a path.

    Raises
    ------
    InputError
        If it is neither.
    """
    path = or_shipped(Path(name_or_config).expanduser())
    if path.is_file():
        return path
    names = detector_names()
    if name_or_config in names:
        return shipped_config("detectors", f"{name_or_config}.py")
    if (path / "config.json").is_file():
        raise InputError(
            f"{name_or_config} is a folder with a config.json, as transformers saves a model: name "
            f"it hf:{name_or_config}."
        )
    forms = [f"{adapter.FORM} ({adapter.FRAMEWORK})" for adapter in adapters()]
    raise InputError(
        f"No detector {name_or_config!r}: expected one of {', '.join(names)}, or the path of an "
        f"mmdet config file. Of other frameworks: {', '.join(forms)}, or FILE.py:NAME of a "
        "BlackBoxDetector."
    )
