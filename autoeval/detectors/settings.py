"""What makes a detector this detector: weights, architecture, and everything set at test time.

An estimator keeps the settings and their fingerprint, and refuses another detector. Adapters use
the hashes for their own settings.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mmengine.config import Config
    from torch import Tensor, nn

FINGERPRINT_LENGTH = 16
#: Parts of a model's config that change nothing at test time, or that are listed on their own.
LEFT_OUT = {"_scope_", "init_cfg", "pretrained", "train_cfg", "test_cfg", "data_preprocessor"}


def describe(model: nn.Module, config: Config, categories: Sequence[str]) -> dict[str, Any]:
    """List what the boxes of a detector depend on, one field for each thing that can differ.

    Parameters
    ----------
    model : nn.Module
        With its weights.
    config : Config
        Its config.
    categories : sequence of str
        What its labels index.

    Returns
    -------
    dict
        Flat, fit for JSON: ``weights`` and ``model`` (hashes), ``categories``, and dotted names
        under ``test_cfg``, ``data_preprocessor`` and ``test_pipeline``.
    """
    from autoeval.detectors.preprocessing import adapt_pipeline, step_name, test_pipeline

    described: dict[str, Any] = {
        "weights": hash_weights(model),
        "model": hash_json(_plain(config.model)),
        "categories": list(categories),
    }
    for name in ("test_cfg", "data_preprocessor"):
        part = config.model.get(name) or {}
        if isinstance(part, list | tuple):  # one of each head, as Co-DETR has them
            part = {str(k): of_head for k, of_head in enumerate(part)}
        options = {key: value for key, value in part.items() if key != "batch_augments"}
        described.update(_flat(name, _plain(options)))
    for number, step in enumerate(adapt_pipeline(test_pipeline(config))):
        name = f"test_pipeline.{number}.{step_name(step)}"
        options = {key: value for key, value in step.items() if key not in ("type", "backend_args")}
        described.update({name: "on", **dict(_flat(name, _plain(options)))})
    return described


def _plain(node: Any) -> Any:
    """Return a part of a config as JSON types, without what is left out."""
    if isinstance(node, Mapping):
        return {str(k): _plain(v) for k, v in node.items() if k not in LEFT_OUT}
    if isinstance(node, list | tuple):
        return [_plain(item) for item in node]
    return node if isinstance(node, str | int | float | bool | None) else str(node)


def _flat(name: str, node: Any) -> Iterator[tuple[str, Any]]:
    """Yield the leaves of nested dicts by dotted names, below a name.

    Examples
    --------
    >>> dict(_flat("test_cfg", {"nms": {"type": "nms"}, "score_thr": 0.05}))
    {'test_cfg.nms.type': 'nms', 'test_cfg.score_thr': 0.05}
    """
    if not isinstance(node, dict):
        yield name, node
        return
    for key, value in node.items():
        yield from _flat(f"{name}.{key}", value)


def fingerprint(settings: Mapping[str, Any]) -> str:
    """Shorten a description to a few hexadecimal digits, others for any difference in it.

    Parameters
    ----------
    settings : mapping of str to Any
        See `describe`.
    """
    return hash_json(dict(settings))[:FINGERPRINT_LENGTH]


def hash_json(content: Any) -> str:
    """Return the SHA-256 of the canonical JSON text of a value.

    Parameters
    ----------
    content : Any
        What JSON lacks is written by `str`.
    """
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()


def hash_weights(model: nn.Module, others: Mapping[str, Tensor] | None = None) -> str:
    """Return the SHA-256 of all parameters and buffers: names, types, shapes and bytes.

    Parameters
    ----------
    model : nn.Module
        On any device.
    others : mapping of str to Tensor, optional
        Further tensors by their names, which its boxes depend on and its state lacks.
    """
    import torch

    tensors: dict[str, Any] = {**model.state_dict(), **(others or {})}
    digest = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)};".encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
    return digest.hexdigest()
