"""The built wheel holds what the commands need, and works from any folder."""

import ast
import os
import shutil
import subprocess
import sys
import zipfile
from configparser import ConfigParser
from pathlib import Path

import pytest

pytestmark = pytest.mark.rare

ROOT = Path(__file__).parents[1]
SOURCES = ("autoeval", "configs", "setup.cfg", "setup.py", "pyproject.toml", "README.md", "LICENSE")
# Imported by mmengine alone, and what mmcv-lite installs under the name of mmcv.
NEVER_IMPORTED = {"setuptools"}
OTHER_NAMES = {"opencv-python-headless": "cv2", "mmcv-lite": "mmcv", "scikit-learn": "sklearn"}
OTHER_NAMES |= {"opencv-python": "cv2", "pillow": "PIL", "pyyaml": "yaml"}


def copy_of_sources(folder):
    """Copy what is built from, so that the checkout stays as it is."""
    folder.mkdir(exist_ok=True)
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in SOURCES:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, folder / name, **({"ignore": ignored} if copy is not shutil.copy else {}))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Build the wheel from a copy, so that the checkout stays as it is."""
    folder = tmp_path_factory.mktemp("wheel")
    copy_of_sources(folder)
    build = ["wheel", "--no-deps", "--no-build-isolation", "--quiet", "-w", "dist", "."]
    subprocess.run([sys.executable, "-m", "pip", *build], cwd=folder, check=True)
    (built,) = (folder / "dist").glob("*.whl")
    return built


def test_a_script_beside_the_clone_gets_the_package(tmp_path):
    """A clone called autoeval is no package, and must not hide the one that it holds."""
    clone, site_packages = tmp_path / "autoeval", tmp_path / "site-packages"
    copy_of_sources(clone)
    build = "from setuptools.build_meta import build_editable; print(build_editable('dist'))"
    done = subprocess.run([sys.executable, "-c", build], cwd=clone, check=True, capture_output=True)
    name = done.stdout.decode().split()[-1]
    zipfile.ZipFile(clone / "dist" / name).extractall(site_packages)
    script = tmp_path / "mine.py"
    script.write_text(
        f"import site, sys; sys.path[:] = [of for of in sys.path if of != {str(ROOT)!r}]\n"
        f"site.addsitedir({str(site_packages)!r})\n"
        "import autoeval; print(autoeval.fit.__name__, autoeval.__file__)\n"
        "from autoeval.runtime.files import shipped_config\n"
        "print(shipped_config('tasks', 'vehicle.py').is_file())\n"
    )
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    shown = subprocess.run([sys.executable, script], cwd=tmp_path, env=plain, capture_output=True)
    expected = f"fit {clone / 'autoeval' / '__init__.py'}\nTrue\n"
    assert shown.stdout.decode() == expected, shown.stderr.decode()


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """Run Python in a folder elsewhere that knows the installed wheel and not the checkout."""
    target, elsewhere = tmp_path_factory.mktemp("target"), tmp_path_factory.mktemp("elsewhere")
    install = ["install", "--no-deps", "--no-index", "--quiet", "--target", str(target), str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", *install], check=True)

    def run(*words):
        environment = {**os.environ, "PYTHONPATH": str(target)}
        command = [sys.executable, *map(str, words)]
        done = subprocess.run(command, cwd=elsewhere, env=environment, capture_output=True)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    return run


def test_every_module_template_and_configuration_is_in_the_wheel(wheel):
    held = set(zipfile.ZipFile(wheel).namelist())
    for folder in ("autoeval", "configs"):
        for path in (ROOT / folder).rglob("*.*"):
            if path.is_file() and "__pycache__" not in path.parts:
                name = path.relative_to(ROOT).as_posix()
                assert (f"autoeval/{name}" if folder == "configs" else name) in held
    assert not any(name.startswith(("configs/", "tests/")) for name in held)


def test_the_installed_program_finds_its_detectors_from_any_folder(installed):
    assert installed("-m", "autoeval.cli", "--version").startswith("autoeval ")
    code = """
import autoeval, sys
assert autoeval.__file__.startswith(sys.argv[1]), autoeval.__file__
from autoeval.runtime.files import read_config, shipped_config
from autoeval.detectors.building.aliases import find_config
read_config("configs/metasets/corruptions.py")
print(find_config("roadworld_nano").is_file())
print(shipped_config("detectors", "roadworld_nano.pth").is_file())
"""
    target = installed("-c", "import os; print(os.environ['PYTHONPATH'])").strip()
    assert installed("-c", code, target).split() == ["True", "True"]


@pytest.mark.slow
def test_the_demo_runs_from_the_wheel(installed):
    told = installed("-m", "autoeval.cli", "demo")
    assert "unlabelled images of 'dusk_city', which was no part of the fit" in told


@pytest.mark.slow
def test_a_detector_known_by_name_takes_a_checkpoint_from_the_wheel(installed, shared, tmp_path):
    checkpoint = next((shared / "weights").rglob("*yolox_nano*.pth"))
    code = """
import sys
from autoeval.detectors import load_detector
print(len(load_detector("yolox_nano", checkpoint=sys.argv[1], device="cpu").categories))
"""
    assert "80" in installed("-c", code, checkpoint)


def test_what_is_imported_is_declared_and_what_is_declared_is_imported():
    config = ConfigParser()
    config.read(ROOT / "setup.cfg")
    extras = "\n".join(config["options.extras_require"].values())
    required = _modules(config["options"]["install_requires"])
    imported = _imported(ROOT / "autoeval")
    assert imported <= required | _modules(extras)
    assert required <= imported
    network = (
        config["options.extras_require"]["mmdet"] + config["options.extras_require"]["mmcv-lite"]
    )
    assert _modules(network) - imported == NEVER_IMPORTED
    assert not required & (_modules(network) - {"cv2"})


def _modules(requirements):
    lines = (line.partition("#")[0].strip() for line in requirements.splitlines())
    names = [line.translate({ord(c): " " for c in "<>=!,["}).split()[0] for line in lines if line]
    return {OTHER_NAMES.get(name, name) for name in names}


def _imported(folder):
    names = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names.add(node.module.partition(".")[0])
    return names - sys.stdlib_module_names - {"autoeval"}
