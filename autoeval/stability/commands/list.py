"""List what can be named in options and files, each with its meaning in one line."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path
from typing import TypeGuard

from autoeval.errors import InputError


def list_names(what: str | None = None) -> None:
    """List what can be named in options and files, each with its meaning in one line.

    Parameters
    ----------
    what : str, optional
        One list: scores, methods, detectors, transforms, studies or counters (default: all).
    """
    if what is not None and what not in LISTS:
        raise InputError(f"Expected one of {', '.join(LISTS)} but got '{what}'.")
    if what is not None:
        print(_lines(what))
    else:
        print("\n\n".join(f"{what}:\n{_lines(what)}" for what in LISTS))


def _lines(list_name: str) -> str:
    meanings = LISTS[list_name]()
    width = max(map(len, meanings))
    return "\n".join(f"{name:{width}}  {meaning}" for name, meaning in meanings.items())


def _scores() -> Mapping[str, str]:
    from autoeval.stability.scores.base import scores

    return {name: score.meaning for name, score in scores().items()}


def _methods() -> Mapping[str, str]:
    from autoeval.stability.methods import methods

    return {name: method.meaning for name, method in sorted(methods().items())}


def _detectors() -> Mapping[str, str]:
    from autoeval.detectors.adapters import adapters
    from autoeval.detectors.building.aliases import detector_names, find_config

    known = {name: _first_line(_parsed(find_config(name))) for name in detector_names()}
    of_frameworks = {
        adapter.FORM: _first_line(_parsed(Path(adapter.__file__))).replace("`", "")
        for adapter in adapters()
    }
    return {**known, **of_frameworks}


def _transforms() -> Mapping[str, str]:
    from autoeval.stability.metasets.transforms import (
        CORRUPTIONS,
        MILD,
        RELEASED_MIX,
        get_transform,
    )

    transforms = map(get_transform, (*MILD, RELEASED_MIX, *CORRUPTIONS))
    return {t.name: f"{t.meaning}, {t.low:g} to {t.high:g}" for t in transforms}


def _studies() -> Mapping[str, str]:
    from autoeval.stability.commands.study import STUDIES

    return {name: study.question for name, study in STUDIES.items()}


def _counters() -> Mapping[str, str]:
    """Read what a counter's config file may name as its type, without importing any."""
    from autoeval.counting import counters

    return {
        f"{counters.__name__}.{path.stem}.{node.name}": _first_line(node)
        for path in sorted(Path(counters.__file__).parent.glob("*.py"))
        for node in _parsed(path).body
        if _makes_counter(node)
    }


def _makes_counter(node: ast.stmt) -> TypeGuard[ast.ClassDef | ast.FunctionDef]:
    if isinstance(node, ast.FunctionDef):
        return isinstance(node.returns, ast.Name) and node.returns.id == "Counter"
    return isinstance(node, ast.ClassDef) and node.name.endswith("Counter") and not node.bases


def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _first_line(node: ast.Module | ast.ClassDef | ast.FunctionDef) -> str:
    return (ast.get_docstring(node) or "").partition("\n")[0]


LISTS = {
    "scores": _scores,
    "methods": _methods,
    "detectors": _detectors,
    "transforms": _transforms,
    "studies": _studies,
    "counters": _counters,
}
