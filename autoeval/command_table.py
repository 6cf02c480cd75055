"""The commands of the ``autoeval`` program: a new one is one entry here."""

from __future__ import annotations

from autoeval.commands.command import Command

# Each group by how often its commands are used.
GROUPS = {
    "use": {
        "fit": Command(
            "fit an estimator to labels and a detector, or its predictions",
            "autoeval.api.fit_functions:fit",
            "autoeval.commands.estimate:show_fit",
        ),
        "estimate": Command(
            "estimate accuracy on new images without labels, by a saved estimator",
            "autoeval.api.site_functions:estimate",
            "autoeval.commands.estimate:show_estimate",
            around="autoeval.commands.estimate:around_estimate",
        ),
        "label plan": Command(
            "draw images to label, and say how exact their labels will make the estimate",
            "autoeval.api.site_functions:plan_labels",
            "autoeval.commands.labels:show_plan",
        ),
        "label estimate": Command(
            "estimate accuracy from a few labels and all that needs none",
            "autoeval.api.site_functions:estimate_with_labels",
            "autoeval.commands.labels:show_labelled",
            in_python=("planned",),
        ),
        "compare": Command(
            "say which of several detectors is better on new images, labelled or not",
            "autoeval.api.compare_detectors:compare",
            "autoeval.commands.compare:show",
            positional=("estimators",),
            around="autoeval.commands.compare:around",
        ),
        "threshold": Command(
            "choose the score threshold for a recall, a precision or the best F1",
            "autoeval.api.site_functions:threshold",
            "autoeval.commands.estimate:show_threshold",
        ),
        "monitor": Command(
            "watch many sites: which is worst, and which has changed",
            "autoeval.api.monitor_sites:monitor",
            "autoeval.commands.monitor:show",
            around="autoeval.commands.monitor:around",
        ),
        "detect": Command(
            "run a detector over images once, and keep its boxes in a file",
            "autoeval.api.detect_objects:detect",
            "autoeval.commands.estimate:show_detect",
        ),
        "check": Command(
            "read everything once without the network and say what a run would meet",
            "autoeval.commands.data:check",
        ),
    },
    "published methods": {
        "estimate-map": Command(
            "fit on a task with any method and sample sets, and estimate new images",
            "autoeval.stability.commands.estimate_map:estimate_map",
        ),
        "study": Command(
            "study the method: correlation, thresholds, sizes, repeats, boxes, changes",
            "autoeval.stability.commands.study:make_study",
            positional=("study",),
            more="autoeval.stability.commands.study:overview",
        ),
        "bench": Command(
            "compare all methods on score tables by leave-one-group-out cross-validation",
            "autoeval.stability.commands.bench:bench",
            positional=("scores",),
        ),
        "search-dropout": Command(
            "search the feature dropout whose box stability says most about mAP",
            "autoeval.stability.commands.search_dropout:search_dropout",
        ),
        "build-metaset": Command(
            "make sample sets from labelled seed sets",
            "autoeval.stability.commands.build_metaset:build_metaset",
        ),
        "reproduce bos": Command(
            "make the tables of the paper on box stability, compared with print",
            "autoeval.stability.commands.reproduce_bos:reproduce_bos",
        ),
    },
    "counting": {
        "count run": Command(
            "count in every image of a folder with any counter, and write predictions",
            "autoeval.counting.commands.counts:count_in_images",
        ),
        "count evaluate": Command(
            "measure predicted counts by bin of the true count, and overall",
            "autoeval.counting.commands.counts:evaluate",
            positional=("predictions",),
        ),
        "count praco": Command(
            "test whether a counter counts the class that the prompt names",
            "autoeval.counting.commands.praco:praco",
        ),
        "count praco export": Command(
            "write PrACo as a task for lmms-eval",
            "autoeval.counting.commands.praco:export_negative_labels",
        ),
        "count leaderboard": Command(
            "put several counting runs on one page: every model, every measure",
            "autoeval.counting.commands.counts:leaderboard",
            positional=("runs",),
        ),
        "count capture run": Command(
            "run counters on CAPTURe's tasks; goes on where it was stopped",
            "autoeval.counting.commands.capture:ask_counters",
            positional=("split",),
        ),
        "count capture report": Command(
            "measure answers to CAPTURe and write a report page",
            "autoeval.counting.commands.capture:report_answers",
            positional=("split", "answers"),
        ),
        "count capture answers": Command(
            "score the reading of counts out of free text",
            "autoeval.counting.commands.capture:score_reading",
            positional=("cases",),
        ),
        "count capture generate": Command(
            "generate the synthetic split: patterns behind a black box",
            "autoeval.counting.commands.capture:generate",
            positional=("out",),
        ),
        "count capture build-real": Command(
            "build the published split of real images",
            "autoeval.counting.commands.capture:build_real_split",
            positional=("out",),
        ),
        "count capture export": Command(
            "write CAPTURe as tasks for lmms-eval",
            "autoeval.counting.commands.capture:export_capture",
            positional=("split", "out"),
        ),
        "reproduce binned": Command(
            "make tables 2 to 5, bins, figures 10, 11 of the binned-counting paper",
            "autoeval.counting.commands.reproduce:reproduce_binned",
        ),
        "reproduce capture": Command(
            "make the tables of CAPTURe, compared with print",
            "autoeval.counting.commands.reproduce:reproduce_capture",
        ),
        "reproduce praco": Command(
            "make the tables of PrACo, compared with print",
            "autoeval.counting.commands.reproduce:reproduce_praco",
        ),
    },
    "other": {
        "list": Command(
            "list scores, methods, detectors, transforms, studies or counters by name",
            "autoeval.stability.commands.list:list_names",
            positional=("what",),
        ),
        "status": Command(
            "show how far a run is: jobs done, failed and left, and the rate",
            "autoeval.commands.data:status",
            positional=("work_dir",),
        ),
        "convert-labels": Command(
            "write labels of any format as a COCO annotation file",
            "autoeval.commands.data:convert_labels",
            positional=("labels", "output"),
        ),
        "demo": Command(
            "render the road world, fit an estimator on it and evaluate its estimates",
            "autoeval.demo.commands.demo:demo",
        ),
        "train-demo-detector": Command(
            "train the road world's small detector and measure it there",
            "autoeval.demo.commands.train_demo_detector:train_demo_detector",
        ),
    },
}
COMMANDS = {name: command for group in GROUPS.values() for name, command in group.items()}
