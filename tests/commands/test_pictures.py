"""Pages of prediction files show images where it is said where they lie, and none otherwise."""

import json
import shlex
from pathlib import Path

import cv2
import numpy as np
import pytest

from autoeval.cli import main

pytestmark = pytest.mark.usefixtures("drawn")

SAMPLE = Path(__file__).parents[2] / "docs/getting-started/sample"
SITE = f"--predictions {SAMPLE}/new_predictions.json --images {SAMPLE}/new_site.json"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A fit of the sample, and an image for each entry of the list, in the folder `images`."""
    made = tmp_path_factory.mktemp("pictures")
    files = f"--labels {SAMPLE}/val.json --predictions {SAMPLE}/val_predictions.json"
    assert main(shlex.split(f"fit {files} --work-dir {made}/fit")) == 0
    (made / "images").mkdir()
    for entry in json.loads((SAMPLE / "new_site.json").read_text())["images"]:
        pixels = np.zeros((entry["height"], entry["width"], 3), np.uint8)
        cv2.imwrite(str(made / "images" / Path(entry["file_name"]).name), pixels)
    return made


def page(folder, command):
    """Return the page of a command on the new site."""
    words = shlex.split(command)
    assert (
        main([*words, "--estimator", str(folder / "fit"), "--work-dir", str(folder / "out")]) == 0
    )
    return (folder / "out/report.html").read_text()


@pytest.mark.parametrize(("command", "shown"), [("estimate", 6), ("label plan --n 15", 12)])
def test_images_are_shown_where_they_lie(folder, command, shown, capsys):
    html = page(folder, f"{command} {SITE} --img-dir {folder}/images")
    assert html.count('src="data:image/jpeg') == shown == html.count('loading="lazy"')
    after = capsys.readouterr().out.partition("next step")[2]
    assert ("label plan" in after) == (f"--img-dir {folder}/images" in after)
    assert "data:image/jpeg" not in page(folder, f"{command} {SITE}")


def test_a_folder_without_the_images_is_refused(folder, capsys):
    words = shlex.split(f"estimate {SITE} --img-dir {SAMPLE} --estimator {folder}/fit")
    assert main(words) != 0
    assert "none of the 60 is there" in capsys.readouterr().err
