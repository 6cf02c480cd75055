"""The detectors known by name: one config file each under ``configs/detectors``."""

from __future__ import annotations

from pathlib import Path

import autoeval
from autoeval.errors import InputError

FOLDER = Path(autoeval.__file__).resolve().parents[1] / "configs" / "detectors"


def detector_names() -> tuple[str, ...]:
    """Return the known names in alphabetical order.

    Raises
    ------
    InputError
        If the folder with the configs is not there.
    """
    if not FOLDER.is_dir():
        raise InputError(
            f"No folder {FOLDER}. The detectors known by name are part of the repository: install "
            "with `pip install -e .` from a checkout, or pass the path of an mmdet config file."
        )
    return tuple(sorted(path.stem for path in FOLDER.glob("*.py")))


def find_config(name_or_config: str) -> Path:
    """Return the config file of a known detector, or the given file.

    Raises
    ------
    InputError
        If it is neither.
    """
    path = Path(name_or_config).expanduser()
    if path.is_file():
        return path
    names = detector_names()
    if name_or_config in names:
        return FOLDER / f"{name_or_config}.py"
    raise InputError(
        f"No detector {name_or_config!r}: expected one of {', '.join(names)}, or the path of an "
        "mmdet config file."
    )
