"""Counters from configuration files."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import runpy
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from autoeval.counting.counters import Counter, missing_of_counter
from autoeval.counting.counters.adapters import FunctionCounter, TextCounter, TransformersAsk
from autoeval.counting.counters.endpoint import EndpointAsk
from autoeval.errors import InputError, install_command
from autoeval.runtime.files import PathLike, or_shipped, read_config
from autoeval.runtime.python_file import digest_of, folder_modules
from autoeval.words import refuse_unknown


def load_counter(
    path: PathLike, options: Mapping[str, Any] | None = None
) -> tuple[Counter, dict[str, Any]]:
    """Build the counter of a config file, and return it with what its answers depend on.

    Parameters
    ----------
    path : path-like
        A config file with ``counter = dict(type=..., ...)``: the dotted name of what makes a
        counter, and its arguments; modules beside the file are found. Or ``FILE.py:NAME``, a
        function ``NAME(image, prompt)`` of a file, or a counter that it makes or holds (see
        `FunctionCounter`).
    options : mapping, optional
        Changes to a config by dotted name, such as ``{"counter.score_thr": 0.5}``.

    Returns
    -------
    tuple of Counter and dict
        Answers depend on the ``counter``, its arguments, and on the ``fingerprint`` of the counter
        or its detector where there is one; of a function, and of what is made in a file beside the
        config, on the content of that file and of the modules of its folder that were imported.

    Raises
    ------
    InputError
        If the file cannot be read or run, makes no counter, or does not take the options.
    """
    file, _, name = str(path).rpartition(":")
    if file.endswith(".py"):
        if options:
            raise InputError(
                f"{path} is a function of a file, which has no options to change (--cfg-options)."
            )
        return _of_file(Path(file), name)
    from mmengine.config import Config  # which functions of files do without

    config = Config(read_config(path, ["counter"]))
    config.merge_from_dict(dict(options or {}))
    content = config.to_dict()
    arguments = content.get("counter")
    if not isinstance(arguments, dict) or not isinstance(arguments.get("type"), str):
        raise InputError(
            f"{path} describes no counter: expected `counter = dict(type='package.module.name', "
            f"...)`, or the name of a function in it, {path}:NAME."
        )
    refuse_unknown(content, ["counter"], str(path))
    home = or_shipped(path)
    with folder_modules(home) as modules:
        make = _find(arguments["type"], path)
        keywords = {key: value for key, value in arguments.items() if key != "type"}
        try:
            inspect.signature(make).bind(**keywords)
        except TypeError as error:
            raise InputError(f"{path}: wrong options for {arguments['type']}: {error}.") from error
        counter = make(**keywords)
        source = Path(getattr(sys.modules[make.__module__], "__file__", None) or os.devnull)
    _check_counter(counter, f"{path}: {arguments['type']}")
    model = counter if hasattr(counter, "fingerprint") else getattr(counter, "detector", None)
    fingerprint = getattr(model, "fingerprint", None)
    if fingerprint is None and source.resolve().parent == home.resolve().parent:
        fingerprint = digest_of(source, modules)
    return counter, {"counter": arguments, "fingerprint": fingerprint}


def _of_file(path: Path, name: str) -> tuple[Counter, dict[str, Any]]:
    """Return what a file calls `name` as a counter: a function, a class, or a counter."""
    try:
        path.read_bytes()
    except OSError as error:
        raise InputError(f"Cannot read {path}: {error.strerror}: check the path.") from None
    with folder_modules(path) as modules:
        try:
            defined = runpy.run_path(str(path))
        except Exception as error:
            raise InputError(f"{path} cannot be run: {type(error).__name__}: {error}.") from error
        if name not in defined:
            has = [n for n, value in defined.items() if not n.startswith("_") and callable(value)]
            raise InputError(f"{path} has no {name!r}; it has {', '.join(has) or 'no function'}.")
        member = defined[name]
        member = member() if inspect.isclass(member) else member
    counter = member if isinstance(member, Counter) else None
    if counter is None and callable(member):
        counter = FunctionCounter(member, name=name)
    if counter is None:
        _check_counter(member, f"{path}:{name}")
    assert counter is not None
    return counter, {
        "counter": f"{path.name}:{name}",
        "fingerprint": digest_of(path, modules),
    }


def _check_counter(candidate: Any, maker: str) -> None:
    if missing := missing_of_counter(candidate):
        raise InputError(
            f"{maker} made an object of {type(candidate).__name__}, which is no counter: it lacks "
            f"{' and '.join(missing)}."
        )


def detector(
    detector: str,
    *,
    checkpoint: str | None = None,
    score_thr: float = 0.3,
    name: str | None = None,
    merge: Mapping[str, str] | None = None,
    merge_iou_thr: float = 0.65,
    device: str = "cpu",
    cfg_options: Mapping[str, Any] | None = None,
    trust_checkpoint: bool = False,
) -> Counter:
    """Make a counter of a closed-set detector.

    Parameters
    ----------
    detector, checkpoint, device, cfg_options, trust_checkpoint
        See `autoeval.detectors.load_detector`.
    score_thr : float
        Boxes with a higher score count.
    name : str, optional
        Of the counter; by default that of the detector with the threshold.
    merge : mapping of str to str, optional
        New names of categories that are counted as one (see `MergedCategories`).
    merge_iou_thr : float
        IoU over which boxes of merged categories are one object.
    """
    from autoeval.counting.counters.mmdet import DetectorCounter, MergedCategories
    from autoeval.detectors import load_detector

    loaded: Any = load_detector(
        detector,
        checkpoint=checkpoint,
        device=device,
        cfg_options=cfg_options,
        trust_checkpoint=trust_checkpoint,
    )
    merged = None
    if merge:
        merged = MergedCategories(loaded.categories, merge, iou_thr=merge_iou_thr)
    stem = os.path.splitext(os.path.basename(detector))[0]
    name = name or f"{stem}@{score_thr:g}"
    return DetectorCounter(loaded, score_thr=score_thr, name=name, merged=merged)


def open_vocabulary(
    config: str,
    *,
    checkpoint: str | None = None,
    language_model: str | None = None,
    score_thr: float = 0.3,
    name: str | None = None,
    device: str = "cpu",
    cfg_options: Mapping[str, Any] | None = None,
    trust_checkpoint: bool = False,
) -> Counter:
    """Make a counter of a detector that takes words, such as Grounding DINO, from its mmdet config.

    Parameters
    ----------
    config : str
        Path of the config file, or name of one of mmdet's.
    checkpoint : str, optional
        File or address of its weights; without it the counter is refused.
    language_model : str, optional
        Text encoder in place of that of the config: a name on the hub, or a local folder.
    score_thr, name, device, cfg_options, trust_checkpoint
        See `detector`.

    Raises
    ------
    InputError
        If transformers or the weights are missing.
    """
    from autoeval.counting.counters.mmdet import OpenVocabularyCounter
    from autoeval.detectors.building.checkpoints import (
        find_checkpoint,
        load_weights,
        read_checkpoint,
    )
    from autoeval.detectors.loading import build_model, read_config

    if importlib.util.find_spec("transformers") is None:
        raise InputError(
            f"Detectors that take words need transformers: {install_command('open-vocabulary')}."
        )
    if checkpoint is None:
        raise InputError(f"{config} needs weights: pass --cfg-options counter.checkpoint=FILE.")
    options = dict(cfg_options or {})
    if language_model is not None:
        options["model.language_model.name"] = language_model
    read = read_config(config, options)
    model = build_model(read)
    path = find_checkpoint(checkpoint)
    load_weights(model, read_checkpoint(path, trust=trust_checkpoint)["state_dict"], path)
    stem = os.path.splitext(os.path.basename(config))[0]
    called = name or f"{stem}@{score_thr:g}"
    return OpenVocabularyCounter(model.to(device), read, score_thr=score_thr, name=called)


def _find(dotted: str, path: PathLike) -> Any:
    module, _, name = dotted.rpartition(".")
    try:
        factory = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(f"{path}: cannot import the counter {dotted!r}: {error}.") from error
    if not callable(factory):
        raise InputError(f"{path}: {dotted!r} cannot be called: expected a class or a function.")
    return factory


def endpoint(
    url: str,
    model: str,
    *,
    name: str | None = None,
    max_tokens: int | None = 4096,
    temperature: float | None = None,
    key_variable: str = "OPENAI_API_KEY",
    timeout: float = 120.0,
    retries: int = 5,
) -> TextCounter:
    """Make a counter of a model behind an OpenAI-compatible endpoint.

    Parameters
    ----------
    url, model, max_tokens, temperature, key_variable, timeout, retries
        See `EndpointAsk`.
    name : str, optional
        Of the counter; by default that of the model.
    """
    ask = EndpointAsk(
        url,
        model,
        max_tokens=max_tokens,
        temperature=temperature,
        key_variable=key_variable,
        timeout=timeout,
        retries=retries,
    )
    return TextCounter(ask, name=name or model)


def local_model(model: str, *, name: str | None = None, **options: Any) -> TextCounter:
    """Make a counter of a model that ``transformers`` runs here.

    Parameters
    ----------
    model : str
        See `TransformersAsk`.
    name : str, optional
        Of the counter; by default that of the model.
    **options
        See `TransformersAsk`.
    """
    return TextCounter(TransformersAsk(model, **options), name=name or model)
