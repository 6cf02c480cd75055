"""Options of a command from the signatures and docstrings of its functions, read by cyclopts."""

from __future__ import annotations

import ast
import inspect
import math
import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from shutil import get_terminal_size
from textwrap import shorten, wrap
from typing import Annotated, Any, Literal, get_args, get_origin

from autoeval.commands.command import Command
from autoeval.commands.given_words import (
    categories_of_sites,
    comma_words,
    known_accuracies,
    known_at_sites,
    labelled_at_sites,
    named_categories,
    named_folders,
    named_values,
    sites_of_fit,
    word_pairs,
)
from autoeval.errors import InputError, is_given, option_of

HELP = ("--help", "-h", "--help-all")
SHORT = {"output": "-o"}
#: How the words of an option become the value that its parameter takes.
READERS: Mapping[str, Callable[[Any], Any]] = {
    "against_known": lambda texts: known_at_sites(",".join(texts)),
    "categories": named_categories,
    "estimators": named_folders,
    "exclude": comma_words,
    "leave_out": comma_words,
    "stages": comma_words,
    "known": known_accuracies,
    "known_sites": sites_of_fit,
    "labelled": labelled_at_sites,
    "option": lambda texts: named_values(texts, "--option", "as KEY=VALUE"),
    "site_categories": categories_of_sites,
    "words": lambda texts: word_pairs(",".join(texts)),
}
#: Options that take one word each time, so that what follows may be positional.
ONE_AT_A_TIME = ("categories", "counter", "present")
MAY_BE_EMPTY = ("search",)  # lists that may be given without a word
#: Options that take several words each time, which belong together.
IN_GROUPS = ("seed_set", "site_categories")
LISTS = ("Sequence", "Collection", "Mapping")
INDENT, WIDEST = 26, 100  # columns of help
SCREEN = 60  # lines
DASH = "\0"  # for the "-" that begins a value such as "-" and "-,x,y": no option, no number
#: The command that runs, for pages; empty where a function is called from Python.
TYPED: ContextVar[str] = ContextVar("typed", default="")
SECRET = "webhook"  # its address holds a password
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
        What its words are read as: bool, int, float, str, a Literal, or a list of one of these.
    default : object
        ``inspect.Parameter.empty`` where it is required.
    words : float
        How many words it takes each time, at most.
    """

    typed: tuple[str, ...]
    kind: Any
    default: Any
    words: float


@dataclass(frozen=True)
class Given:
    """What was typed, for pages and for the line on the next step.

    Parameters
    ----------
    values : mapping
        Every parameter of the command with its value, given or not.
    words : mapping
        Of each parameter that was given the option and its words, as typed.
    command_line : str
        The whole command.
    """

    values: Mapping[str, Any]
    words: Mapping[str, Sequence[str]]
    command_line: str


def run_command(name: str, command: Command, words: Sequence[str]) -> int:
    """Call the functions of a command with what was typed; return its status.

    `words` are those behind the name of the command. Raises `InputError` for options that there
    are not, values that cannot be read, and as the functions do.
    """
    if any(word in HELP for word in words):
        whole = "--help-all" in words
        print(help_of(name, command) if whole else short_help(name, command))
        return 0
    given = read_words(name, command, words)
    check_outputs(given.values, command)
    function = loaded(command.function)
    passed = {
        name: given.values[name]
        for name in function_parameters(function)
        if name in given.words or is_given(given.values.get(name))
    }
    TYPED.set(given.command_line)
    with loaded(command.around)(given) if command.around else nullcontext():
        result = function(**passed)
    if not command.show:
        return int(result or 0)
    show = loaded(command.show)
    shown = {
        name: given.values[name]
        for name, parameter in inspect.signature(show).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    }
    status: int = show(result, given, **shown)
    return status


def check_outputs(values: Mapping[str, Any], command: Command) -> None:
    """Raise `InputError` where a file is in the place of a folder that is to be written, or so."""
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
        else:
            above = path.parents if kind == "file" else (path, *path.parents)
            existing = next((folder for folder in above if folder.exists()), None)
            if existing is not None and not existing.is_dir():
                reason = f"{existing} is a file"
        if reason:
            raise InputError(f"Expected {typed} as a {kind} but got '{value}': {reason}.")


def read_words(name: str, command: Command, words: Sequence[str]) -> Given:
    """Read what was typed behind the name of a command; `InputError` where that is impossible."""
    from cyclopts import CycloptsError

    options, plain = options_of(command), []
    for word in words:  # as cyclopts lists options, however they were typed
        before, sign, behind = word.partition("=")
        if word[:2] in SHORT.values() and word[2:3] not in ("", "="):  # -oboxes.json
            word = f"{word[:2]}={word[2:]}"
        elif word.startswith("--"):  # --work_dir
            word = before.replace("_", "-") + sign + behind
        plain.append(word)
    try:
        app = _app(name, options, command.positional)
        hidden = [re.sub(r"^-(?![-.\w])", DASH, word) for word in plain]
        _, bound, _ = app.parse_args(hidden, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        raise InputError(_in_one_line(error)) from None
    as_typed = _as_typed(plain, options, command.positional)
    values = {parameter: option.default for parameter, option in options.items()}
    for parameter, value in bound.arguments.items():
        typed = as_typed.get(parameter, [])
        if options[parameter].kind in (int, list[int]):  # cyclopts rounds 15.7
            for word in typed[1:]:
                if not re.fullmatch(r"[-+]?\d+", word) and word != typed[0]:
                    raise InputError(f"Expected a whole number behind {typed[0]} but got '{word}'.")
        if isinstance(value, str):
            value = value.replace(DASH, "-")
        elif isinstance(value, list):
            value = [item.replace(DASH, "-") if isinstance(item, str) else item for item in value]
        if parameter in IN_GROUPS:
            value = _groups(typed)
        values[parameter] = READERS[parameter](value) if parameter in READERS else value
    if values.get("json") and values.get("verbose"):
        raise InputError("--json prints the result alone, --verbose everything: give one of them.")
    shown, secret = words, values.get(SECRET)
    if secret:  # the address of a webhook is a password
        from autoeval.words import masked_address

        shown = [word.replace(secret, masked_address(secret)) for word in words]
    return Given(
        values,
        {parameter: as_typed.get(parameter, []) for parameter in bound.arguments},
        shlex.join(["autoeval", *name.split(), *shown]),
    )


def loaded(path: str) -> Callable[..., Any]:
    """Import ``module:name``."""
    module, _, name = path.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), name)
    return found


def options_of(command: Command) -> dict[str, Option]:
    """Return the options of a command by parameter, those of its function before those of `show`.

    A parameter that both have has the default of `show`.
    """
    parameters = function_parameters(loaded(command.function))
    parameters = {n: p for n, p in parameters.items() if n not in command.in_python}
    if command.show:
        of_show = inspect.signature(loaded(command.show)).parameters
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
        kind = _kind_of(str(parameter.annotation), is_list=name in READERS)
        words = 0.0 if kind is bool else 1.0
        if get_origin(kind) is list and name not in ONE_AT_A_TIME:
            words = math.inf
        options[name] = Option(typed, kind, parameter.default, words)
    return options


def typed_names(command: Command) -> list[str]:
    """Return how the parameters of a command are typed."""
    return [option.typed[0] for option in options_of(command).values()]


def function_parameters(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """Return the parameters of a function, those of ``**options: Unpack[Options]`` one by one."""
    found = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if not str(parameter.annotation).startswith("Unpack["):
            found[name] = parameter
            continue
        for options in _with_bases(_unpacked(function, parameter)):
            extended = _with_bases(options)[1:]
            inherited = {option for base in extended for option in base.__annotations__}
            for option, annotation in options.__annotations__.items():
                if option not in inherited:
                    text = str(getattr(annotation, "__forward_arg__", annotation))
                    declared = inspect.Parameter(
                        option,
                        inspect.Parameter.KEYWORD_ONLY,
                        default=False if text == "bool" else None,
                        annotation=text,
                    )
                    found.setdefault(option, declared)
    return found


def _unpacked(function: Callable[..., Any], parameter: inspect.Parameter) -> type:
    """Return the dictionary of options of ``**options: Unpack[Options]``."""
    found: type = function.__globals__[parameter.annotation[len("Unpack[") : -1]]
    return found


def _with_bases(options: type) -> list[type]:
    """Return a dictionary of options and those that it extends."""
    extended = getattr(options, "__orig_bases__", ())
    return [
        options,
        *(k for base in extended if hasattr(base, "__annotations__") for k in _with_bases(base)),
    ]


def _kind_of(annotation: str, *, is_list: bool) -> Any:
    """Return what the words of an option are read as."""
    text = annotation.removesuffix(" | None")
    outer, _, inner = text.partition("[")
    several = is_list or outer in LISTS
    if several:
        text = inner.removesuffix("]")
    scalar: Any = {"bool": bool, "int": int, "float": float}.get(text, str)
    if text.startswith("Literal["):
        scalar = Literal[ast.literal_eval(f"({text.removeprefix('Literal[').removesuffix(']')},)")]
    return list[scalar] if several else scalar


def short_help(name: str, command: Command) -> str:
    """Return the whole help where that fits on a screen, else one line an option."""
    whole = help_of(name, command)
    return whole if whole.count("\n") < SCREEN else help_of(name, command, one_line=True)


def help_of(name: str, command: Command, *, one_line: bool = False) -> str:
    """Return what the function does, and each option with its docstring, or one line of that."""
    explained, width = _explained(command), min(get_terminal_size().columns, WIDEST)
    about = inspect.getdoc(loaded(command.function)) or ""
    options = options_of(command)
    before = []
    for name_before in command.positional:
        option = options[name_before]
        word = name_before.upper() + (" ..." if get_origin(option.kind) is list else "")
        before.append(word if option.default is inspect.Parameter.empty else f"[{word}]")
    lines = [" ".join(["usage: autoeval", name, *before, "[options]"]), ""]
    for paragraph in about.partition("\nParameters\n")[0].strip().split("\n\n"):
        lines += [*wrap(" ".join(paragraph.split()), width), ""]
    lines.append("options:")
    for parameter, option in options.items():
        head, default = ", ".join(reversed(option.typed)), option.default
        if parameter not in command.positional:
            head += _metavar(option.kind)
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
        lines += ["", str(loaded(command.more)())]
    return "\n".join(lines)


def _metavar(kind: Any) -> str:
    """Return what stands for the value of an option in its help."""
    several = get_origin(kind) is list
    if several:
        (kind,) = get_args(kind)
    if kind is bool:
        return ""
    if get_origin(kind) is Literal:
        word = "|".join(map(str, get_args(kind)))
    else:
        word = {int: "N", float: "X"}.get(kind, "VALUE")
    return f" {word} ..." if several else f" {word}"


def _app(name: str, options: Mapping[str, Option], positional: Sequence[str]) -> Any:
    """Make the cyclopts program of one command."""
    from cyclopts import App, Parameter

    def run() -> None:
        """Stand for the command."""

    declared = {}
    for parameter, option in options.items():
        several: Any = False  # from how many words on a list is taken
        if parameter in MAY_BE_EMPTY:
            several = (0, sys.maxsize)
        elif option.words > 1:
            several = (1, sys.maxsize)
        off = option.default is True
        read = Parameter(
            name=None
            if parameter in positional
            else (option_of(parameter),)
            if off
            else option.typed,
            negative=option.typed if off else (),
            consume_multiple=several,
        )
        required = option.default is inspect.Parameter.empty
        declared[parameter] = inspect.Parameter(
            parameter,
            inspect.Parameter.POSITIONAL_ONLY
            if parameter in positional
            else inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if required else None,
            annotation=Annotated[option.kind | None, read],  # pydantic, if loaded, checks defaults
        )
    before = [declared.pop(parameter) for parameter in positional]
    run.__signature__ = inspect.Signature([*before, *declared.values()])  # type: ignore[attr-defined]
    app = App(
        name=f"autoeval {name}",
        help_flags=(),
        version_flags=(),
        default_parameter=Parameter(negative=()),
        result_action="return_value",
    )
    app.default(run)
    return app


def _explained(command: Command) -> dict[str, str]:
    """Return the help of each option: what docstrings say of the parameter."""
    import docstring_parser

    function = loaded(command.function)
    documented: list[Any] = [function]
    documented += [loaded(command.show)] if command.show else []
    for parameter in inspect.signature(function).parameters.values():
        if str(parameter.annotation).startswith("Unpack["):
            dictionaries = _with_bases(_unpacked(function, parameter))
            documented += [options for options in dictionaries if options.__doc__]
    found: dict[str, str] = {}
    for documented_object in documented:
        text = inspect.getdoc(documented_object) or ""
        style = docstring_parser.DocstringStyle.NUMPYDOC
        for described in docstring_parser.parse(text, style).params:
            for name in described.arg_name.split(", "):
                found.setdefault(name, " ".join((described.description or "").split()))
    return found


def _as_typed(
    words: Sequence[str], options: Mapping[str, Option], positional: Sequence[str]
) -> dict[str, list[str]]:
    """Return the option and the words of each parameter that was given, as cyclopts reads them.

    An option without a list takes one word, and a flag none; others are positional.
    """
    parameter_of = {
        typed: parameter
        for parameter, option in options.items()
        for typed in (*option.typed, option_of(parameter))
        if parameter not in positional
    }
    left = {parameter: options[parameter].words for parameter in positional}
    found: dict[str, list[str]] = {}
    name, room = "", 0.0
    for k, word in enumerate(words):
        typed, sign, value = word.partition("=")
        if word == "--":
            name, room = "", 0
        elif typed in parameter_of and "--" not in words[:k]:
            name = parameter_of[typed]
            takes = options[name].words
            room = takes - bool(sign)
            found.setdefault(name, []).extend([typed, value] if takes and sign else [word])
        elif room > 0:
            room -= 1
            found[name].append(word)
        else:
            place = next((parameter for parameter, n in left.items() if n > 0), "")
            left[place] = left.get(place, 0) - 1
            found.setdefault(place, []).append(word)
    return found


def _groups(typed: Sequence[str]) -> list[list[str]]:
    """Split the words of an option where it was given again.

    >>> _groups(["--seed-set", "a", "b", "--seed-set", "c"])
    [['a', 'b'], ['c']]
    """
    option = typed[0]
    starts = [k for k, word in enumerate(typed) if word == option]
    return [
        list(typed[start + 1 : end])
        for start, end in zip(starts, [*starts[1:], len(typed)], strict=True)
    ]


def _in_one_line(error: Exception) -> str:
    """Return what cyclopts says of words that it cannot read."""
    from cyclopts import MissingArgumentError, RepeatArgumentError, UnusedCliTokensError

    if isinstance(error, UnusedCliTokensError):
        unused = " ".join(error.unused_tokens or ()).replace(DASH, "-")
        return f"Expected an option in front of '{unused}'; --help lists them."
    if isinstance(error, RepeatArgumentError):
        return f"{error.token.keyword} takes one value but was given twice: give it once."
    if isinstance(error, MissingArgumentError) and error.argument is not None:
        return f"Expected a value of {error.keyword or error.argument.name}; --help explains it."
    return " ".join(str(error).replace(DASH, "-").split())
