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
        option: given.values[option]
        for option in function_parameters(function)
        if option in given.words or is_given(given.values.get(option))
    }
    TYPED.set(given.command_line)
    with loaded(command.around)(given) if command.around else nullcontext():
        result = function(**passed)
    if not command.show:
        return int(result or 0)
    show = loaded(command.show)
    status: int = show(result, given, **{n: given.values[n] for n in _shown_by(command)})
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

    plain = [_plain(word) for word in words]
    try:
        app = _app(name, command)
        hidden = [re.sub(r"^-(?![-.\w])", DASH, word) for word in plain]
        _, bound, _ = app.parse_args(hidden, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        raise InputError(_in_one_line(error)) from None
    parameters, as_typed = parameters_of(command), _as_typed(plain, command)
    _check_whole_numbers(parameters, as_typed)
    values = {option: parameter.default for option, parameter in parameters.items()}
    for option, value in bound.arguments.items():
        value = _with_dashes(value)
        if option in IN_GROUPS:
            value = _groups(as_typed[option])
        values[option] = READERS[option](value) if option in READERS else value
    if values.get("json") and values.get("verbose"):
        raise InputError("--json prints the result alone, --verbose everything: give one of them.")
    typed = {option: as_typed.get(option, []) for option in bound.arguments}
    return Given(values, typed, _shown(name, words, values))


def _plain(word: str) -> str:
    """Return an option as cyclopts lists it, however it was typed; other words as they are.

    An option may be typed with low lines, and a short one in front of its value.

    >>> _plain("-oboxes.json")
    '-o=boxes.json'
    """
    if word[:2] in SHORT.values() and word[2:3] not in ("", "="):
        return f"{word[:2]}={word[2:]}"
    option, sign, value = word.partition("=")
    return option.replace("_", "-") + sign + value if option.startswith("--") else word


def _with_dashes(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_dashes(item) for item in value]
    return re.sub(f"^{DASH}", "-", value) if isinstance(value, str) else value


def _check_whole_numbers(
    parameters: Mapping[str, inspect.Parameter], as_typed: Mapping[str, Sequence[str]]
) -> None:
    """Raise `InputError` for a number such as 15.7 where images are counted: cyclopts rounds it."""
    for name, words in as_typed.items():
        if _type_of(parameters[name], is_list=False) in (int, list[int]):
            for word in words[1:]:
                if not re.fullmatch(r"[-+]?\d+", word) and word != words[0]:
                    raise InputError(f"Expected a whole number behind {words[0]} but got '{word}'.")


def loaded(path: str) -> Callable[..., Any]:
    """Import ``module:name``."""
    module, _, name = path.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), name)
    return found


def parameters_of(command: Command) -> dict[str, inspect.Parameter]:
    """Return the parameters of a command by name, those of its function before those of `show`."""
    function = loaded(command.function)
    found = {n: p for n, p in function_parameters(function).items() if n not in command.in_python}
    return found | _shown_by(command)


def typed_names(command: Command) -> list[str]:
    """Return how the parameters of a command are typed."""
    return [_names(n, p, command)[0] for n, p in parameters_of(command).items()]


def function_parameters(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """Return the parameters of a function, those of ``**options: Unpack[Options]`` one by one."""
    found = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if not str(parameter.annotation).startswith("Unpack["):
            found[name] = parameter
            continue
        for option, text in _annotations(_options_of(function, parameter)).items():
            default = False if text == "bool" else None
            kind = inspect.Parameter.KEYWORD_ONLY
            declared = inspect.Parameter(option, kind, default=default, annotation=text)
            found.setdefault(option, declared)
    return found


def _options_of(function: Callable[..., Any], parameter: inspect.Parameter) -> type:
    name = str(parameter.annotation).removeprefix("Unpack[").removesuffix("]")
    found: type = function.__globals__[name]
    return found


def _annotations(options: type) -> dict[str, str]:
    """Return the types of a dictionary of options as text, its own before those it extends."""
    found: dict[str, str] = {}
    for kind in _bases(options):
        inherited = {name for base in _bases(kind)[1:] for name in base.__annotations__}
        for name, annotation in kind.__annotations__.items():
            if name not in inherited:
                found[name] = str(getattr(annotation, "__forward_arg__", annotation))
    return found


def _shown_by(command: Command) -> dict[str, inspect.Parameter]:
    if not command.show:
        return {}
    parameters = inspect.signature(loaded(command.show)).parameters.items()
    return {n: p for n, p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY}


def short_help(name: str, command: Command) -> str:
    """Return the whole help where that fits on a screen, else one line an option."""
    whole = help_of(name, command)
    return whole if whole.count("\n") < SCREEN else help_of(name, command, one_line=True)


def help_of(name: str, command: Command, *, one_line: bool = False) -> str:
    """Return what the function does, and each option with its docstring, or one line of that."""
    explained, width = _explained(command), min(get_terminal_size().columns, WIDEST)
    about = inspect.getdoc(loaded(command.function)) or ""
    parameters = parameters_of(command)
    before = [_usage(option, parameters[option]) for option in command.positional]
    lines = [" ".join(["usage: autoeval", name, *before, "[options]"]), ""]
    for paragraph in about.partition("\nParameters\n")[0].strip().split("\n\n"):
        lines += [*wrap(" ".join(paragraph.split()), width), ""]
    lines.append("options:")
    for option, parameter in parameters.items():
        head = ", ".join(reversed(_names(option, parameter, command)))
        if option not in command.positional:
            head += _metavar(parameter, is_list=option in READERS)
        text = explained.get(option, "")
        if not (
            isinstance(parameter.default, bool) or parameter.default in (None, (), parameter.empty)
        ):
            several = isinstance(parameter.default, tuple)
            shown = " ".join(map(str, parameter.default)) if several else parameter.default
            text += f" (default: {shown})"
        if parameter.default is parameter.empty and option not in command.positional:
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


def _usage(option: str, parameter: inspect.Parameter) -> str:
    """Return how a positional parameter is named in front of the options."""
    several = " ..." if get_origin(_type_of(parameter, is_list=option in READERS)) is list else ""
    word = f"{option.upper()}{several}"
    return word if parameter.default is parameter.empty else f"[{word}]"


def _metavar(parameter: inspect.Parameter, *, is_list: bool) -> str:
    """Return what stands for the value of an option in its help."""
    kind = _type_of(parameter, is_list=is_list)
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


def _names(option: str, parameter: inspect.Parameter, command: Command) -> list[str]:
    """Return how a parameter is typed."""
    if option in command.positional:
        return [option]
    name = option_of(option)
    if parameter.default is True:  # a flag that turns it off
        return ["--" + "no-" + name.removeprefix("--")]
    return [name, SHORT[option]] if option in SHORT else [name]


def _app(name: str, command: Command) -> Any:
    """Make the cyclopts program of one command."""
    from cyclopts import App, Parameter

    def run(**options: Any) -> None:
        """Stand for the command."""

    before: list[inspect.Parameter] = []
    named: list[inspect.Parameter] = []
    for option, parameter in parameters_of(command).items():
        kind = _type_of(parameter, is_list=option in READERS)
        is_positional = option in command.positional
        names = _names(option, parameter, command)
        turned_off = tuple(names) if parameter.default is True else ()
        read = Parameter(
            name=None if is_positional else (option_of(option),) if turned_off else tuple(names),
            negative=turned_off,
            consume_multiple=_several(option, kind),
        )
        declared = inspect.Parameter(
            option,
            parameter.POSITIONAL_ONLY if is_positional else parameter.KEYWORD_ONLY,
            default=parameter.empty if parameter.default is parameter.empty else None,
            annotation=Annotated[kind | None, read],  # pydantic, if loaded, checks defaults
        )
        (before if is_positional else named).append(declared)
    before.sort(key=lambda declared: command.positional.index(declared.name))
    run.__signature__ = inspect.Signature([*before, *named])  # type: ignore[attr-defined]
    app = App(
        name=f"autoeval {name}",
        help_flags=(),
        version_flags=(),
        default_parameter=Parameter(negative=()),
        result_action="return_value",
    )
    app.default(run)
    return app


def _several(option: str, kind: Any) -> bool | int:
    """Return whether an option takes several words, or from how many on."""
    if option in MAY_BE_EMPTY:
        return (0, sys.maxsize)  # type: ignore[return-value]
    if _most_words(option, kind) > 1:
        return (1, sys.maxsize)  # type: ignore[return-value]
    return False


def _explained(command: Command) -> dict[str, str]:
    """Return the help of each option: what docstrings say of the parameter."""
    import docstring_parser

    function = loaded(command.function)
    documented: list[Any] = [function]
    documented += [loaded(command.show)] if command.show else []
    for parameter in inspect.signature(function).parameters.values():
        if str(parameter.annotation).startswith("Unpack["):
            options = _options_of(function, parameter)
            documented += [kind for kind in _bases(options) if kind.__doc__]
    found: dict[str, str] = {}
    for documented_object in documented:
        text = inspect.getdoc(documented_object) or ""
        style = docstring_parser.DocstringStyle.NUMPYDOC
        for described in docstring_parser.parse(text, style).params:
            for name in described.arg_name.split(", "):
                found.setdefault(name, " ".join((described.description or "").split()))
    return found


def _bases(options: type) -> list[type]:
    """Return a dictionary of options and those that it extends."""
    extended = getattr(options, "__orig_bases__", ())
    return [
        options,
        *(k for base in extended if hasattr(base, "__annotations__") for k in _bases(base)),
    ]


def _annotation(parameter: inspect.Parameter) -> str:
    return str(parameter.annotation).removesuffix(" | None")


def _type_of(parameter: inspect.Parameter, *, is_list: bool) -> Any:
    """Return what the words of an option are read as."""
    text = _annotation(parameter)
    outer, _, inner = text.partition("[")
    if is_list or outer in LISTS:
        return list[_scalar(inner.removesuffix("]"))]  # type: ignore[misc]
    return _scalar(text)


def _scalar(text: str) -> Any:
    if text.startswith("Literal["):
        return Literal[ast.literal_eval(f"({text.removeprefix('Literal[').removesuffix(']')},)")]
    return {"bool": bool, "int": int, "float": float}.get(text, str)


def _as_typed(words: Sequence[str], command: Command) -> dict[str, list[str]]:
    """Return the option and the words of each parameter that was given, as cyclopts reads them.

    An option without a list takes one word, and a flag none; others are positional.
    """
    parameters = parameters_of(command)
    parameter_of = {
        typed: name
        for name, parameter in parameters.items()
        for typed in (*_names(name, parameter, command), option_of(name))
        if name not in command.positional
    }
    takes = {n: _most_words(n, _type_of(p, is_list=n in READERS)) for n, p in parameters.items()}
    positional = {name: takes[name] for name in command.positional}
    typed: dict[str, list[str]] = {}
    name, room = "", 0.0
    for k, word in enumerate(words):
        option, sign, value = word.partition("=")
        if word == "--":
            name, room = "", 0
        elif option in parameter_of and "--" not in words[:k]:
            name = parameter_of[option]
            room = takes[name] - bool(sign)
            flag = not takes[name]
            typed.setdefault(name, []).extend([word] if flag or not sign else [option, value])
        elif room > 0:
            room -= 1
            typed[name].append(word)
        else:
            place = next((n for n, left in positional.items() if left > 0), "")
            positional[place] = positional.get(place, 0) - 1
            typed.setdefault(place, []).append(word)
    return typed


def _most_words(name: str, kind: Any) -> float:
    """Return how many words an option takes each time, at most."""
    if get_origin(kind) is list and name not in ONE_AT_A_TIME:
        return math.inf
    return 0 if kind is bool else 1


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


def _shown(name: str, words: Sequence[str], values: Mapping[str, Any]) -> str:
    """Return the command as typed, without the address of a webhook, which is a password."""
    secret = values.get(SECRET)
    if secret:
        from autoeval.words import masked_address

        words = [word.replace(secret, masked_address(secret)) for word in words]
    return shlex.join(["autoeval", *name.split(), *words])


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
