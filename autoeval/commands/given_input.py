"""An option that names an input, followed by what is particular to it: ``FILE KEY=VALUE ...``.

A detector, a file of predictions or a folder of images needs a few facts of its own now and then
(the names of its classes, the images of a JSON file). Such a fact stands behind the input that it
belongs to, so that it cannot be given without that input, and is no option of every command.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

AS_TYPED = "_as_typed"  # attribute of an input with what stands behind it: a tuple of words
TRUTHS = {"yes": True, "true": True, "no": False, "false": False}


@dataclass(frozen=True)
class Detail:
    """A fact that may follow an input.

    Parameters
    ----------
    name : str
        As typed in front of ``=``.
    about : str
        Its help.
    attribute : str
        Of the parsed arguments; by default `name`.
    read : callable
        From text to a value; `ValueError` where the text has none.
    default : object
        Where it is not given.
    """

    name: str
    about: str
    attribute: str = ""
    read: Callable[[str], Any] = str
    default: Any = None

    @property
    def dest(self) -> str:
        """Attribute of the parsed arguments."""
        return self.attribute or self.name


def yes_or_no(text: str) -> bool:
    """Read ``yes`` or ``no``."""
    if text.lower() not in TRUTHS:
        raise ValueError(f"expected yes or no but got '{text}'")
    return TRUTHS[text.lower()]


def add_input(
    group: argparse._ActionsContainer,
    option: str,
    details: Sequence[Detail],
    *,
    metavar: str,
    help: str,
    required: bool = False,
) -> None:
    """Declare an input and the facts that may follow it.

    The facts may stand alone, for what is given already or by default (``--metaset n_sets=3``).
    The parsed arguments have the input as `option`'s attribute, and each fact as its own. An
    option without dashes is a positional argument, which may be left out.
    """
    facts = "; ".join(f"{detail.name}= {detail.about}" for detail in details)
    named: dict[str, Any] = {"nargs": "*", "metavar": metavar.upper()}
    if option.startswith("-"):
        named = {"nargs": "+", "metavar": (metavar, "KEY=VALUE"), "required": required}
    group.add_argument(
        option,
        action=_GivenInput,
        details={detail.name: detail for detail in details},
        help=f"{help}; behind it {facts}",
        **named,
    )
    group.set_defaults(**{detail.dest: detail.default for detail in details})


def as_typed(args: argparse.Namespace, name: str) -> tuple[str, ...]:
    """Return the words of an input and of the facts behind it; none where it was not given."""
    return getattr(args, f"{name}{AS_TYPED}", ())


class _GivenInput(argparse.Action):
    """Takes ``INPUT KEY=VALUE ...`` apart."""

    def __init__(self, *args: Any, details: Mapping[str, Detail], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.details = details

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        if not values:  # a positional argument that is left out
            setattr(namespace, self.dest, None)
            return
        given, *facts = values
        if given.partition("=")[0].replace("-", "_") in self.details and not Path(given).exists():
            given, facts = getattr(namespace, self.dest), values  # of what is given already
        setattr(namespace, self.dest, given)
        setattr(namespace, f"{self.dest}{AS_TYPED}", tuple(values))
        for fact in facts:
            name, sign, text = fact.partition("=")
            detail = self.details.get(name.replace("-", "_"))
            if not sign or not text or detail is None:
                known = ", ".join(f"{name}=VALUE" for name in self.details)
                raise argparse.ArgumentError(self, f"expected {known} behind it but got '{fact}'")
            try:
                setattr(namespace, detail.dest, detail.read(text))
            except ValueError as error:
                raise argparse.ArgumentError(self, f"{name}={text}: {error}") from error
