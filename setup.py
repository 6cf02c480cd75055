"""What setup.cfg cannot say: the folder configs/ is shipped as autoeval/configs."""

from setuptools import find_packages, setup

setup(
    packages=[*find_packages(include=["autoeval*"]), "autoeval.configs"],
    package_dir={"autoeval.configs": "configs"},
    package_data={
        "autoeval": ["py.typed"],
        "autoeval.configs": ["**/*"],
        "autoeval.report": ["templates/*"],
    },
)
