"""A detector's configuration, by a known name, from a file or of mmdet's own, and its model."""

from __future__ import annotations

import importlib.util
import inspect
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.error import URLError

from mmengine.config import Config
from torch import Tensor

from autoeval.detectors import ops
from autoeval.detectors.building.aliases import find_config
from autoeval.errors import InputError, first_line, install_command
from autoeval.runtime.files import or_shipped, read_json
from autoeval.words import listed

if TYPE_CHECKING:
    from mmdet.models.detectors import BaseDetector

#: What a knowledge distillation's config says of its teacher.
TEACHERS = (
    "teacher_config",
    "teacher_ckpt",
    "teacher_backbone",
    "teacher_neck",
    "teacher_bbox_head",
    "eval_teacher",
)
#: What panoptic segmentation puts on top of Mask R-CNN.
PANOPTIC = ("semantic_head", "panoptic_fusion_head")
NO_CONFIG = "Expected an mmdet config; a BlackBoxDetector in it is named as FILE.py:NAME."
#: What precedes the path of a config among those that mmdet brings along.
OF_MMDET = ("mmdet::", "configs/")
#: Packages that some detectors need and that come with no other, and how they are installed.
EXTRAS = {
    "transformers": install_command("open-vocabulary"),
    "nltk": "pip install nltk",
    "mmpretrain": "pip install mmpretrain model-index, with a torchvision that fits torch",
    "modelindex": "pip install model-index",
    "timm": "pip install timm",
    "detectron2": "see https://github.com/facebookresearch/detectron2",
    "torchvision": "a torchvision that fits torch",
    "skimage": "pip install scikit-image",
}
LOCAL_ENCODER = (
    "Name a folder that has the text encoder: --cfg-options model.language_model.name=FOLDER, for "
    "GLIP model.bbox_head.lang_model_name=FOLDER, too."
)
MANY = 0.1  # share of images with the name of a training image
ALIKE = 0.75  # of two names of settings, by difflib: score_thresh is score_thr
LARGEST = 100 * 2**20  # bytes of a training file that is read for the names in it


def unwrap(config: Config) -> None:
    """Replace a config's model, in place, by the detector within, where it is a wrapper.

    The student of a knowledge distillation (`LD`, `LAD`) is left as the detector of one stage that
    it is; of a panoptic one stays what finds the instances. Of a semi-supervised pair
    (`SoftTeacher`) stays the one that mmdet tests, and ``config.weights_prefix`` says where a
    checkpoint of the pair has its weights.

    Parameters
    ----------
    config : Config
        Changed in place.

    Raises
    ------
    InputError
        If the model is a tracker around a detector.
    """
    model = config.model
    inner, is_pair = model.get("detector"), "semi_test_cfg" in model
    if isinstance(inner, dict) and "type" in inner and not is_pair:
        raise InputError(
            f"{model.get('type')}, the model of {config.filename}, is a tracker around "
            f"{inner['type']}: pass the config and the checkpoint of that detector."
        )
    if model.get("teacher_config") or model.get("teacher_backbone"):
        for name in TEACHERS:
            model.pop(name, None)
        model.type = "SingleStageDetector"
    elif model.get("type") == "PanopticFPN":
        for name in PANOPTIC:
            model.pop(name, None)
        model.type = "MaskRCNN"
    elif isinstance(model.get("test_cfg"), dict) and model.test_cfg.get("instance_on") is False:
        model.test_cfg.instance_on = True
    elif is_pair:
        config.weights_prefix = (model.semi_test_cfg or {}).get("predict_on", "teacher") + "."
        config.model = model.detector
        if not config.model.get("data_preprocessor"):  # it is left to that of the wrapper
            config.model.data_preprocessor = model.data_preprocessor.data_preprocessor


def deployed_weights(weights: Mapping[str, Tensor], config: Config) -> Mapping[str, Tensor]:
    """Select the weights of the detector within a pair from those of the pair.

    A checkpoint that holds the detector alone stays as it is.

    Parameters
    ----------
    weights : mapping of str to Tensor
        Of a checkpoint, by name.
    config : Config
        See `unwrap`.
    """
    prefix = config.get("weights_prefix")
    if prefix is None or not any(name.startswith(prefix) for name in weights):
        return weights
    return {
        name.removeprefix(prefix): value
        for name, value in weights.items()
        if name.startswith(prefix)
    }


def read_config(
    name_or_config: str | os.PathLike[str], cfg_options: Mapping[str, Any] | None = None
) -> Config:
    """Read a detector's config, with changes, and reduce it to the detector that is deployed.

    Its model needs no weights other than those of the checkpoint, and is unwrapped; see `unwrap`.

    Parameters
    ----------
    name_or_config : str or path-like
        A known name, the path of a config file, or that of one of the installed mmdet's, such as
        ``mmdet::retinanet/retinanet_r50_fpn_1x_coco.py`` or ``configs/retinanet/...``.
    cfg_options : mapping, optional
        Changes by dotted names.

    Raises
    ------
    InputError
        If there is no such file, it fails, it is no config of a detector, or an option has no
        effect.
    """
    ops.register()  # before what the config imports
    path = find_config_file(str(name_or_config))
    try:
        with _importing_from_folder_of(path):
            config = Config.fromfile(path)
            _refuse_modules_of_another(config)
        of_file = set(_key_paths(config.get("model")))
        config.merge_from_dict(dict(cfg_options or {}))
    except (Exception, SystemExit) as error:  # the file is a program: it can fail in any way
        raise InputError(
            f"Cannot use {path} as a detector's config: {explained(error).rstrip('.')}. {NO_CONFIG}"
        ) from error
    if not isinstance(config.get("model"), dict):
        raise InputError(f"Cannot use {path} as a detector's config: no `model`. {NO_CONFIG}")
    _refuse_idle(config, of_file)
    if config.get("data_preprocessor"):  # mmengine's runner gives it to a model that has none
        idle = [name for name in cfg_options or {} if name.partition(".")[0] == "data_preprocessor"]
        if idle and config.model.get("data_preprocessor"):
            raise InputError(
                f"{listed(idle)} has no effect: the model of {path} has a data_preprocessor of its "
                f"own. Expected model.{idle[0]}."
            )
        config.model.setdefault("data_preprocessor", config.data_preprocessor)
    unwrap(config)
    for part in dicts_in(config.model):
        _without_training(part)
    return config


def _key_paths(node: Any) -> Iterator[tuple[str, ...]]:
    """Yield where each key of nested dicts and lists is, as the keys that lead there.

    Examples
    --------
    >>> [".".join(path) for path in _key_paths({"a": [{"b": 1}]})]
    ['a', 'a.0', 'a.0.b']
    """
    parts = enumerate(node) if isinstance(node, list | tuple) else getattr(node, "items", list)()
    for key, value in parts:
        yield (str(key),)
        yield from ((str(key), *path) for path in _key_paths(value))


def _refuse_idle(config: Config, of_file: set[tuple[str, ...]]) -> None:
    """Refuse a test setting that a config lacks and that no class of its model reads.

    mmdet leaves settings unread that it does not know, such as ``score_thr`` of a detector of two
    stages, which has it under ``rcnn``. One of a similar name, or below, is named in the message.

    Parameters
    ----------
    config : Config
        With the changes.
    of_file : set of tuple of str
        Of its model without them; see `_key_paths`.

    Raises
    ------
    InputError
        If there is one.
    """
    changed, source = set(_key_paths(config.model)), ""
    for *place, key in sorted(changed - of_file):
        depth = len(place)
        inside = [path for path in of_file if path[:depth] == (*place,) and len(path) > depth]
        if "test_cfg" not in place or (*place, "type") in changed:
            continue
        alike = get_close_matches(
            key, [path[-1] for path in inside if len(path) == depth + 1], cutoff=ALIKE
        )
        meant = [p for p in inside if p[-1] == key or (p[-1] in alike and len(p) == depth + 1)]
        if meant:
            names = [".".join(("model", *path)) for path in sorted(meant)]
            raise InputError(
                f"model.{'.'.join((*place, key))} has no effect: expected {listed(names)}, as the "
                "config has it."
            )
        source = source or _source_of(config)
        if not re.search(rf"""['".]{re.escape(key)}\b""", source):
            there = [path[-1] for path in sorted(inside) if len(path) == depth + 1]
            raise InputError(
                f"model.{'.'.join((*place, key))} has no effect: no part of this model reads it. "
                f"The config has {listed(there, most=20) or 'nothing'} there."
            )


def _source_of(config: Config) -> str:
    """Return the source of all that may read a test setting of a model, as one text.

    It has the files of its classes and of their bases; of a class that is not mmdet's all files of
    the folder.

    Parameters
    ----------
    config : Config
        Of the model.
    """
    import mmdet.models  # noqa: F401  (fills the registry)
    from mmdet.registry import MODELS

    kinds = {part["type"] for part in dicts_in(config.model) if part.get("type")}
    # of other packages, such as mmyolo, where the config is theirs
    with MODELS.switch_scope_and_registry(config.get("default_scope") or "mmdet") as registry:
        classes = [registry.get(kind) if isinstance(kind, str) else kind for kind in kinds]
    bases = {base for cls in classes if inspect.isclass(cls) for base in cls.__mro__}
    files = set[Path]()
    for base in bases:
        package = base.__module__.partition(".")[0]
        if package not in ("builtins", "abc", "torch", "mmengine"):
            file = Path(inspect.getfile(base))
            files |= {file} if package == "mmdet" else set(file.parent.glob("*.py"))
    return "".join(file.read_text(encoding="utf-8", errors="replace") for file in sorted(files))


@contextmanager
def _importing_from_folder_of(path: Path) -> Iterator[None]:
    """Let the ``custom_imports`` of a config find modules in its folder, as a script would."""
    folder = str(path.resolve().parent)
    if folder in sys.path:
        yield
        return
    sys.path.append(folder)  # behind all others: nothing installed is hidden
    try:
        yield
    finally:
        sys.path.remove(folder)


def _refuse_modules_of_another(config: Config) -> None:
    """Refuse a config whose ``custom_imports`` this process has from the folder of another config.

    Python imports a name once: the second of two trainings, each with a ``my_head.py`` of its own,
    would be built with the head of the first.

    Raises
    ------
    InputError
        If a module would now be imported from another file than it was.
    """
    imports = (config.get("custom_imports") or {}).get("imports") or ()
    for name in [imports] if isinstance(imports, str) else imports:
        parts = name.split(".")
        for module in (".".join(parts[:n]) for n in range(1, len(parts) + 1)):
            parent = sys.modules.get(module.rpartition(".")[0])
            found = PathFinder.find_spec(module, getattr(parent, "__path__", None))
            loaded = getattr(sys.modules.get(module), "__file__", None)
            if found is None or not found.has_location or loaded is None:
                continue
            if os.path.realpath(found.origin or "") != os.path.realpath(loaded):
                raise InputError(
                    f"its module {module} is {found.origin}, and another config of this run has "
                    f"one of that name, {loaded}: rename one of them, or run each by itself"
                )


def find_config_file(name: str) -> Path:
    """Return the file that a name or path stands for.

    Parameters
    ----------
    name : str
        See `read_config`.

    Raises
    ------
    InputError
        If there is none.
    """
    prefix = next((prefix for prefix in OF_MMDET if name.startswith(prefix)), None)
    if prefix is None or or_shipped(name).is_file():
        return find_config(name)
    spec = importlib.util.find_spec("mmdet")
    if spec is None or spec.origin is None:
        raise InputError("mmdet is not installed, so none of its configs can be named.")
    folder = Path(spec.origin).parent / ".mim" / "configs"
    path = folder / name.removeprefix(prefix)
    if not path.is_file():
        raise InputError(
            f"No config {name!r}: expected a file under {folder}, for example "
            "mmdet::retinanet/retinanet_r50_fpn_1x_coco.py."
        )
    return path


def dicts_in(node: Any) -> Iterator[dict]:
    """Yield all dicts in a part of a config.

    Parameters
    ----------
    node : Any
        Of dicts, lists and tuples.
    """
    if isinstance(node, dict):
        yield node
        node = list(node.values())
    if isinstance(node, list | tuple):
        for item in node:
            yield from dicts_in(item)


def _without_training(part: dict) -> None:
    """Take out what training alone needs.

    That is pretrained weights, which the checkpoint replaces, the checkpointing of gradients, for
    which mmdet's transformers want fairscale, and mmcv's batch norm across processes.
    """
    if part.get("type") == "MMSyncBN":
        part["type"] = "BN"
    initial = part.get("init_cfg")
    if isinstance(initial, dict) and initial.get("type") == "Pretrained":
        part["init_cfg"] = None
    if part.get("pretrained"):
        part["pretrained"] = None
    if part.get("num_cp"):
        part["num_cp"] = -1


def build_model(config: Config) -> BaseDetector:
    """Build the model of a config with random weights.

    Parameters
    ----------
    config : Config
        See `read_config`.

    Raises
    ------
    InputError
        If mmdet cannot build it, it has no backbone, or needs an operator of mmcv that is not here.
    """
    ops.register()
    import mmdet.models  # noqa: F401  (fills the registry)
    from mmdet.registry import MODELS
    from mmengine.model.utils import revert_sync_batchnorm
    from mmengine.registry import init_default_scope

    init_default_scope(config.get("default_scope") or "mmdet")
    try:
        model = _mend(revert_sync_batchnorm(MODELS.build(config.model)))
    except Exception as error:  # constructors read files, download, import: they fail in any way
        raise InputError(
            f"mmdet cannot build the detector of {config.filename}: {explained(error)}"
        ) from error
    if not hasattr(model, "backbone"):
        raise InputError(
            f"{type(model).__name__}, the model of {config.filename}, has no `backbone` of mmdet's "
            "kind: put the detector within it there, or use its predictions."
        )
    ops.check_needs(model)
    return model


def explained(error: BaseException) -> str:
    """Return the first line of an error of a config or a constructor, with what to do about it.

    Parameters
    ----------
    error : BaseException
        That was raised.
    """
    first = error
    while isinstance(first.__context__, ImportError):  # the import that failed first
        first = first.__context__
    message = first_line(first)
    absent = re.search(r"No module named|not installed|install|Failed to import", message)
    extra = next((name for name in EXTRAS if absent and name in message.lower()), None)
    if extra:
        return f"{message.rstrip('.')}. It needs {extra}: {EXTRAS[extra]}."
    if "huggingface.co" in message:
        return f"{message.rstrip('.')}. {LOCAL_ENCODER}"
    if isinstance(error, FileNotFoundError):
        return f"{message.rstrip('.')}. The config names this file: give its whole path there."
    if isinstance(error, URLError | ConnectionError | TimeoutError):
        return f"a download failed ({message}): the config should name a local file in its place."
    if "registry" in message:
        return f"{message.rstrip('.')}. Import what defines it with `custom_imports` in the config."
    return message


def _mend(model: BaseDetector) -> BaseDetector:
    """Mend what mmdet 3.3 and its configs take for granted.

    The SSD head reads ``loss_cls``, which it never sets; CrowdDet asks for RoIAlign of torchvision,
    which is mmcv's by another hand.
    """
    from mmcv.ops import RoIAlign
    from mmdet.models import SSDHead

    for module in model.modules():
        if isinstance(module, SSDHead) and not hasattr(module, "loss_cls"):
            module.loss_cls = None
        if isinstance(module, RoIAlign) and ops.torchvision_ops("cpu") is None:
            module.use_torchvision = False
    return model


def fill_registries() -> None:
    """Register every model, data set, hook and loop of mmdet, and make its scope the default."""
    from mmdet.utils import register_all_modules

    register_all_modules()


def trained_on(config: Config, labels: str | os.PathLike[str], names: Iterable[str]) -> list[str]:
    """Say why labelled images seem to be those that a detector was trained on.

    Where a file of training labels in the config is here, the names of its images are compared;
    where it is not, its path is with that of the labels.

    Parameters
    ----------
    config : Config
        Of the detector.
    labels : path-like
        The file of labels.
    names : iterable of str
        File names of the labelled images.

    Returns
    -------
    list of str
        One reason for each such file of training labels; empty where nothing speaks for it.
    """
    labels, labelled = Path(labels), {Path(name).name for name in names}
    reasons = (_reason(file, labels, labelled) for file in dict.fromkeys(_training_files(config)))
    return [reason for reason in reasons if reason]


def _training_files(config: Config) -> Iterator[Path]:
    for dataset in dicts_in(config.get("train_dataloader", {})):
        if isinstance(dataset.get("ann_file"), str) and dataset["ann_file"]:
            yield Path(dataset.get("data_root") or "", dataset["ann_file"])


def _reason(file: Path, labels: Path, labelled: set[str]) -> str:
    seen = labelled & _names(file)
    if len(seen) > MANY * len(labelled):
        return (
            f"{len(seen)} of {len(labelled)} images have the name of an image in {file}, on which "
            "the config says that the detector was trained"
        )
    same = file.name == labels.name and (
        "train" in file.name or file.parent.name == labels.absolute().parent.name
    )
    if same and not file.exists():
        return f"{labels} is called as the labels that the config trains on, {file}"
    return ""


def _names(file: Path) -> set[str]:
    """Return the names of the images in a COCO file, none where it is absent, great or no such."""
    try:
        if file.suffix != ".json" or file.stat().st_size > LARGEST:
            return set()
        return {Path(image["file_name"]).name for image in read_json(file)["images"]}
    except (OSError, InputError, KeyError, TypeError):
        return set()
