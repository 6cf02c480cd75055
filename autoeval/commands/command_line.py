"""Options of a command, from signatures and docstrings of its functions, and how words are read.

`run_command` reads the words (`read_words`; values of a form of their own by
`autoeval.commands.option_values`), refuses output paths that cannot be written, calls the function
with what was given, and shows the result. `help_of` writes the help. All errors of options are
`InputError`.
"""

from __future__ import annotations

import ast
import inspect
import os
import re
import shlex
from argparse import SUPPRESS, ArgumentError, ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from pkgutil import resolve_name
from shutil import get_terminal_size
from textwrap import shorten, wrap
from typing import Any

from autoeval.commands.command import Command
from autoeval.commands.option_values import READERS
from autoeval.errors import InputError
from autoeval.words import is_given, option_of

HELP = ("--help", "-h", "--help-all")
SHORT = {"output": "-o"}
#: Options that take one word each time, so that what follows may be positional.
ONE_AT_A_TIME = ("categories", "counter", "present")
MAY_BE_EMPTY = ("search",)  # lists that may be given without a word
#: Options that take several words each time, which belong together.
IN_GROUPS = ("seed_set", "site_categories")
LISTS = ("Sequence", "Collection", "Mapping")
KINDS = {"bool": bool, "int": int, "float": float}
LARGEST_WHOLE = 2**32 - 1  # counts and seeds are whole; generators take no larger seed
NUMBERS = {int: f"a whole number from 0 to {LARGEST_WHOLE}", float: "a number"}
INDENT = 26  # columns of help before a text
WIDEST = 100  # columns of help in all
SCREEN = 60  # lines
HOME = re.compile("(^|=)~(?=/)")  # no shell expands it in quotes, or behind =
DASH = "\0"  # for the "-" that begins a value such as "-", "-.5" and "-,x,y": no option
#: The command that runs, for pages; empty where a function is called from Python.
TYPED: ContextVar[str] = ContextVar("typed", default="")
SECRET = "webhook"  # its address holds a password
#: What to do where several values are meant and an option takes one.
INSTEAD_OF_SEVERAL = {
    "labels": "labels in several files, as of several rounds, go into one file or folder: export "
    "all of them at once"
}
#: Parameters that name what a command writes.
FOLDERS_WRITTEN = ("work_dir", "export", "out")
FILES_WRITTEN = ("output", "markdown", "prometheus", "report")


@dataclass(frozen=True)
class Option:
    """A parameter of a command as it is typed.

    Parameters
    ----------
    typed : tuple of str
        How it is typed, such as ``--output`` and ``-o``; its name where it is positional.
    kind : type
        What each of its words is read as: bool, int, float or str.
    choices : tuple of str
        The words that it takes; empty for all.
    several : bool
        Whether it takes a list of words.
    default : object
        ``inspect.Parameter.empty`` where it is required.
    """

    typed: tuple[str, ...]
    kind: type
    choices: tuple[str, ...]
    several: bool
    default: Any


@dataclass(frozen=True)
class Invocation:
    """What was typed, for pages and for the line on the next step.

    Parameters
    ----------
    values : mapping
        Every parameter of the command with its value, given or not.
    words : mapping
        Of each parameter that was given the option and its words, as typed.
    command_line : str
        The whole command; the address of a webhook is masked in it.
    """

    values: Mapping[str, Any]
    words: Mapping[str, Sequence[str]]
    command_line: str


def run_command(name: str, command: Command, words: Sequence[str]) -> int:
    """Call the functions of a command with what was typed.

    Parameters
    ----------
    name : str
        Of the command, such as ``label plan``.
    command : Command
        Its functions.
    words : sequence of str
        Those behind the name of the command.

    Returns
    -------
    int
        Status of the program.

    Raises
    ------
    InputError
        For options that there are not, values that cannot be read, and as the functions do.
    """
    if any(word in HELP for word in words):
        whole = "--help-all" in words
        print(help_of(name, command) if whole else short_help(name, command))
        return 0
    invocation = read_words(name, command, words)
    check_outputs(invocation.values, command)
    function = resolve_name(command.function)
    passed = {
        name: invocation.values[name]
        for name in function_parameters(function)
        if name in invocation.words or is_given(invocation.values.get(name))
    }
    TYPED.set(invocation.command_line)
    around = resolve_name(command.around)(invocation) if command.around else nullcontext({})
    with around as changed:
        result = function(**{**passed, **changed})
    if not command.show:
        return int(result or 0)
    show = resolve_name(command.show)
    shown = {
        name: invocation.values[name]
        for name, parameter in inspect.signature(show).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    }
    status: int = show(result, invocation, **shown)
    return status


def check_outputs(values: Mapping[str, Any], command: Command) -> None:
    """Refuse paths that cannot be written: a file in the place of a folder, or the other way round.

    Parameters
    ----------
    values : mapping of str to Any
        Parameters of the command with their values.
    command : Command
        Whose options they are, for messages.

    Raises
    ------
    InputError
        Naming the option.
    """
    for option in (*FOLDERS_WRITTEN, *FILES_WRITTEN):
        value = values.get(option)
        if value is None:
            continue
        typed = option.upper() if option in command.positional else option_of(option)
        kind = "folder" if option in FOLDERS_WRITTEN else "file"
        path, reason = Path(value), ""
        if not str(value):
            reason = "it is empty"
        elif kind == "file" and path.is_dir():
            reason = "that is a folder: name a file in it"
        elif kind == "file" and path.exists() and not path.is_file():
            reason = "that is a device or a pipe, which the file would replace"
        else:
            above = path.parents if kind == "file" else (path, *path.parents)
            existing = next((folder for folder in above if folder.exists()), None)
            if existing is not None and not existing.is_dir():
                reason = f"{existing} is a file"
        if reason:
            raise InputError(f"Expected {typed} as a {kind} but got '{value}': {reason}.")


def read_words(name: str, command: Command, words: Sequence[str]) -> Invocation:
    """Read what was typed behind the name of a command.

    Parameters
    ----------
    name : str
        Of the command.
    command : Command
        Whose options are read.
    words : sequence of str
        As the shell gives them; ``~/`` becomes the home folder.

    Raises
    ------
    InputError
        For an unknown option, a missing or repeated value, or one that cannot be read.
    """
    options = options_of(command)
    typed = words_by_parameter(name, command, words, options)
    values = {parameter: option.default for parameter, option in options.items()}
    as_typed = {}
    for parameter, option in options.items():
        if parameter not in typed:
            if option.default is inspect.Parameter.empty:
                raise InputError(f"Expected a value of {option.typed[0]}; --help explains it.")
            continue
        groups = [
            [HOME.sub(lambda start: start[1] + os.path.expanduser("~"), word) for word in group]
            for group in typed[parameter]
        ]
        if len(groups) > 1 and not option.several and option.kind is not bool:
            instead = INSTEAD_OF_SEVERAL.get(parameter, "give it once")
            raise InputError(f"{option.typed[0]} takes one value but was given twice: {instead}.")
        before = [] if parameter in command.positional else [option.typed[0]]
        as_typed[parameter] = [word for group in typed[parameter] for word in (*before, *group)]
        value: Any = groups
        if parameter not in IN_GROUPS:
            value = value_of(option, [word for group in groups for word in group])
        values[parameter] = READERS[parameter](value) if parameter in READERS else value
    if values.get("json") and values.get("verbose"):
        raise InputError("--json prints the result alone, --verbose everything: give one of them.")
    shown, secret = words, values.get(SECRET)
    if secret:  # the address of a webhook is a password
        from autoeval.words import masked_address

        shown = [word.replace(secret, masked_address(secret)) for word in words]
    return Invocation(values, as_typed, shlex.join(["autoeval", *name.split(), *shown]))


def words_by_parameter(
    name: str, command: Command, words: Sequence[str], options: Mapping[str, Option]
) -> dict[str, list[list[str]]]:
    """Return the words behind each option that was typed, a list each time that it was.

    Words behind no option are those of the positional parameters. An underscore in an option is a
    hyphen; what begins with a hyphen and a digit, a dot or a comma is a value.

    Parameters
    ----------
    name, command, words
        See `read_words`.
    options : mapping of str to Option
        Of the command, by parameter.

    Raises
    ------
    InputError
        For an unknown option, with the nearest there is, or a word that belongs to none.
    """
    parser = ArgumentParser(
        add_help=False, allow_abbrev=False, exit_on_error=False, argument_default=SUPPRESS
    )
    for parameter, option in options.items():
        n_words: Any = "+" if option.several and parameter not in ONE_AT_A_TIME else 1
        if parameter in MAY_BE_EMPTY:
            n_words = "*"
        if option.kind is bool:
            parser.add_argument(*option.typed, dest=parameter, action="append_const", const=[])
        elif parameter not in command.positional:
            parser.add_argument(*option.typed, dest=parameter, action="append", nargs=n_words)
    end = words.index("--") if "--" in words else len(words)  # what follows is positional
    plain = []
    for word in words[:end]:
        if word.startswith("--"):  # --work_dir=a, whose list may go on behind it
            option_typed, sign, value = word.partition("=")
            plain += [option_typed.replace("_", "-"), *[re.sub("^-", DASH, value)] * bool(sign)]
        else:
            plain.append(re.sub("^-(?![a-zA-Z_])", DASH, word))
    try:
        parsed, left = parser.parse_known_args(plain)
    except ArgumentError as error:
        raise InputError(
            f"Expected a value behind {error.argument_name}; --help explains it."
        ) from None
    unknown = next((word.partition("=")[0] for word in left if word.startswith("-")), "")
    if unknown:
        spellings = {
            typed.lstrip("-"): typed for option in options.values() for typed in option.typed
        }
        closest = get_close_matches(unknown.lstrip("-"), spellings, n=1)
        meant = f": did you mean {spellings[closest[0]]}?" if closest else "; --help lists them."
        raise InputError(f"Expected an option of autoeval {name} but got {unknown}{meant}")
    left += words[end + 1 :]
    by_parameter = vars(parsed)
    for parameter in command.positional:
        n_words = len(left) if options[parameter].several else 1
        by_parameter |= {parameter: [left[:n_words]]} if left else {}
        left = left[n_words:]
    if left:
        unused = " ".join(left).replace(DASH, "-")
        before = plain[: plain.index(left[0])][-2:] if left[0] in plain else []  # behind one value
        several = (text for n, text in INSTEAD_OF_SEVERAL.items() if option_of(n) in before)
        instead = next(several, "--help lists them")
        raise InputError(f"Expected an option in front of '{unused}'; {instead}.")
    return {
        parameter: [[word.replace(DASH, "-") for word in group] for group in groups]
        for parameter, groups in by_parameter.items()
    }


def value_of(option: Option, words: Sequence[str]) -> Any:
    """Read the words of an option as its kind says.

    Parameters
    ----------
    option : Option
        That was typed.
    words : sequence of str
        Behind it.

    Raises
    ------
    InputError
        If a word is none of its choices, no number where one is expected, or a whole one under 0
        or over `LARGEST_WHOLE`.

    Examples
    --------
    >>> value_of(Option(("--n",), int, (), False, 20), ["5"])
    5
    """
    if option.kind is bool:
        return option.default is not True
    values: list[Any] = []
    for word in words:
        expected = " or ".join(option.choices) or NUMBERS.get(option.kind, "")
        try:
            values.append(option.kind(word))
            allowed = not option.choices or word in option.choices
            allowed &= option.kind is not int or 0 <= values[-1] <= LARGEST_WHOLE
        except ValueError:
            allowed = False
        if not allowed:
            raise InputError(f"Expected {expected} behind {option.typed[0]} but got '{word}'.")
    return values if option.several else values[0]


def options_of(command: Command) -> dict[str, Option]:
    """Return the options of a command by parameter, those of its function before those of `show`.

    A parameter that both have has the default of `show`.

    Parameters
    ----------
    command : Command
        With its functions.
    """
    declared = function_parameters(resolve_name(command.function))
    parameters = {n: p for n, (p, _) in declared.items() if n not in command.in_python}
    if command.show:
        of_show = inspect.signature(resolve_name(command.show)).parameters
        parameters |= {n: p for n, p in of_show.items() if p.kind is p.KEYWORD_ONLY}
    options = {}
    for name, parameter in parameters.items():
        typed: tuple[str, ...] = (option_of(name),)
        if name in command.positional:
            typed = (name,)
        elif parameter.default is True:  # a flag that turns it off
            typed = ("--" + "no-" + option_of(name).removeprefix("--"),)
        elif name in SHORT:
            typed = (option_of(name), SHORT[name])
        text = str(parameter.annotation).removesuffix(" | None")
        outer, _, inner = text.partition("[")
        several = name in READERS or outer in LISTS
        if several:
            text = inner.removesuffix("]")
        choices = ()
        if text.startswith("Literal["):
            choices = ast.literal_eval(f"({text.removeprefix('Literal[').removesuffix(']')},)")
        options[name] = Option(typed, KINDS.get(text, str), choices, several, parameter.default)
    return options


def function_parameters(
    function: Callable[..., Any],
) -> dict[str, tuple[inspect.Parameter, Callable[..., Any]]]:
    """Return the parameters of a function, those of ``**options: Unpack[Options]`` one by one.

    Of the latter those of `Options` itself come before those of the dictionaries that it extends.

    Parameters
    ----------
    function : callable
        Of a command.

    Returns
    -------
    dict of str to tuple of (Parameter, callable)
        By name, each with what declares it, and says in its docstring what it means: the function
        or a dictionary of options.
    """
    parameters, waiting = {}, list[Any]()
    for name, parameter in inspect.signature(function).parameters.items():
        annotation = str(parameter.annotation)
        if annotation.startswith("Unpack["):
            waiting.append(function.__globals__[annotation[len("Unpack[") : -1]])
        else:
            parameters[name] = parameter, function
    while waiting:
        options = waiting.pop(0)
        extended = [base for base in options.__orig_bases__ if hasattr(base, "__annotations__")]
        inherited = {name for base in extended for name in base.__annotations__}
        for name, annotation in options.__annotations__.items():
            if name in inherited or name in parameters:
                continue
            text = str(getattr(annotation, "__forward_arg__", annotation))
            default = False if text == "bool" else None
            parameter = inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=text
            )
            parameters[name] = parameter, options
        waiting[:0] = extended
    return parameters


def short_help(name: str, command: Command) -> str:
    """Return the whole help where that fits on a screen, else one line an option.

    Parameters
    ----------
    name : str
        Of the command.
    command : Command
        With its functions.
    """
    whole = help_of(name, command)
    return whole if whole.count("\n") < SCREEN else help_of(name, command, one_line=True)


def help_of(name: str, command: Command, *, one_line: bool = False) -> str:
    """Return what the function does, and each option with its docstring, or one line of that.

    Parameters
    ----------
    name : str
        Of the command.
    command : Command
        Its functions: of the docstring what stands before ``Parameters``, then each parameter.
    one_line : bool
        One line an option.
    """
    explained, width = _explained(command), min(get_terminal_size().columns, WIDEST)
    about = inspect.getdoc(resolve_name(command.function)) or ""
    options = options_of(command)
    before = []
    for name_before in command.positional:
        option = options[name_before]
        word = name_before.upper() + (" ..." if option.several else "")
        before.append(word if option.default is inspect.Parameter.empty else f"[{word}]")
    lines = [" ".join(["usage: autoeval", name, *before, "[options]"]), ""]
    for paragraph in about.partition("\nParameters\n")[0].strip().split("\n\n"):
        lines += [*wrap(" ".join(paragraph.split()), width), ""]
    lines.append("options:")
    for parameter, option in options.items():
        head, default = ", ".join(reversed(option.typed)), option.default
        if parameter not in command.positional:
            head += _metavar(option)
        text = explained.get(parameter, "")
        if not isinstance(default, bool) and default not in (None, (), inspect.Parameter.empty):
            shown = " ".join(map(str, default)) if isinstance(default, tuple) else default
            text += f" (default: {shown})"
        if default is inspect.Parameter.empty and parameter not in command.positional:
            text = f"required. {text}"
        if one_line:
            room = width - max(INDENT, len(head) + 4)
            lines.append(
                f"  {head:{INDENT - 2}}  {shorten(text, max(room, 12), placeholder=' ...')}"
            )
            continue
        indent = " " * INDENT
        wrapped = wrap(text, width, initial_indent=indent, subsequent_indent=indent) or [""]
        if len(head) < INDENT - 3:
            wrapped[0] = f"  {head:{INDENT - 2}}{wrapped[0].strip()}"
            lines += wrapped
        else:
            lines += [f"  {head}", *wrapped]
    lines.append(f"  {'-h, --help':{INDENT - 2}}  Print this.")
    lines.append(f"  {'--help-all':{INDENT - 2}}  Explain every option.")
    if command.more and not one_line:
        lines += ["", str(resolve_name(command.more)())]
    return "\n".join(lines)


def _metavar(option: Option) -> str:
    """Return what stands for the value of an option in its help."""
    if option.kind is bool:
        return ""
    word = "|".join(option.choices) or {int: "N", float: "X"}.get(option.kind, "VALUE")
    return f" {word} ..." if option.several else f" {word}"


def _explained(command: Command) -> dict[str, str]:
    """Return the help of each option: what docstrings say of the parameter.

    "As in `module.Options`." is replaced by what that dictionary says of the same parameter.
    """
    function = resolve_name(command.function)
    documented: list[Any] = [function]
    documented += [resolve_name(command.show)] if command.show else []
    documented += [declared_by for _, declared_by in function_parameters(function).values()]
    help_texts: dict[str, str] = {}
    for documented_object in dict.fromkeys(documented):
        for name, text in _documented(documented_object).items():
            if shared := re.match(r"As in `([\w.]+)`\.", text):
                module, _, options = shared[1].rpartition(".")
                whole = _documented(resolve_name(f"{module}:{options}"))
                text = whole[name] + text[shared.end() :]
            help_texts.setdefault(name, text)
    return help_texts


def _documented(documented_object: Any) -> dict[str, str]:
    """Return what a numpy docstring says of each parameter, on one line."""
    import docstring_parser

    text = inspect.getdoc(documented_object) or ""
    return {
        name: " ".join((described.description or "").split())
        for described in docstring_parser.parse(
            text, docstring_parser.DocstringStyle.NUMPYDOC
        ).params
        for name in described.arg_name.split(", ")
    }
