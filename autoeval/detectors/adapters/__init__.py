"""Detectors of other frameworks, each run by the framework's own inference.

A file here is an adapter. It imports its framework only inside its functions, and has

- a docstring that begins with what it runs, and ``FORM``, what is typed behind ``--detector``, such
  as ``torchvision:NAME``, for messages and `autoeval list detectors`. With ``PREFIX:FOLDER`` a fit
  keeps the absolute path of a folder that is there,
- ``EXTRA``: the extra that installs the framework, for the message where it is absent (`needs`);
  empty where there is nothing to install,
- ``PACKAGE``: the package whose version is noted with what it found, by the name it is imported by,
- ``FRAMEWORK``: what its detectors state as ``settings["framework"]``,
- ``SCORE_THRESHOLD``: the name of the threshold of scores in their settings: boxes from a lower one
  are those of the same detector,
- ``SETTINGS``: the fields of a `DetectorSpec` that it reads, besides the name,
- ``named(name)``: whether ``--detector NAME`` is its own, without touching the framework,
- ``load(spec)``: the `BlackBoxDetector` of a spec,
- ``OBJECTS``: beginnings of the names of modules whose objects it takes; ``()`` for none,
- ``wrap(model)``: the `BlackBoxDetector` of such an object, unless there are none.

Nothing else registers it. Its extra is in ``setup.cfg``, a row of it in docs/how-to/network.md.
``tests/detectors/adapters`` has a test for each, against the call of the framework itself.
"""

from __future__ import annotations

import math
import pkgutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from autoeval.detectors.black_box import Find
from autoeval.errors import InputError, install_command
from autoeval.words import refuse_unknown

if TYPE_CHECKING:
    from autoeval.detectors.black_box import BlackBoxDetector

ACCELERATOR_BATCH = 16
SHARES = ("conf", "iou", "threshold")  # and what torchvision calls ``..._thresh``


def adapters() -> Iterator[Any]:
    """Yield the adapters, modules of this package."""
    for module in pkgutil.iter_modules(__path__):
        yield import_module(f"{__name__}.{module.name}")


def adapter_of(name: str) -> Any:
    """Return the adapter of ``--detector NAME``; None for a config or a known name of mmdet.

    Parameters
    ----------
    name : str
        Of the detector.

    Examples
    --------
    >>> adapter_of("hf:folder").EXTRA, adapter_of("retinanet_r50")
    ('transformers', None)
    """
    return next((adapter for adapter in adapters() if adapter.named(name)), None)


def wrap_object(model: Any) -> BlackBoxDetector | None:
    """Return a detector for the object of a framework; None for one that no adapter takes.

    Parameters
    ----------
    model : Any
        A model, or a tuple with one in front.

    Raises
    ------
    InputError
        If an adapter takes it, and it is no detector that it can run.
    """
    parts = model if isinstance(model, tuple) and model else (model,)
    modules = [kind.__module__ for kind in type(parts[0]).__mro__]
    for adapter in adapters():
        if any(f"{name}.".startswith(adapter.OBJECTS) for name in modules):
            return adapter.wrap(model)
    return None


@contextmanager
def needs(extra: str) -> Iterator[None]:
    """Return a context for importing a framework, which names the extra where that fails.

    Parameters
    ----------
    extra : str
        That installs it.

    Raises
    ------
    InputError
        If an import in the body fails.
    """
    try:
        yield
    except (ImportError, RuntimeError) as error:
        raise InputError(
            f"This detector needs the extra '{extra}', and it cannot be imported "
            f"({type(error).__name__}: {error}): {install_command(extra)}."
        ) from error


def chosen(defaults: Mapping[str, Any], choices: Mapping[str, Any] | None, detector: str) -> dict:
    """Return options with those that are given in place of their defaults.

    Parameters
    ----------
    defaults : mapping
        All options that there are.
    choices : mapping, optional
        Those that a user chose.
    detector : str
        Whose options they are, for messages.

    Raises
    ------
    InputError
        For one that there is not, and for a threshold outside [0, 1]: nothing would be found.
    """
    refuse_unknown(choices or {}, sorted(defaults), f"--cfg-options of {detector}")
    for name, value in (choices or {}).items():
        is_share = name in SHARES or name.endswith("_thresh")
        if is_share and not (isinstance(value, int | float) and 0 <= value <= 1):
            raise InputError(f"Expected {name} of {detector} in [0, 1] but got {value!r}.")
    return {**defaults, **(choices or {})}


def usable_device(name: str | None) -> str:
    """Return a device, by default a GPU where torch sees one.

    Parameters
    ----------
    name : str, optional
        As torch names it.

    Raises
    ------
    InputError
        If it is not there.
    """
    import torch

    name = name or ("cuda" if torch.cuda.is_available() else "cpu")
    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError) as error:
        raise InputError(f"Cannot use device {name!r}: {error}") from error
    return name


def in_batches(find: Find, device: str) -> Find:
    """Let a function see as many images at a time as serves the device.

    On a CPU images go one by one: a batch of a network rounds differently there and is not faster.
    On an accelerator `ACCELERATOR_BATCH` go together, and half as many each time that its memory
    runs out.

    Parameters
    ----------
    find : callable
        As that of a `BlackBoxDetector`.
    device : str
        As torch names it.

    Returns
    -------
    callable
        The same for any number of images.
    """
    most = 1 if device.startswith("cpu") else ACCELERATOR_BATCH

    def find_all(images: Sequence[np.ndarray]) -> tuple[list[Any], ...]:
        nonlocal most
        answers: list[Any] = []
        while len(answers) < len(images):
            try:
                parts = find(images[len(answers) : len(answers) + most])
            except Exception as error:
                if most == 1 or type(error).__name__ != "OutOfMemoryError":
                    raise
                most = math.ceil(most / 2)
                continue
            answers += zip(*parts, strict=True)
        return tuple([answer[part] for answer in answers] for part in range(3))

    return find_all
