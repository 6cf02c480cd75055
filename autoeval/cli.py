"""The ``autoeval`` program: finds a subcommand, runs it, and returns a status."""

from __future__ import annotations

import argparse
import importlib
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

from autoeval.commands.command_line import Command, run_command, typed_names
from autoeval.commands.given_input import without_input
from autoeval.commands.short_help import add_help
from autoeval.commands.typed_options import typed_options
from autoeval.version import __version__

PACKAGES = (
    "autoeval.commands",
    "autoeval.stability.commands",
    "autoeval.demo.commands",
    "autoeval.counting.commands",
)
"""Where commands are looked for, each in a file of its name."""

# Each group by how often its commands are used.
GROUPS = {
    "use": {
        "fit": "fit an estimator to labels and a detector, or its predictions",
        "estimate": "estimate accuracy on new images without labels, by a saved estimator",
        "label plan": "draw images to label, and say how exact their labels will make the estimate",
        "label estimate": "estimate accuracy from a few labels and all that needs none",
        "compare": "say which of several detectors is better on new images, labelled or not",
        "threshold": "choose the score threshold for a recall, a precision or the best F1",
        "monitor": "watch many sites: which is worst, and which has changed",
        "detect": "run a detector over images once, and keep its boxes in a file",
        "check": "read everything once without the network and say what a run would meet",
    },
    "published methods": {
        "estimate-map": "fit on a task with any method and sample sets, and estimate new images",
        "study": "study the method: correlation, thresholds, sizes, repeats, boxes, changes",
        "bench": "compare all methods on score tables by leave-one-group-out cross-validation",
        "search-dropout": "search the feature dropout whose box stability says most about mAP",
        "build-metaset": "make sample sets from labelled seed sets",
        "reproduce bos": "make the tables of the paper on box stability, printed figures beside",
    },
    "counting": {
        "count run": "count in every image of a folder with any counter, and write predictions",
        "count evaluate": "measure predicted counts by bin of the true count, and overall",
        "count praco": "test whether a counter counts the class that the prompt names",
        "count praco export": "write PrACo as a task for lmms-eval",
        "count leaderboard": "put several counting runs on one page: every model, every measure",
        "count capture run": "run counters on CAPTURe's tasks; goes on where it was stopped",
        "count capture report": "measure answers to CAPTURe and write a report page",
        "count capture answers": "score the reading of counts out of free text",
        "count capture generate": "generate the synthetic split: patterns behind a black box",
        "count capture build-real": "build the published split of real images",
        "count capture export": "write CAPTURe as tasks for lmms-eval",
        "reproduce binned": "make tables 2 to 5, bins, figures 10, 11 of the binned-counting paper",
        "reproduce capture": "make the tables of CAPTURe, printed figures beside",
        "reproduce praco": "make the tables of PrACo, printed figures beside",
    },
    "other": {
        "list": "list scores, methods, detectors, transforms, studies or counters by name",
        "status": "show how far a run is: jobs done, failed, running and left, and the rate",
        "convert-labels": "write labels of any format as a COCO annotation file",
        "demo": "render the road world, fit an estimator on it and evaluate its estimates",
        "train-demo-detector": "train the road world's small detector and measure it there",
    },
}
COMMANDS = {name: text for commands in GROUPS.values() for name, text in commands.items()}

FUNCTIONS = {
    "fit": Command("autoeval.api.fit_functions:fit", "autoeval.commands.fit:show"),
    "estimate": Command("autoeval.api.site_functions:estimate", "autoeval.commands.estimate:show"),
    "label plan": Command(
        "autoeval.api.site_functions:plan_labels", "autoeval.commands.label_plan:show"
    ),
    "label estimate": Command(
        "autoeval.api.site_functions:estimate_with_labels",
        "autoeval.commands.label_estimate:show",
        in_python=("planned",),
    ),
    "compare": Command(
        "autoeval.api.compare_detectors:compare",
        "autoeval.commands.compare:show",
        positional=("estimators",),
        around="autoeval.commands.compare:around",
    ),
    "threshold": Command(
        "autoeval.api.site_functions:threshold", "autoeval.commands.threshold:show"
    ),
    "monitor": Command(
        "autoeval.api.monitor_sites:monitor",
        "autoeval.commands.monitor:show",
        around="autoeval.commands.monitor:around",
    ),
    "detect": Command("autoeval.api.detect_objects:detect", "autoeval.commands.detect:show"),
    "count run": Command("autoeval.counting.commands.run:count_in_images"),
    "count evaluate": Command(
        "autoeval.counting.commands.evaluate:evaluate", positional=("predictions",)
    ),
    "count praco": Command("autoeval.counting.commands.praco:praco"),
    "count praco export": Command("autoeval.counting.commands.praco_export:export_negative_labels"),
    "count leaderboard": Command(
        "autoeval.counting.commands.leaderboard:leaderboard", positional=("runs",)
    ),
    "count capture run": Command(
        "autoeval.counting.commands.capture_run:ask_counters", positional=("split",)
    ),
    "count capture report": Command(
        "autoeval.counting.commands.capture_report:report_answers", positional=("split", "answers")
    ),
    "count capture answers": Command(
        "autoeval.counting.commands.capture_answers:score_reading", positional=("cases",)
    ),
    "count capture generate": Command(
        "autoeval.counting.commands.capture_generate:generate", positional=("out",)
    ),
    "count capture build-real": Command(
        "autoeval.counting.commands.capture_build_real:build_real_split", positional=("out",)
    ),
    "count capture export": Command(
        "autoeval.counting.commands.capture_export:export_capture", positional=("split", "out")
    ),
    "reproduce binned": Command("autoeval.counting.commands.reproduce_binned:reproduce_binned"),
    "reproduce capture": Command("autoeval.counting.commands.reproduce_capture:reproduce_capture"),
    "reproduce praco": Command("autoeval.counting.commands.reproduce_praco:reproduce_praco"),
    "check": Command("autoeval.commands.check:check"),
    "convert-labels": Command(
        "autoeval.commands.convert_labels:convert_labels", positional=("labels", "out")
    ),
    "list": Command("autoeval.stability.commands.list:list_names", positional=("what",)),
    "status": Command("autoeval.commands.status:status", positional=("work_dir",)),
}
"""Commands that are a public function; the others declare their options themselves."""

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
    name = next((n for n in (" ".join(words[:k]) for k in (3, 2, 1)) if n in COMMANDS), None)
    if name is None:
        return _usage(words)
    if name in FUNCTIONS:
        rest = words[len(name.split()) :]
        return _run(lambda: run_command(name, FUNCTIONS[name], rest))
    module = importlib.import_module(_module(name))
    parser = parser_of(name)
    args = parser.parse_args(words[len(name.split()) :])
    args.command_line = _shown(words, args)
    args.typed = typed_options(parser, args)
    lone = without_input(parser, list(args.typed.values()))
    if lone:
        option, inputs = lone
        print(f"error: {option} goes with {' or '.join(inputs)}: give that, too.", file=sys.stderr)
        return BAD_INPUT
    return _run(lambda: module.run(args))


def parser_of(name: str) -> argparse.ArgumentParser:
    """Make the parser of a subcommand."""
    module = importlib.import_module(_module(name))
    parser = argparse.ArgumentParser(
        prog=f"autoeval {name}", description=module.__doc__, add_help=False
    )
    add_help(parser, getattr(module, "RARE", ()))
    module.add_arguments(parser)
    return parser


def options_of(name: str) -> list[str]:
    """Return the options of a command as they are typed; a positional argument by its name."""
    if name in FUNCTIONS:
        return typed_names(FUNCTIONS[name])
    actions = [action for action in parser_of(name)._actions if action.dest != argparse.SUPPRESS]
    return [next((o for o in a.option_strings if o.startswith("--")), a.dest) for a in actions]


def _shown(words: Sequence[str], args: argparse.Namespace) -> str:
    """Return the command as typed, without the address of a webhook, which is a password."""
    secret = getattr(args, "webhook", None)
    if secret:
        from autoeval.io.wording import masked_address

        words = [word.replace(secret, masked_address(secret)) for word in words]
    return shlex.join(["autoeval", *words])


def _module(name: str) -> str:
    """Return the module of a subcommand, of the first of `PACKAGES` that has it."""
    file = name.replace(" ", "_").replace("-", "_")
    if name.startswith("count "):
        return f"autoeval.counting.commands.{file.removeprefix('count_')}"
    return next(m for m in (f"{package}.{file}" for package in PACKAGES) if find_spec(m))


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
            print(f"  {name:{width}}  {commands_here[name]}", file=stream)
    return 0 if complete else BAD_INPUT


def _commands(group: list[str]) -> dict[str, str]:
    return {name: text for name, text in COMMANDS.items() if name.split()[: len(group)] == group}


if __name__ == "__main__":
    sys.exit(main())
