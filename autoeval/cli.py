"""The ``autoeval`` program: finds a subcommand, runs it, and returns a status."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from autoeval.commands.command_line import Command, run_command
from autoeval.version import __version__

# Each group by how often its commands are used.
GROUPS = {
    "use": {
        "fit": Command(
            "fit an estimator to labels and a detector, or its predictions",
            "autoeval.api.fit_functions:fit",
            "autoeval.commands.fit:show",
        ),
        "estimate": Command(
            "estimate accuracy on new images without labels, by a saved estimator",
            "autoeval.api.site_functions:estimate",
            "autoeval.commands.estimate:show",
            around="autoeval.commands.estimate:around",
        ),
        "label plan": Command(
            "draw images to label, and say how exact their labels will make the estimate",
            "autoeval.api.site_functions:plan_labels",
            "autoeval.commands.label_plan:show",
        ),
        "label estimate": Command(
            "estimate accuracy from a few labels and all that needs none",
            "autoeval.api.site_functions:estimate_with_labels",
            "autoeval.commands.label_estimate:show",
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
            "autoeval.commands.threshold:show",
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
            "autoeval.commands.detect:show",
        ),
        "check": Command(
            "read everything once without the network and say what a run would meet",
            "autoeval.commands.check:check",
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
            "make the tables of the paper on box stability, printed figures beside",
            "autoeval.stability.commands.reproduce_bos:reproduce_bos",
        ),
    },
    "counting": {
        "count run": Command(
            "count in every image of a folder with any counter, and write predictions",
            "autoeval.counting.commands.run:count_in_images",
        ),
        "count evaluate": Command(
            "measure predicted counts by bin of the true count, and overall",
            "autoeval.counting.commands.evaluate:evaluate",
            positional=("predictions",),
        ),
        "count praco": Command(
            "test whether a counter counts the class that the prompt names",
            "autoeval.counting.commands.praco:praco",
        ),
        "count praco export": Command(
            "write PrACo as a task for lmms-eval",
            "autoeval.counting.commands.praco_export:export_negative_labels",
        ),
        "count leaderboard": Command(
            "put several counting runs on one page: every model, every measure",
            "autoeval.counting.commands.leaderboard:leaderboard",
            positional=("runs",),
        ),
        "count capture run": Command(
            "run counters on CAPTURe's tasks; goes on where it was stopped",
            "autoeval.counting.commands.capture_run:ask_counters",
            positional=("split",),
        ),
        "count capture report": Command(
            "measure answers to CAPTURe and write a report page",
            "autoeval.counting.commands.capture_report:report_answers",
            positional=("split", "answers"),
        ),
        "count capture answers": Command(
            "score the reading of counts out of free text",
            "autoeval.counting.commands.capture_answers:score_reading",
            positional=("cases",),
        ),
        "count capture generate": Command(
            "generate the synthetic split: patterns behind a black box",
            "autoeval.counting.commands.capture_generate:generate",
            positional=("out",),
        ),
        "count capture build-real": Command(
            "build the published split of real images",
            "autoeval.counting.commands.capture_build_real:build_real_split",
            positional=("out",),
        ),
        "count capture export": Command(
            "write CAPTURe as tasks for lmms-eval",
            "autoeval.counting.commands.capture_export:export_capture",
            positional=("split", "out"),
        ),
        "reproduce binned": Command(
            "make tables 2 to 5, bins, figures 10, 11 of the binned-counting paper",
            "autoeval.counting.commands.reproduce_binned:reproduce_binned",
        ),
        "reproduce capture": Command(
            "make the tables of CAPTURe, printed figures beside",
            "autoeval.counting.commands.reproduce_capture:reproduce_capture",
        ),
        "reproduce praco": Command(
            "make the tables of PrACo, printed figures beside",
            "autoeval.counting.commands.reproduce_praco:reproduce_praco",
        ),
    },
    "other": {
        "list": Command(
            "list scores, methods, detectors, transforms, studies or counters by name",
            "autoeval.stability.commands.list:list_names",
            positional=("what",),
        ),
        "status": Command(
            "show how far a run is: jobs done, failed, running and left, and the rate",
            "autoeval.commands.status:status",
            positional=("work_dir",),
        ),
        "convert-labels": Command(
            "write labels of any format as a COCO annotation file",
            "autoeval.commands.convert_labels:convert_labels",
            positional=("labels", "out"),
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

HELP = ("-h", "--help", "--help-all")
#: The extra that brings a module; others come with the package.
EXTRA_OF = {
    **dict.fromkeys(("torch", "mmdet", "mmengine", "mmcv", "albumentations"), "mmdet,mmcv-lite"),
    **dict.fromkeys(("astropy",), "counting"),
    "openai": "endpoint",
    "ray": "ray",
    "transformers": "vlm",
}
FAILURE, BAD_INPUT, INTERRUPTED = 1, 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments without the program's name; those of the process by default.

    Returns
    -------
    int
        0 on success, 1 on failure or when nobody reads the output any more, 2 on bad input, 130
        when interrupted.
    """
    if sys.stdout is None:  # closed by who started this, as by >&- of a shell
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    try:
        try:
            return _main(argv)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        # What the buffer holds goes nowhere, or the interpreter would complain of it in the end:
        # https://docs.python.org/3/library/signal.html#note-on-sigpipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILURE


def _main(argv: Sequence[str] | None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    if words == ["--version"]:
        print(f"autoeval {__version__}")
        return 0
    if words[:1] and words[0] in HELP:  # autoeval --help fit
        words = [*words[1:], words[0]]
    name = next((n for n in (" ".join(words[:k]) for k in (3, 2, 1)) if n in COMMANDS), None)
    if name is None:
        return _usage(words)
    rest = words[len(name.split()) :]
    return _run(lambda: run_command(name, COMMANDS[name], rest))


def _run(command: Callable[[], int]) -> int:
    from autoeval.errors import InputError

    try:
        return command() or 0
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return BAD_INPUT
    except ModuleNotFoundError as error:
        if not error.name or error.name.startswith("autoeval"):
            raise
        print(
            f"error: this needs {error.name}, which is not installed: {_install(error.name)}.",
            file=sys.stderr,
        )
        return BAD_INPUT
    except BrokenPipeError:
        raise
    except OSError as error:
        print(f"error: {error}", file=sys.stderr)
        return FAILURE
    except KeyboardInterrupt as interrupt:
        kept = str(interrupt) or "what its folder keeps is not done again"
        print(f"\nInterrupted. Give the same command again: {kept}.", file=sys.stderr)
        return INTERRUPTED


def _install(module: str) -> str:
    """Return how a module that is missing is installed, in a checkout or with the package."""
    extra = EXTRA_OF.get(module)
    extras = f"[{extra}]" if extra else ""
    if (Path(__file__).resolve().parents[1] / "pyproject.toml").is_file():
        return f"pip install -e '.{extras}'" if extra else "pip install -e ."
    return f"pip install 'autoeval{extras}'" if extra else "pip install autoeval"


def _usage(words: list[str]) -> int:
    """Print the commands by group, or those that begin with a word such as ``count``."""
    asked = [word for word in words if word not in HELP]
    group = next((g for g in (asked[:2], asked[:1], []) if _commands(g)), [])
    complete = asked == group
    stream = sys.stdout if complete else sys.stderr
    if not complete:
        print(f"error: no command '{' '.join(asked[: len(group) + 1])}'", file=stream)
    commands_here = _commands(group)
    width = max(map(len, commands_here))
    start = " ".join(["usage: autoeval", *group, "COMMAND [options]"])
    print(f"{start}   (autoeval COMMAND --help says more)\n", file=stream)
    for title, commands in GROUPS.items():
        shown = [name for name in commands if name in commands_here]
        if shown and not group:
            print(f"{title}:", file=stream)
        for name in shown:
            print(f"  {name:{width}}  {commands_here[name].about}", file=stream)
    return 0 if complete else BAD_INPUT


def _commands(group: list[str]) -> dict[str, Command]:
    return {
        name: command for name, command in COMMANDS.items() if name.split()[: len(group)] == group
    }


if __name__ == "__main__":
    sys.exit(main())
