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
INPUT_NEEDED = object()  # stands for: facts alone are refused
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


@dataclass(frozen=True)
class InputReading:
    """How the words of an input become its value.

    Parameters
    ----------
    read : callable
        From the text of the input to its value; `ValueError` where it has none.
    choices : sequence of str
        What the input may be; by default anything.
    alone : object
        What the input is where facts stand without it. Unless that is None, the option may stand
        without any word, too. By default facts without an input are refused.
    several : bool
        Whether the input is a list, of all words in front of the facts.
    """

    read: Callable[[str], Any] = str
    choices: Sequence[str] = ()
    alone: Any = INPUT_NEEDED
    several: bool = False

    def value(self, words: Sequence[str]) -> Any:
        """Return the value of the words in front of the facts."""
        if self.choices:
            wrong = [word for word in words if word not in self.choices]
            if wrong:
                raise ValueError(f"expected {', '.join(self.choices)} but got '{wrong[0]}'")
        values = [self.read(word) for word in words]
        return values if self.several else values[0]

    def without_words(self, before: Any, facts: str, form: str) -> Any:
        """Return the value where `facts` alone are given, for what was given `before`.

        `form` is how the value is called in the help.
        """
        if before is not None:
            return before
        if self.alone is INPUT_NEEDED:
            raise ValueError(f"expected {form} in front of {facts}")
        return self.alone


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
    default: Any = None,
    reading: InputReading = InputReading(),
) -> None:
    """Declare an input and the facts that may follow it.

    The parsed arguments have the input as `option`'s attribute, and each fact as its own. An
    option without dashes is a positional argument, which may be left out. Facts may stand without
    the input where it is given elsewhere in the command, or has a default.

    Parameters
    ----------
    group : argparse container
    option : str
    details : sequence of Detail
    metavar, help : str
    required : bool
    default : object
        Of the input.
    reading : InputReading
    """
    facts = "; ".join(f"{detail.name}= {detail.about}" for detail in details)
    named: dict[str, Any] = {"nargs": "*", "metavar": option.upper()}
    if option.startswith("-"):
        may_be_bare = reading.alone is not INPUT_NEEDED and reading.alone is not None
        named = {"metavar": (metavar, "KEY=VALUE"), "required": required}
        named["nargs"] = "*" if may_be_bare else "+"
    group.add_argument(
        option,
        action=GivenInput,
        details={detail.name: detail for detail in details},
        reading=reading,
        help=f"{help}; behind it {facts}",
        short_help=f"{help} ({' '.join(f'{detail.name}=' for detail in details)})",
        default=default,
        **named,
    )
    group.set_defaults(**{detail.dest: detail.default for detail in details})


def as_typed(args: argparse.Namespace, name: str) -> tuple[str, ...]:
    """Return the words of an input and of the facts behind it; none where it was not given."""
    return getattr(args, f"{name}{AS_TYPED}", ())


class GivenInput(argparse.Action):
    """Takes ``INPUT KEY=VALUE ...`` apart."""

    def __init__(
        self,
        *args: Any,
        details: Mapping[str, Detail],
        reading: InputReading,
        short_help: str,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.details = details
        self.reading = reading
        self.short_help = short_help

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Set the input and its facts."""
        if not values and not self.option_strings:  # a positional argument that is left out
            setattr(namespace, self.dest, None)
            return
        n_words = len(values) if self.reading.several else 1
        is_fact = (k for k, word in enumerate(values[:n_words]) if self._is_fact(word))
        first_fact = min(next(is_fact, n_words), len(values))
        words, facts = values[:first_fact], values[first_fact:]
        earlier = getattr(namespace, self.dest)
        form = self.metavar[0] if isinstance(self.metavar, tuple) else str(self.metavar)
        try:
            given = (
                self.reading.value(words)
                if words
                else self.reading.without_words(earlier, " ".join(facts), form)
            )
        except (ValueError, argparse.ArgumentTypeError) as error:
            raise argparse.ArgumentError(self, str(error)) from error
        before = as_typed(namespace, self.dest) if self.reading.several else ()
        if before and words:  # the option a second time
            given = [*earlier, *given]
        setattr(namespace, self.dest, given)
        setattr(namespace, f"{self.dest}{AS_TYPED}", (*before, *values))
        for fact in facts:
            self._set_fact(namespace, fact)

    def _is_fact(self, word: str) -> bool:
        name, sign, _ = word.partition("=")
        return bool(sign) and name.replace("-", "_") in self.details and not Path(word).exists()

    def _set_fact(self, namespace: argparse.Namespace, fact: str) -> None:
        name, sign, text = fact.partition("=")
        detail = self.details.get(name.replace("-", "_"))
        if not sign or not text or detail is None:
            expected = ", ".join(f"{name}=VALUE" for name in self.details)
            raise argparse.ArgumentError(self, f"expected {expected} behind it but got '{fact}'")
        try:
            setattr(namespace, detail.dest, detail.read(text))
        except (ValueError, argparse.ArgumentTypeError) as error:
            raise argparse.ArgumentError(self, f"{name}={text}: {error}") from error
