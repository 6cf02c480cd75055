"""A labelled set and a site, with the prediction files of detectors that differ in skill."""

import json

from commands.predicted_world import write_world

from autoeval import fit

SKILLS = {"strong": 0.85, "weak": 0.45}
OF_SITE = {"n_images": 80, "n_categories": 2, "boxes": 5.0}


def write_detectors(folder):
    """Fit each detector on the same labels into FOLDER/NAME; write its boxes of a site."""
    for name, skill in SKILLS.items():
        of_set = write_world(folder, f"set_{name}", seed=1, skill=skill)
        labels = of_set[0].rename(folder / "set.json")
        fit(labels, of_set[1], work_dir=folder / name)
        write_world(folder, f"site_{name}", seed=2, skill=skill, **OF_SITE)
    assert (folder / "site_weak_labels.json").read_text() == site_labels(folder).read_text()
    return folder


def site_labels(folder):
    return folder / "site_strong_labels.json"


def site_predictions(folder, *names):
    return [str(folder / f"site_{name}_predictions.json") for name in names or SKILLS]


def some_labels(folder, path, images):
    """Write the labels of some images of the site."""
    content = json.loads(site_labels(folder).read_text())
    content["images"] = [image for image in content["images"] if image["id"] in images]
    kept = {image["id"] for image in content["images"]}
    content["annotations"] = [a for a in content["annotations"] if a["image_id"] in kept]
    path.write_text(json.dumps(content))
    return path
