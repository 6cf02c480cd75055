"""Which category each label of a detector stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mmengine.config import Config
from mmengine.fileio import list_from_file
from torch import nn

from autoeval.detectors import ops
from autoeval.errors import InputError

if TYPE_CHECKING:
    from mmdet.models.detectors import BaseDetector


def coco_categories() -> tuple[str, ...]:
    """Return the 80 categories of COCO in the order of the official checkpoints' labels."""
    ops.register()
    from mmdet.datasets import CocoDataset

    return tuple(CocoDataset.METAINFO["classes"])


def find_categories(
    model: nn.Module, config: Config, meta: Mapping[str, Any], classes: Sequence[str] = ()
) -> tuple[str, ...]:
    """Find the categories of a detector.

    Those given come first, then the list in `meta` of the checkpoint, then the one in the
    ``metainfo`` of the config's test data set: the first that is as long as the head has classes,
    since a checkpoint that another training started from may list its categories. Then those of
    that data set's type (VOC, Cityscapes, ...) and, where no list is named at all, COCO's, if they
    are as many. A detector that takes words finds what it is given, however many: there the
    ``metainfo`` comes before the checkpoint, as in mmdet, which asks for the words of its data.

    Parameters
    ----------
    model : nn.Module
        The model, whose head says how many classes there are.
    config : Config
        Its config.
    meta : mapping
        ``meta`` of the checkpoint.
    classes : sequence of str
        Those that a user named; no other list is then read.

    Raises
    ------
    InputError
        If no list is as long as the head has classes.
    """
    dataset_meta = meta.get("dataset_meta") or {}
    dataset = {str(key).lower(): value for key, value in dataset_meta.items()}
    named = {
        "--classes": tuple(classes),
        "the checkpoint's dataset_meta": _names(dataset.get("classes") or meta.get("CLASSES")),
        "the config's metainfo": _from_config(config),
    }
    named = {"--classes": tuple(classes)} if classes else {k: v for k, v in named.items() if v}
    if takes_words(model):
        return next(reversed(named.values()), None) or _of_type(config) or coco_categories()
    n_classes = count_classes(model)
    if named and n_classes is None:
        return next(iter(named.values()))
    usual: tuple[tuple[str, ...], ...] = () if classes else (_of_type(config),)
    if not named:
        proposals = ("object",) if type(model).__name__ == "RPN" else ()
        usual = (*usual, coco_categories(), proposals)
    fitting = [names for names in (*named.values(), *usual) if len(names) == n_classes]
    if n_classes and fitting:
        return fitting[0]
    lists = [f"{where} lists {len(names)} categories" for where, names in named.items()]
    raise InputError(
        f"The detector's head has {n_classes} classes, but "
        f"{' and '.join(lists) or 'its checkpoint and config list none'}. Name them in the order "
        "of its labels: --classes FILE, one in a line, or "
        "test_dataloader = dict(dataset=dict(metainfo=dict(classes=(...)))) in the config."
    )


def count_classes(model: nn.Module) -> int | None:
    """Return the number of classes of the head that gives the boxes; None where it does not say.

    Parameters
    ----------
    model : nn.Module
        Of mmdet.
    """
    owner = getattr(model, "roi_head", model)
    for name in ("bbox_head", "mask_head", "panoptic_head"):
        head = getattr(owner, name, None)
        if isinstance(head, nn.ModuleList):
            head = head[-1]
        for count in ("num_classes", "num_things_classes"):
            if isinstance(getattr(head, count, None), int):
                return getattr(head, count)
    return None


def _from_config(config: Config) -> tuple[str, ...]:
    classes = (_dataset(config).get("metainfo") or {}).get("classes")
    if isinstance(classes, str) and Path(classes).is_file():  # mmengine reads it
        classes = list_from_file(classes)
    return _names(classes)


def _of_type(config: Config) -> tuple[str, ...]:
    """Return the categories that mmdet lists for the type of the test data set."""
    ops.register()
    import mmdet.datasets  # noqa: F401  (fills the registry)
    from mmdet.registry import DATASETS

    kind = _dataset(config).get("type")
    data_set = DATASETS.get(kind) if isinstance(kind, str) else kind
    return _names(getattr(data_set, "METAINFO", {}).get("classes"))


def _dataset(config: Config) -> Mapping[str, Any]:
    """Return the settings of the test data set, of the first one where there are several."""
    dataset = (config.get("test_dataloader") or {}).get("dataset") or {}
    while "dataset" in dataset or dataset.get("datasets"):
        dataset = dataset["dataset"] if "dataset" in dataset else dataset["datasets"][0]
    return dataset


def _names(classes: Any) -> tuple[str, ...]:
    """Return names as a tuple; a single category may come as a bare string."""
    return (classes,) if isinstance(classes, str) else tuple(classes or ())


def takes_words(model: object) -> bool:
    """Return whether a model takes the words of what it looks for.

    Parameters
    ----------
    model : object
        Of mmdet.
    """
    return hasattr(model, "language_model")


def prompt(model: BaseDetector, categories: Sequence[str]) -> dict[str, Any]:
    """Return what data samples carry for a model that takes words, nothing for others.

    Parameters
    ----------
    model : BaseDetector
        Of mmdet.
    categories : sequence of str
        What it looks for.

    Raises
    ------
    InputError
        If the categories make a longer text than the model reads at once.
    """
    if not takes_words(model):
        return {}
    if not takes_words_in_parts(model):
        text = ". ".join(categories) + "."
        n_tokens = len(model.language_model.tokenizer(text)["input_ids"])
        limit = model.language_model.max_tokens
        if n_tokens > limit:
            raise InputError(
                f"{type(model).__name__} reads {limit} tokens at once, but its {len(categories)} "
                f"categories make {n_tokens}: name fewer with --classes FILE, or let it ask for "
                "some at a time with --cfg-options model.test_cfg.chunked_size=40."
            )
    return {"text": tuple(categories), "custom_entities": True}


def takes_words_in_parts(model: BaseDetector) -> bool:
    """Whether a model takes some of its words at a time, which it does image by image.

    Parameters
    ----------
    model : BaseDetector
        Of mmdet.
    """
    return takes_words(model) and model.test_cfg.get("chunked_size", -1) > 0
