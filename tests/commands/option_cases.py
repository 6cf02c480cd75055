"""A call for each option and fact of a command, which shows that it is read.

A case is a base call and what is added to it. The added words make the outcome another one, or the
call is refused with a message that names them. All calls run in the `world` of
`test_no_option_ignored`, the only test that reads them.
"""

FILES = "--predictions new_predictions.json"
PLAN = f"label plan --estimator fit/estimator.parquet {FILES} --n 8"
PLAN_BY_RUN = "label plan --estimator run/estimator.parquet --images w1/images --n 8"
NAMES = "--names exchanged.txt"


def detector(base):
    """A black box takes none of the settings of a model of mmdet, and says so."""
    return {
        "detector": (base, "--detector nowhere.py:detector"),
        "classes": (base, "--detector mine.py:detector --classes words.txt"),
        "trust_checkpoint": (base, "--detector mine.py:detector --trust-checkpoint"),
        "checkpoint": (base, "--checkpoint nowhere.pth"),
        "cfg_options": (base, "--cfg-options a.b=1"),
        "device": (base, "--device nowhere"),
        "network_precision": (base, "--detector mine.py:detector --network-precision single"),
    }


def reference(base):
    return {
        "reference": (base, "--reference second.py:detector"),
        "reference_checkpoint": (
            base,
            "--reference mine.py:detector --reference-checkpoint nowhere.pth",
        ),
        "reference_names": (base, "--reference mine.py:detector --reference-names words.txt"),
    }


def running(base):
    """Batches are seen by the black box, which prints their size."""
    return {
        "batch_size": (base, "--batch-size 3"),
        "ray": (base, "--ray 127.0.0.1:1"),
        "ray_workers": (base, "--ray-workers 2"),
        "ray_gpus": (base, "--ray-gpus 2"),
        "ray_cpus": (base, "--ray-cpus 2"),
    }


def predictions(base):
    path = "--predictions new_predictions.json"
    cut = base.replace(path, "--predictions cut.json").replace(" fit/", " cut_fit/")
    return {
        "predictions": (base, "--predictions others.json"),
        "names": (base, f"{path} {NAMES}"),
        "incomplete": (cut, "--predictions cut.json --incomplete"),
        "numbering": (base, f"{path} --numbering coco"),
        "columns": (base, f"{path} --columns class,x,y,w,h,score"),
    }


def images(base, option=""):
    return {
        "images": (base, f"{option} w0/images"),
        "img_dir": (base, f"{option} w1/annotations.json img_dir=w0/images"),
        "every": (base, f"{option} w1/images every=2"),
    }


CASES = {}

REFUSED = ()
