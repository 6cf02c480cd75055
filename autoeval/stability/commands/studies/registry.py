"""The studies by name: each registers itself when its file is imported, as all of this package are.

A file of a study imports nothing heavy: the list of studies is part of ``autoeval study --help``.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from autoeval.stability.reports.study_report import StudyReport

PACKAGE = "autoeval.stability.commands.studies"
REPORTS = "autoeval.stability.reports"


@dataclass(frozen=True)
class StudyRun:
    """One call of a study: the arguments, and its settings as read from ``--set``.

    Parameters
    ----------
    args : namespace
        All options of the command.
    report : callable
        The function that makes the report, imported.
    settings : mapping
        Its keyword-only parameters, the seed among them where it has one.
    passes : mapping
        Settings of the pass that observes the boxes.
    """

    args: Any
    report: Callable[..., StudyReport]
    settings: dict[str, Any]
    passes: dict[str, Any]


@dataclass(frozen=True)
class Study:
    """What a study asks, what it starts from, and how it is run.

    Parameters
    ----------
    name, question : str
    function : str
        ``MODULE.FUNCTION`` in `autoeval.stability.reports`, which makes the report.
    run : callable
        Reads what the study starts from and makes the report.
    settings : mapping
        Keyword-only parameters of the function, but for the seed, with their defaults, whose types
        say how ``--set`` is read; an empty string is none.
    inputs : tuple of str
        Options that it takes beside ``--set``, ``--work-dir`` and ``--seed``.
    passes : mapping
        Settings of the pass that observes the boxes, with their defaults.
    """

    name: str
    question: str
    function: str
    run: Callable[[StudyRun], StudyReport]
    settings: Mapping[str, Any]
    inputs: tuple[str, ...] = ("scores",)
    passes: Mapping[str, Any] = field(default_factory=dict)

    def report_function(self) -> Callable[..., StudyReport]:
        """Import the function that makes the report."""
        module, name = self.function.split(".")
        return getattr(importlib.import_module(f"{REPORTS}.{module}"), name)

    def make(self, args: Any, values: Mapping[str, Any]) -> StudyReport:
        """Run the study with the values of its settings and of its pass."""
        report = self.report_function()
        settings = {name: values[name] for name in self.settings}
        if "seed" in inspect.signature(report).parameters:
            settings["seed"] = args.seed
        passes = {name: values[name] for name in self.passes}
        return self.run(StudyRun(args, report, settings, passes))


_STUDIES: dict[str, Study] = {}


def study(
    name: str, question: str, function: str, settings: Mapping[str, Any], **declared: Any
) -> Callable[[Callable[[StudyRun], StudyReport]], Callable[[StudyRun], StudyReport]]:
    """Make a study known by the function that runs it; a decorator. Parameters as of `Study`."""

    def register(run: Callable[[StudyRun], StudyReport]) -> Callable[[StudyRun], StudyReport]:
        if name in _STUDIES:
            raise ValueError(f"Another study is already called {name}.")
        _STUDIES[name] = Study(name, question, function, run, settings, **declared)
        return run

    return register


def studies() -> Mapping[str, Study]:
    """Return every study by its name, in alphabetical order."""
    _import_all()
    return MappingProxyType(dict(sorted(_STUDIES.items())))


@cache
def _import_all() -> None:
    for module in pkgutil.iter_modules(importlib.import_module(PACKAGE).__path__):
        importlib.import_module(f"{PACKAGE}.{module.name}")
