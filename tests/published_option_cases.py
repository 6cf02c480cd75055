"""Calls for the options of the commands of published methods; see `option_outcomes`.

All run on worlds of rectangles, by stand-ins for a detector: what is about loading a network is
refused here, and acts in the tests of `tests/detectors`.
"""

FIT = (
    "estimate-map --detector shaken --task rectangles/task.py --method constant --preset light "
    "--repeats 0"
)
DROPPED = (
    "estimate-map --detector shaken --task rectangles/task.py --method constant --preset paper "
    "--n-sets 1 --n-images 2 --repeats 1"
)
WORDS = DROPPED.replace("shaken", "words").replace("task.py", "both.py")
COUNTED = f"{DROPPED} --target count_pooled_mae"
BLACK_BOX = "estimate-map --detector mine.py:detector --task task.py --method constant"
NEW = "--images rectangles/new/images"
SAVED = "estimate-map --estimator run --images w1/images"
SEARCH = (
    "search-dropout --detector shaken --task rectangles/four.py --n-sets 1 --n-images 2 "
    "--strategy greedy --rates .3 --repeats 1"
)
SETS = "build-metaset --task rectangles/task.py --n-sets 2 --n-images 4"
GIVEN = (
    "build-metaset --n-sets 1 --seed-set w0 rectangles/worlds/w0/annotations.json "
    "rectangles/worlds/w0/images"
)
SAMPLE = "demo --sample sampled"
TRAIN = "train-demo-detector --threads 1 --checkpoint trained.pth --report trained.md --images 1"
REPORT_ONLY = (
    "train-demo-detector --checkpoint weaker.pth --report trained.md --report-only --images 1"
)


def loading(base):
    """Options of a network, each refused by what loads it, or by what has none to load."""
    network, black_box = "--detector roadworld_nano", "--detector mine.py:detector"
    return {
        "detector": (base, "--detector nowhere.py"),
        "checkpoint": (base, f"{network} --checkpoint nowhere.pth"),
        "cfg_options": (base, f"{network} --cfg-options nothing"),
        "device": (base, f"{network} --device nowhere"),
        "network_precision": (base, f"{black_box} --network-precision single"),
        "classes": (base, f"{network} --classes nowhere.txt"),
        "trust_checkpoint": (base, f"{black_box} --trust-checkpoint"),
        "stages": (base, f"{black_box} --stages nowhere"),
    }


PUBLISHED_CASES = {
    "estimate-map": {
        **loading(DROPPED),
        "detector": (BLACK_BOX, "--detector second.py:detector"),
        "batch_size": (BLACK_BOX, "--batch-size 3"),
        "num_workers": (BLACK_BOX, "--num-workers -1"),
        "ray": (BLACK_BOX, "--ray 127.0.0.1:1"),
        "ray_workers": (BLACK_BOX, "--ray-workers 2"),
        "ray_gpus": (BLACK_BOX, "--ray-gpus 2"),
        "ray_cpus": (BLACK_BOX, "--ray-cpus 2"),
        "reference": (BLACK_BOX, "--reference second.py:detector"),
        "reference_checkpoint": (BLACK_BOX, "--reference-checkpoint nowhere.pth"),
        "reference_names": (BLACK_BOX, "--reference-names words.txt"),
        "task": (FIT, "--task rectangles/both.py"),
        "data_root": (FIT, "--data-root fading/worlds"),
        "max_images": (FIT, "--max-images 3"),
        "images": (FIT, NEW),
        "img_dir": (FIT, "--images rectangles/new/annotations.json --img-dir nowhere"),
        "every": (f"{FIT} {NEW}", "--every 2"),
        "categories": (f"{FIT} {NEW}", "--category thing=box"),
        "metaset": (DROPPED, "--metaset corrupted.py"),
        "n_sets": (DROPPED, "--n-sets 2"),
        "n_sets without sample sets": (FIT, "--n-sets 2"),
        "n_images": (DROPPED, "--n-images 3"),
        "n_images without sample sets": (FIT, "--n-images 3"),
        "method": (FIT, "--method median"),
        "target": (FIT, "--target mAP50"),
        "count_thr": (COUNTED, "--count-thr .95"),
        "bins": (COUNTED, "--bins bins.json"),
        "bins_name": (f"{COUNTED} --bins named_bins.json --bins-name few", "--bins-name more"),
        "estimator": (SAVED, "--estimator run2"),
        "preset": (DROPPED, "--preset released"),
        "repeats": (DROPPED, "--repeats 2"),
        "dropout": (DROPPED, "--dropout dropout.py"),
        "class_aware": (WORDS, "--class-aware"),
        "box_score": (DROPPED, "--box-score .95"),
        "domain_source": (FIT, "--domain-source w1"),
        "views": (FIT, "--views"),
        "das": (FIT, "--das"),
        "seed": (DROPPED, "--seed 1"),
        "work_dir": (FIT, "--work-dir elsewhere_map"),
        "json": (FIT, "--json"),
    },
    "search-dropout": {
        **loading(SEARCH),
        "task": (SEARCH, "--task nowhere.py"),
        "data_root": (SEARCH, "--data-root fading/worlds"),
        "max_images": (SEARCH, "--max-images 1"),
        "leave_out": (SEARCH, "--leave-out w1"),
        "metaset": (SEARCH, "--metaset corrupted.py"),
        "n_sets": (SEARCH, "--n-sets 2"),
        "n_images": (SEARCH, "--n-images 3"),
        "strategy": (SEARCH, "--strategy full"),
        "position": (SEARCH, "--position before"),
        "rates": (SEARCH, "--rates .6"),
        "preset": (SEARCH, "--preset released"),
        "repeats": (SEARCH, "--repeats 2"),
        "score": (SEARCH, "--score confidence_stability"),
        "target": (SEARCH, "--target mAP50"),
        "seed": (SEARCH, "--seed 1"),
        "batch_size": (SEARCH, "--batch-size 0"),
        "num_workers": (SEARCH, "--num-workers -1"),
        "work_dir": (SEARCH, "--work-dir elsewhere_search"),
    },
    "build-metaset": {
        "task": (SETS, "--task nowhere.py"),
        "data_root": (SETS, "--data-root nowhere"),
        "seed_set": (GIVEN, "--seed-set w1 rectangles/worlds/w1/annotations.json nowhere"),
        "mapping": (GIVEN, "--mapping box=thing"),
        "metaset": (SETS, "--metaset corrupted.py"),
        "n_sets": (SETS, "--n-sets 3"),
        "n_images": (SETS, "--n-images 3"),
        "n_transforms": (SETS, "--n-transforms 1"),
        "seed": (SETS, "--seed 1"),
        "work_dir": (SETS, "--work-dir elsewhere_sets"),
        "materialise": (SETS, "--materialise"),
        "contact_sheet": (SETS, "--no-contact-sheet"),
        "overwrite": (f"{SETS} --work-dir old_sets", "--n-sets 3 --overwrite"),
    },
    "demo": {
        # refused here, where nothing is rendered; what they do is seen in `tests/demo/test_demo.py`
        "work_dir": (SAMPLE, "--work-dir elsewhere_sample"),
        "held_back": (SAMPLE, "--held-back fog"),
        "published": (SAMPLE, "--published"),
        "sample": (SAMPLE, "--sample nowhere/../sampled_too"),
    },
    "train-demo-detector": {
        "config": (TRAIN, "--config longer.py"),
        "checkpoint": (REPORT_ONLY, "--checkpoint nowhere.pth"),
        "report": (REPORT_ONLY, "--report elsewhere.md"),
        "report_only": (TRAIN, "--checkpoint kept.pth --report-only"),
        "work_dir": (TRAIN, "--work-dir elsewhere_trained"),
        "images": (REPORT_ONLY, "--images 2"),
        "threads": (TRAIN, "--threads 2"),
    },
}

PUBLISHED_REFUSED = (
    # without a training, what is about it
    (REPORT_ONLY, "--config longer.py"),
    (REPORT_ONLY, "--work-dir elsewhere_trained"),
    # with a saved estimator, what is about a fit
    *((SAVED, option) for option in ("--method ac", "--target mAP50", "--seed 1", "--views")),
    (FIT, "--category car"),
)
