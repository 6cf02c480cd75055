"""How a detector is loaded, as plain values: kept with an estimator, and sent to workers."""

from __future__ import annotations

import os
import re
import runpy
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typing_extensions import Self

from autoeval.detections import FRAMEWORK, check_precision
from autoeval.errors import InputError
from autoeval.io.predictions.category_words import read_names
from autoeval.runtime.files import YAML
from autoeval.runtime.python_file import digest_of, folder_modules
from autoeval.words import listed

if TYPE_CHECKING:
    from autoeval.detectors.black_box import BlackBoxDetector

TUPLE = "tuple"
CLASSES_OPTION = "--classes FILE (in Python classes=FILE)"
LOW_SCORE = 0.01  # from which on boxes are worth keeping
SETTINGS = ("checkpoint", "device", "cfg_options", "trust_checkpoint", "classes", "precision")
STAGES = "stages"  # where features are dropped, kept along; clean boxes do not depend on it
_NAMED = re.compile(r"(?P<file>.+\.py):(?P<name>\w+)")


@dataclass(frozen=True)
class DetectorSpec:
    """A detector by name.

    Parameters
    ----------
    name : path-like
        A name in `configs/detectors/`, the path of an mmdet config file or of one that mmdet brings
        along (``mmdet::retinanet/...``), a detector of another framework, such as ``best.pt`` or
        ``torchvision:NAME`` (docs/how-to/network.md), or ``FILE.py:NAME`` of a `BlackBoxDetector`.
    checkpoint : path-like, optional
        Its weights; by default the official ones of a known name.
    device : str, optional
        As torch names it; by default ``cuda`` where there is one.
    cfg_options : mapping, optional
        Changes to the config; of other frameworks the options of their own call.
    trust_checkpoint : bool
        Unpickle everything in the checkpoint, which may run code.
    classes : path-like, optional
        Names of its labels: ``data.yaml``, JSON, or a text file with one in a line.
    precision : str, optional
        ``single`` or ``half``; by default the framework's own. See
        `autoeval.detectors.predicting.in_precision`. Another one raises `InputError`.

    Raises
    ------
    InputError
        If there is no such precision.
    """

    name: str
    checkpoint: str | None = None
    device: str | None = None
    cfg_options: Mapping[str, Any] | None = None
    trust_checkpoint: bool = False
    classes: str | None = None
    precision: str | None = None

    def __post_init__(self) -> None:
        for name in ("name", "checkpoint", "classes"):
            path = getattr(self, name)
            object.__setattr__(self, name, path if path is None else os.fspath(path))
        if self.precision is not None:  # before anything is loaded
            check_precision(self.precision)

    def __call__(self) -> Any:
        """Load the detector.

        A black box is a program of its own, which no setting reaches: these are refused.

        Returns
        -------
        MMDetector or BlackBoxDetector
            By its name.

        Raises
        ------
        InputError
            As `autoeval.load_detector`, if the classes cannot be read, or a setting has no effect.
        """
        if names_python(self.name):
            settings = [name for name in SETTINGS if getattr(self, name)]
            if settings:
                raise InputError(
                    f"Expected no {settings[0]} with {self.name}: a BlackBoxDetector loads its "
                    "model itself. Set it in that file, and leave it out here."
                )
            return load_black_box(self.name)
        from autoeval.detectors.adapters import adapter_of, usable_device

        adapter = adapter_of(self.name)
        if adapter is not None:
            settings = [n for n in SETTINGS if getattr(self, n) and n not in adapter.SETTINGS]
            if settings:
                raise InputError(
                    f"Expected no {settings[0]} with {self.name}: in addition to its name it takes "
                    f"{listed(adapter.SETTINGS)}. Leave it out."
                )
            return adapter.load(self)
        from autoeval.detectors.loading import load_detector

        return load_detector(
            self.name,
            checkpoint=self.checkpoint,
            device=usable_device(self.device),
            cfg_options=self.cfg_options,
            trust_checkpoint=self.trust_checkpoint,
            classes=self.words,
            precision=self.precision or FRAMEWORK,
        )

    @property
    def words(self) -> tuple[str, ...]:
        """The names in `classes`, none without; `InputError` if they cannot be read."""
        return read_classes(self.classes) if self.classes else ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values with absolute paths, without what belongs to a machine or a run."""
        kept = {k: v for k, v in asdict(self).items() if k not in ("device", "trust_checkpoint")}
        kept |= {name: _absolute(kept[name]) for name in ("name", "checkpoint", "classes")}
        kept["cfg_options"] = _without_tuples(self.cfg_options)
        return kept

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Read what `to_dict` wrote.

        Parameters
        ----------
        values : mapping of str to Any
            Of the spec; where stages are named, they are left out.

        Raises
        ------
        InputError
            If the file of the detector or of its checkpoint is no longer where it was.
        """
        fields = {name: value for name, value in values.items() if name != STAGES}
        spec = cls(**{**fields, "cfg_options": _with_tuples(values.get("cfg_options"))})
        for field, option in (("name", "detector"), ("checkpoint", "checkpoint")):
            path = getattr(spec, field)
            file, python, _ = (path or "").partition(".py:")
            if os.path.isabs(file) and not os.path.exists(f"{file}.py" if python else file):
                raise InputError(
                    f"The {option} of this estimator's detector is no longer at {path}: say where "
                    f"{Path(path).name} is with --{option} FILE."
                )
        return spec

    def with_low_scores(self) -> Self:
        """Return the same with thresholds of mmdet's over .01 lowered to it, unless they are given.

        A black box sets its own threshold, and adapters give boxes from .01 on.

        Raises
        ------
        InputError
            If the config of a detector of mmdet cannot be read.
        """
        from autoeval.detectors.adapters import adapter_of

        if names_python(self.name) or adapter_of(self.name) is not None:
            return self
        from autoeval.detectors.building.configs import read_config

        config = read_config(self.name, self.cfg_options)
        test_cfg, options = config.model.get("test_cfg") or {}, self.cfg_options or {}
        # The detector within a semi-supervised pair.
        model = "model.detector" if config.get("weights_prefix") else "model"
        parts = {"": test_cfg}
        if isinstance(test_cfg, list | tuple):  # one of each head, as Co-DETR has them
            parts = {f"{k}.": part for k, part in enumerate(test_cfg)}
        parts |= {f"{place}rcnn.": part.get("rcnn") or {} for place, part in parts.items()}
        lowered = {}
        for place, part in parts.items():
            threshold, name = part.get("score_thr"), f"{model}.test_cfg.{place}score_thr"
            if threshold is not None and threshold > LOW_SCORE and not _gives(options, name):
                lowered[name] = LOW_SCORE
        return replace(self, cfg_options={**options, **lowered}) if lowered else self


def _gives(options: Mapping[str, Any], name: str) -> bool:
    """Whether options of a config give one of a dotted name, itself or within a dict.

    Examples
    --------
    >>> _gives({"a.b": {"c": 1}}, "a.b.c"), _gives({"a.b": {"c": 1}}, "a.c")
    (True, False)
    """
    for given, value in options.items():
        if name == given:
            return True
        inner = name.removeprefix(f"{given}.")
        if inner != name and isinstance(value, Mapping) and _gives(value, inner):
            return True
    return False


def _without_tuples(value: Any) -> Any:
    """Write tuples, which mmcv tells from lists and JSON does not, as ``{"tuple": [...]}``."""
    if isinstance(value, Mapping):
        return {name: _without_tuples(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        plain = [_without_tuples(part) for part in value]
        return {TUPLE: plain} if isinstance(value, tuple) else plain
    return value


def _with_tuples(value: Any) -> Any:
    """Read what `_without_tuples` wrote.

    Examples
    --------
    >>> _with_tuples(_without_tuples({"scale": (640, 480)}))
    {'scale': (640, 480)}
    """
    if isinstance(value, Mapping):
        if set(value) == {TUPLE}:
            return tuple(_with_tuples(value[TUPLE]))
        return {name: _with_tuples(part) for name, part in value.items()}
    return [_with_tuples(part) for part in value] if isinstance(value, list) else value


def _absolute(path: str | None) -> str | None:
    """Make the path of a file independent of the working directory."""
    if path is None:
        return None
    if os.path.isfile(path):  # a folder may be called as a known detector is
        return os.path.abspath(path)
    file, python, name = path.partition(".py:")
    if python and os.path.exists(f"{file}.py"):
        return f"{os.path.abspath(file)}.py:{name}"
    from autoeval.detectors.adapters import adapter_of

    prefix, _, behind = path.partition(":")
    adapter = adapter_of(path)
    of_folder = adapter is not None and adapter.FORM.endswith(":FOLDER")
    return f"{prefix}:{os.path.abspath(behind)}" if of_folder and os.path.exists(behind) else path


def read_classes(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """Read categories from a text file, one in a line, or by number from YAML or JSON.

    Parameters
    ----------
    path : path-like
        The file; one that ends with ``.yaml``, ``.yml`` or ``.json`` is read by `read_names`.

    Raises
    ------
    InputError
        If it cannot be read, has none, or one twice, or its numbers are not those from 0 on.
    """
    if Path(path).suffix.lower() in (*YAML, ".json"):
        numbered = read_names(path)
        lines = [numbered.get(str(k), "") for k in range(len(numbered))]
        if "" in lines:
            raise InputError(
                f"{path}: expected a name for each number from 0 to {len(lines) - 1}, got those of "
                f"{listed(numbered)}. Number them as the detector does."
            )
    else:
        try:
            lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"Cannot read the classes in {path}: {error}") from error
    names = tuple(line.strip() for line in lines if line.strip())
    if not names or len(set(names)) < len(names):
        raise InputError(f"Expected different names in {path} but got {listed(names)}.")
    return names


def names_python(text: str) -> bool:
    """Return whether a detector is named as ``FILE.py:NAME``.

    Parameters
    ----------
    text : str
        Name of a detector.

    Examples
    --------
    >>> names_python("mine.py:detector"), names_python("configs/mine.py")
    (True, False)
    """
    return _NAMED.fullmatch(text) is not None


def load_black_box(text: str) -> BlackBoxDetector:
    """Run a Python file and take out of it what ``FILE.py:NAME`` names.

    Modules in its folder are found, see `folder_modules`.

    Parameters
    ----------
    text : str
        ``FILE.py:NAME``.

    Raises
    ------
    InputError
        If it is of another form, the file is missing, fails, or has no such `BlackBoxDetector`.
    """
    named = _NAMED.fullmatch(text)
    if named is None:
        raise InputError(f"Expected a detector as FILE.py:NAME but got '{text}'.")
    try:
        with folder_modules(named["file"]) as modules:
            defined = runpy.run_path(named["file"])
    except Exception as error:  # the file is a program: it can fail in any way
        raise InputError(f"Cannot run {named['file']}: {type(error).__name__}: {error}") from error
    from autoeval.detectors.black_box import BlackBoxDetector

    detector = defined.get(named["name"])
    if not isinstance(detector, BlackBoxDetector):
        raise InputError(
            f"Expected {named['file']} to define {named['name']} as a BlackBoxDetector but found "
            f"{type(detector).__name__}."
        )
    detector.file_digest = digest_of(named["file"], modules)
    return detector
