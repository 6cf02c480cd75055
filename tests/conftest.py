"""Fixtures shared by every test."""

import contextlib
import functools
import gc
import hashlib
import io
import os
import pickle
import sys
from dataclasses import fields, is_dataclass
from pathlib import Path

# Importing torch and mmdet without their byte code takes three times as long, and many tests start
# processes that do; where PYTHONDONTWRITEBYTECODE is set, each would compile all of it again. It is
# kept with a virtual environment, so that another checkout with the same one has it.
IN_ENVIRONMENT = sys.prefix != sys.base_prefix and os.access(sys.prefix, os.W_OK)
KEPT = Path(sys.prefix) if IN_ENVIRONMENT else Path(__file__).resolve().parents[1] / ".pytest_cache"
BYTECODE = KEPT / "bytecode"
sys.pycache_prefix = os.environ["PYTHONPYCACHEPREFIX"] = str(BYTECODE)
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# Numbers are a processor's, also on a machine with a GPU, but where one is named.
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
# Where mmdet imports it, albumentations would ask the network for its newest version.
os.environ.setdefault("NO_ALBUMENTATIONS_UPDATE", "1")
# Ray reads this where it is first imported: clusters of the tests listen on the loopback alone.
os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")

import pytest  # noqa: E402
from filelock import FileLock  # noqa: E402

gc.disable()  # until all tests are collected: what is imported lives to the end

NETWORKS = (
    *("autoeval/detectors/", "tests/detectors/", "autoeval/stability/", "tests/stability/"),
    *("autoeval/demo/", "tests/demo/", "autoeval/mmdet_metric.py", "tests/test_mmdet_metric.py"),
)
WITH_TORCH = pytest.StashKey[bool]()  # whether it was imported before the test
SHARED = Path(__file__).resolve().parents[2] / "shared"
# What several files of tests share has no examples, and to look for some would import torch.
helpers = (path.name for path in Path(__file__).parent.glob("*.py"))
collect_ignore = [name for name in helpers if not name.startswith("test_")]


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Let the first worker compile what all of them import, where there is no byte code yet."""
    compiled = BYTECODE / "collected"
    if compiled.exists() or "PYTEST_XDIST_WORKER" not in os.environ:
        return (yield)
    BYTECODE.mkdir(parents=True, exist_ok=True)
    with FileLock(BYTECODE / "collecting.lock"):
        collected = yield
    compiled.touch()
    return collected


def pytest_collection_modifyitems(items):
    """Mark what runs networks as rare."""
    for item in items:
        if item.nodeid.startswith(NETWORKS):
            item.add_marker("rare")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item):
    item.stash[WITH_TORCH] = "torch" in sys.modules
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item):
    """Where tests of networks are left out, refuse one that imports torch: it is such a test."""
    result = yield
    ordinary = "not rare" in item.config.option.markexpr
    if ordinary and "torch" in sys.modules and not item.stash[WITH_TORCH]:
        pytest.fail("it imports torch, which takes as long as hundreds of tests: mark it rare")
    return result


def pytest_collection_finish():
    """Keep what was imported out of every later search for garbage, and search less often."""
    gc.freeze()
    gc.set_threshold(20_000, 10, 10)
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def pictures_left_empty():
    """Make charts empty files: drawing is half of a command, and most tests read its numbers."""
    from matplotlib.figure import Figure

    def leave_empty(figure, target, **options):
        if isinstance(target, (str, os.PathLike)):
            Path(target).write_bytes(b"")

    with pytest.MonkeyPatch.context() as patched:
        draw = Figure.savefig
        patched.setattr(Figure, "savefig", leave_empty)
        yield draw


@contextlib.contextmanager
def drawing(draw):
    from matplotlib.figure import Figure

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Figure, "savefig", draw)
        yield


@pytest.fixture(scope="module")
def drawn(pictures_left_empty):
    """Draw charts, for modules whose tests look at them."""
    with drawing(pictures_left_empty):
        yield


@pytest.fixture
def drawn_here(pictures_left_empty):
    """Draw charts, for one test that looks at them."""
    with drawing(pictures_left_empty):
        yield


@pytest.fixture(scope="module")
def short_logs():
    """Spare runners of mmengine what they only log: compilers, and their config in neat lines."""
    from mmengine.config import Config

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("mmengine.runner.runner.collect_env", dict)
        patched.setattr(Config, "pretty_text", property(lambda config: repr(config)))
        yield


@pytest.fixture(scope="session", autouse=True)
def model_index_read_once():
    """Keep what mmengine looks up in hundreds of files for each config of mmdet."""
    if "mmengine.config" not in sys.modules:
        yield
        return
    from mmengine.config import utils

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(utils, "_get_cfg_metainfo", functools.cache(utils._get_cfg_metainfo))
        patched.setattr(utils, "load", functools.cache(utils.load))
        yield


class Values(pickle.Pickler):
    """Pickle what values are: no files, no texts about them, nothing that was computed of them."""

    def reducer_override(self, value):
        if not is_dataclass(value) or isinstance(value, type):
            return NotImplemented
        left_out = NOT_COMPUTED_WITH.get(type(value).__name__, ())
        named = [of.name for of in fields(value) if of.name not in left_out]
        return type(value), tuple(getattr(value, name) for name in named)


# What a fit reads of its sites are boxes.
NOT_COMPUTED_WITH = {
    "Site": ("evaluation", "of_reference", "images", "evidence", "warnings", "left_out", "row"),
    "Boxes": ("numbers", "left_out", "warnings", "numbering", "run"),
    "Looks": ("warnings",),
}


def kept(function):
    """Return a function of values alone that keeps each result by what it was given."""
    results = {}

    @functools.wraps(function)
    def call(*given, **options):
        pickled = io.BytesIO()
        try:
            Values(pickled, protocol=5).dump((given, options))
        except AttributeError:  # a function that a test made
            return function(*given, **options)
        key = hashlib.blake2b(pickled.getbuffer()).digest()
        if key not in results:
            results[key] = pickle.dumps(function(*given, **options), protocol=5)
        return pickle.loads(results[key])  # nobody changes what another test gets

    return call


@pytest.fixture(scope="session", autouse=True)
def fits_computed_once():
    """Fit the same boxes once: most tests fit one of few small sites, with one thing changed."""
    from autoeval.estimation import fitting
    from autoeval.labels import fit_assistance
    from autoeval.model import calibration
    from autoeval.model.mixed_model import Mixture

    with pytest.MonkeyPatch.context() as patched:
        for name in ("calibrate", "fits_above", "fit_assistance"):
            patched.setattr(fitting, name, kept(getattr(fitting, name)))
        regression = kept(calibration.fit_regression)
        for module in (calibration, fit_assistance):
            patched.setattr(module, "fit_regression", regression)
        biases = kept(fit_assistance.measure_small_sample_bias)
        patched.setattr(fit_assistance, "measure_small_sample_bias", biases)
        patched.setattr(Mixture, "quantile", kept(Mixture.quantile))
        yield


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder of real data beside the checkout; skips where there is none."""
    if not SHARED.is_dir():
        pytest.skip("needs the folder 'shared' with real data beside the checkout")
    return SHARED


@pytest.fixture
def widest():
    """A score that registers itself; forgotten again afterwards."""
    from autoeval.stability.scores import base

    @base.register
    class WidestBox(base.RatioScore):
        """Mean width of the first box."""

        name = "widest"
        meaning = "width of the first box"
        features = base.rising("widest")
        source = "this test"

        def measure(self, evidence):
            return float(evidence.clean.boxes[0, 2]), 1

    yield WidestBox
    base._SCORES.pop("widest")
    base._BY_FEATURE.pop("widest")
