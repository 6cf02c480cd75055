"""A call for each option and fact of a command, which shows that it is read.

A case is a base call and what is added to it. The added words make the outcome another one, or the
call is refused with a message that names them. All calls run in the `world` of
`test_no_option_ignored`, the only test that reads them.
"""

FIT = "fit --labels val_labels.json --predictions val_predictions.json"
FIT_BY_RUN = "fit --labels w0/annotations.json --detector mine.py:detector"
FILES = "--predictions new_predictions.json"
ESTIMATE = f"estimate --estimator fit/estimator.parquet {FILES}"
ESTIMATE_BY_RUN = "estimate --images w1/images --estimator run/estimator.parquet"
PLAN = f"label plan --estimator fit/estimator.parquet {FILES} --n 8"
PLAN_BY_RUN = "label plan --estimator run/estimator.parquet --images w1/images --n 8"
LABELLED = "label estimate --plan plan --labels plan_labels.json"
COMPARE = "compare fit other --predictions new_predictions.json others.json"
WORSE_FIRST = "compare other fit --predictions others.json new_predictions.json"
COMPARE_BY_RUN = "compare run run2 --images w1/images"
THRESHOLD = f"threshold --estimator fit/estimator.parquet {FILES}"
THRESHOLD_BY_RUN = "threshold --images w1/images --estimator run/estimator.parquet"
OF_PLAN = "threshold --plan plan --labels plan_labels.json"
CHECK = "check --task task.py"
DETECT = "detect --detector mine.py:detector --images w1/images -o detected.parquet"
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
        "launcher": (base, "--launcher ray"),
        "ray_address": (base, "--launcher none --ray-address auto"),
        "ray_workers": (base, "--launcher none --ray-workers 2"),
        "ray_gpus": (base, "--launcher none --ray-gpus 2"),
        "ray_cpus": (base, "--launcher none --ray-cpus 2"),
    }


def predictions(base):
    path = "--predictions new_predictions.json"
    cut = base.replace(path, "--predictions cut.json").replace(" fit/", " cut_fit/")
    return {
        "predictions": (base, "--predictions others.json"),
        "names": (base, f"{path} {NAMES}"),
        "complete": (cut, "--predictions cut.json --incomplete"),
        "numbering": (base, f"{path} --numbering coco"),
        "columns": (base, f"{path} --columns class,x,y,w,h,score"),
    }


def images(base, option=""):
    return {
        "images": (base, f"{option} w0/images"),
        "img_dir": (base, f"{option} w1/annotations.json img_dir=w0/images"),
        "every": (base, f"{option} w1/images every=2"),
    }


CASES = {
    "fit": {
        **detector(FIT_BY_RUN),
        **reference(FIT_BY_RUN),
        **running(FIT_BY_RUN),
        "labels": (FIT, "--labels some_val_labels.json"),
        "img_dir": (FIT_BY_RUN, "--img-dir nowhere"),
        "group": (FIT, "--group town"),
        "trained_here": (FIT, "--trained-here"),
        "category": (FIT, "--category any=thing\\ 1,thing\\ 2"),
        "task": ("fit --predictions new_predictions.json", "--task nowhere.py"),
        "data_root": (
            "fit --predictions new_predictions.json",
            "--task task.py --data-root nowhere",
        ),
        "join": ("fit", "--join fit other"),
        "predictions": (FIT, "--predictions others_val.json"),
        "names": (FIT, NAMES),
        "complete": (
            "fit --labels val_labels.json --predictions cut_val.json",
            "--incomplete",
        ),
        "numbering": (FIT, "--numbering coco"),
        "columns": (FIT, "--columns class,x,y,w,h,score"),
        "target": (FIT, "--target mAP50"),
        "score_thr": (f"{FIT} --target recall", "--score-thr .3"),
        "iou": (f"{FIT} --target recall --score-thr .3", "--iou .75"),
        "level": (FIT, "--level .5"),
        "work_dir": (FIT, "--work-dir elsewhere"),
        "json": (FIT, "--json"),
        "verbose": (FIT, "--verbose"),
    },
    "estimate": {
        **detector(ESTIMATE_BY_RUN),
        **reference(ESTIMATE_BY_RUN),
        **running(ESTIMATE_BY_RUN),
        **predictions(ESTIMATE),
        "images": ("estimate --estimator run/estimator.parquet", "w1/images"),
        "img_dir": (
            "estimate --estimator run/estimator.parquet",
            "w1/annotations.json --img-dir nowhere",
        ),
        "every": ("estimate --estimator run/estimator.parquet", "--images w1/images --every 2"),
        "estimator": (f"estimate {FILES}", "--estimator fit/estimator.parquet"),
        "category": (ESTIMATE, "--category any=thing\\ 1,thing\\ 2"),
        "present": (ESTIMATE, "--present nowhere"),
        "site": (ESTIMATE, "--site val_labels"),
        "group": (ESTIMATE, "--group nowhere"),
        "target": (ESTIMATE, "--target mAP50"),
        "score_thr": (ESTIMATE, "--score-thr .3"),
        "iou": (f"{ESTIMATE} --score-thr .3", "--iou .75"),
        "labels": (ESTIMATE_BY_RUN, "--labels some_labels.json"),
        "words": (ESTIMATE, "--labels new_labels.json --words x=nothing"),
        "export": (ESTIMATE, "--export exported"),
        "work_dir": (ESTIMATE, "--work-dir elsewhere"),
        "json": (ESTIMATE, "--json"),
        "verbose": (ESTIMATE, "--verbose"),
    },
    "label plan": {
        **detector(PLAN_BY_RUN),
        **reference(PLAN_BY_RUN),
        **running(PLAN_BY_RUN),
        **predictions(PLAN),
        **images(PLAN_BY_RUN, "--images"),
        "estimator": (f"{PLAN}", "--estimator other/estimator.parquet"),
        "category": (PLAN, "--category any=thing\\ 1,thing\\ 2"),
        "present": (PLAN, "--present nowhere"),
        "site": (PLAN, "--site val_labels"),
        "group": (PLAN, "--group nowhere"),
        "target": (PLAN, "--target mAP50"),
        "score_thr": (f"{PLAN} --target recall", "--score-thr .3"),
        "iou": (f"{PLAN} --target recall --score-thr .3", "--iou .75"),
        "n": (PLAN, "--n 9"),
        "seed": (PLAN, "--seed 1"),
        "frames": (PLAN, "--frames 2"),
        "prelabel": (PLAN, "--prelabel"),
        "verbose": (PLAN, "--verbose"),
        "compare": (PLAN, "--compare nowhere --compare-predictions others.json"),
        "compare_predictions": (PLAN, "--compare other --compare-predictions nowhere.json"),
        "work_dir": (PLAN, "--work-dir elsewhere"),
    },
    "label estimate": {
        "plan": ("label estimate --labels plan_labels.json", "--plan plan"),
        "labels": ("label estimate --plan plan", "--labels plan_labels.json"),
        "img_dir": ("label estimate --plan plan", "--labels yolo --img-dir nowhere"),
        "words": (LABELLED, "--words x=nothing"),
        "until": (LABELLED, "--until 5"),
        "score_thr": (LABELLED, "--score-thr .3"),
        "work_dir": (LABELLED, "--work-dir elsewhere"),
        "json": (LABELLED, "--json"),
        "verbose": (LABELLED, "--verbose"),
    },
    "compare": {
        **images(COMPARE_BY_RUN, "--images"),
        **reference(COMPARE_BY_RUN),
        **running(COMPARE_BY_RUN),
        "detectors": ("compare", "fit other --predictions new_predictions.json others.json"),
        "predictions": ("compare fit other", "--predictions new_predictions.json others.json"),
        "category": (COMPARE, "--category any=thing\\ 1,thing\\ 2"),
        "present": (COMPARE, "--present nowhere"),
        "target": (COMPARE, "--target mAP50"),
        "score_thr": (f"{COMPARE} --target recall", "--score-thr .3"),
        "iou": (f"{COMPARE} --target recall --score-thr .3", "--iou .75"),
        "labels": (COMPARE, "--labels new_labels.json"),
        "words": (COMPARE, "--labels new_labels.json --words x=nothing"),
        "level": (COMPARE, "--level .5"),
        "seed": (f"{COMPARE_BY_RUN} --json", "--seed 1"),
        "max_loss": (f"{WORSE_FIRST} --labels new_labels.json", "--max-loss 1"),
        "undecided": (f"{COMPARE} --max-loss 1", "--undecided fail"),
        "markdown": (COMPARE, "--markdown summary.md"),
        "work_dir": (COMPARE, "--work-dir elsewhere"),
        "json": (COMPARE, "--json"),
        "verbose": (COMPARE, "--verbose"),
    },
    "threshold": {
        **detector(THRESHOLD_BY_RUN),
        **reference(THRESHOLD_BY_RUN),
        **running(THRESHOLD_BY_RUN),
        **predictions(THRESHOLD),
        "images": ("threshold --estimator run/estimator.parquet", "w1/images"),
        "img_dir": (
            "threshold --estimator run/estimator.parquet",
            "w1/annotations.json --img-dir nowhere",
        ),
        "every": ("threshold --estimator run/estimator.parquet", "--images w1/images --every 2"),
        "recall": (OF_PLAN, "--recall .3"),
        "precision": (OF_PLAN, "--precision .3"),
        "iou": (THRESHOLD, "--iou .75"),
        "estimator": (f"threshold {FILES}", "--estimator fit/estimator.parquet"),
        "labels": ("threshold --plan plan", "--labels plan_labels.json"),
        "words": (OF_PLAN, "--words x=nothing"),
        "plan": ("threshold --labels plan_labels.json", "--plan plan"),
        "category": (THRESHOLD, "--category any=thing\\ 1,thing\\ 2"),
        "present": (THRESHOLD, "--present nowhere"),
        "work_dir": (OF_PLAN, "--work-dir elsewhere"),
        "json": (OF_PLAN, "--json"),
        "verbose": (THRESHOLD, "--verbose"),
    },
    "detect": {
        **detector(DETECT),
        **running(DETECT),
        **images(DETECT, "--images"),
        "img_dir": (DETECT, "--images w1/annotations.json --img-dir nowhere"),
        "output": (DETECT, "-o w1/elsewhere.parquet"),
        "work_dir": (DETECT, "--work-dir elsewhere_detect"),
    },
    "check": {
        **images(CHECK, "--images"),
        "task": ("check", "--task nowhere.py"),
        "data_root": (CHECK, "--data-root nowhere"),
        "metaset": (CHECK, "--metaset nowhere.py"),
        "n_sets": (CHECK, "--n-sets 3"),
        "n_images": (f"{CHECK} --n-sets 3", "--n-images 4"),
        "preset": (CHECK, "--preset paper"),
        "rate": (CHECK, "--rate 2"),
        "json": (CHECK, "--json"),
    },
}

REFUSED = (
    # with files, what is about running a detector
    *(
        (base, option)
        for base in (FIT, ESTIMATE, PLAN, THRESHOLD)
        for option in (
            "--device cpu",
            "--network-precision single",
            "--checkpoint a.pth",
            "--cfg-options a=1",
            "--classes a.txt",
            "--trust-checkpoint",
            "--batch-size 2",
            "--launcher ray",
            "--ray-workers 2",
        )
    ),
    # without files, what is about them
    (ESTIMATE_BY_RUN, "--images a.txt"),
    (ESTIMATE_BY_RUN, "--names a.txt"),
    (ESTIMATE_BY_RUN, "--incomplete"),
    # of another mode
    ("fit --join fit other", "--device cpu"),
    ("fit --join fit other", "--batch-size 2"),
    (OF_PLAN, "--category car"),
    (OF_PLAN, "--batch-size 2"),
    (OF_PLAN, "--images a.txt"),
    (THRESHOLD, "--labels a.json"),
    (THRESHOLD, "--plan plan"),
    (f"threshold --labels new_labels.json {FILES}", "--words a=b"),
    # values that would do nothing
    (LABELLED, "--until 0"),
    (LABELLED, "--until -1"),
    (CHECK, "--rate 0"),
    (CHECK, "--n-images 3"),
    (ESTIMATE_BY_RUN, "--batch-size 0"),
    (ESTIMATE, "--iou .75"),
    (ESTIMATE, "--words a=b"),
    (PLAN, "--iou .75"),
)
