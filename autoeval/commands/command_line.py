"""Options of a command from the signatures and docstrings of its functions, read by cyclopts."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from shutil import get_terminal_size
from textwrap import wrap
from typing import Annotated, Any

from autoeval.commands.given_words import known_accuracies, named_categories, word_pairs
from autoeval.errors import InputError

HELP = ("--help", "-h", "--help-all")
OPTION_OF = {"categories": "--category"}  # repeated, so in the singular
SHORT = {"output": "-o"}
#: How the words of an option become the value that its parameter takes.
READERS: Mapping[str, Callable[[Sequence[str]], Any]] = {
    "categories": named_categories,
    "known": known_accuracies,
    "words": lambda texts: word_pairs(",".join(texts)),
}
INDENT, WIDEST = 26, 100  # columns of help
SECRET = "webhook"  # its address holds a password


@dataclass(frozen=True)
class Command:
    """What a command runs.

    Parameters
    ----------
    function : str
        ``module:name`` of the public function that makes the result.
    show : str
        ``module:name`` of what prints and writes the result and returns the status of the program;
        its keyword-only parameters are options, too, and its defaults go before.
    positional : str
        The parameter that is given without its name, where there is one.
    in_python : tuple of str
        Parameters of the function that are no options.
    """

    function: str
    show: str
    positional: str = ""
    in_python: tuple[str, ...] = ()


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
        print(help_of(name, command))
        return 0
    given = read_words(name, command, words)
    function, show = loaded(command.function), loaded(command.show)
    values = {n: value for n, value in given.values.items() if _is_given(value)}
    result = function(**{n: values[n] for n in function_parameters(function) if n in values})
    shown = {n: given.values[n] for n in _shown_by(show)}
    status: int = show(result, given, **shown)
    return status


def read_words(name: str, command: Command, words: Sequence[str]) -> Given:
    """Read what was typed behind the name of a command; `InputError` where that is impossible."""
    from cyclopts import CycloptsError

    try:
        app = _app(name, command)
        _, bound, _ = app.parse_args(list(words), exit_on_error=False, print_error=False)
    except CycloptsError as error:
        raise InputError(_in_one_line(error)) from None
    typed = {
        option: READERS[option](value) if option in READERS else value
        for option, value in bound.arguments.items()
    }
    defaults = {option: parameter.default for option, parameter in parameters_of(command).items()}
    values = defaults | typed
    if values.get("json") and values.get("verbose"):
        raise InputError("--json prints the result alone, --verbose everything: give one of them.")
    return Given(values, _as_typed(words, command), _shown(name, words, values))


def loaded(path: str) -> Callable[..., Any]:
    """Import ``module:name``."""
    module, _, name = path.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), name)
    return found


def parameters_of(command: Command) -> dict[str, inspect.Parameter]:
    """Return the parameters of a command by name, those of its function before those of `show`."""
    function, show = loaded(command.function), loaded(command.show)
    found = {n: p for n, p in function_parameters(function).items() if n not in command.in_python}
    for name, parameter in _shown_by(show).items():
        found[name] = parameter
    return found


def typed_names(command: Command) -> list[str]:
    """Return how the parameters of a command are typed."""
    return [_names(option, command)[0] for option in parameters_of(command)]


def function_parameters(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """Return the parameters of a function, those of ``**options: Unpack[Options]`` one by one."""
    found = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if not str(parameter.annotation).startswith("Unpack["):
            found[name] = parameter
            continue
        for option, annotation in _options_of(function, parameter).__annotations__.items():
            text = (
                annotation.__forward_arg__ if hasattr(annotation, "__forward_arg__") else annotation
            )
            found[option] = parameter.replace(
                name=option,
                kind=inspect.Parameter.KEYWORD_ONLY,
                default=False if text == "bool" else None,
                annotation=text,
            )
    return found


def _options_of(function: Callable[..., Any], parameter: inspect.Parameter) -> type:
    name = str(parameter.annotation).removeprefix("Unpack[").removesuffix("]")
    found: type = function.__globals__[name]
    return found


def _is_given(value: Any) -> bool:
    """Whether a function gets a value: what stands in a dictionary of options only where given."""
    return value is not None and value is not False


def _shown_by(show: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    parameters = inspect.signature(show).parameters.items()
    return {n: p for n, p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY}


def help_of(name: str, command: Command) -> str:
    """Return what ``--help`` prints: what the function does, and each option with its docstring."""
    explained, width = _explained(command), min(get_terminal_size().columns, WIDEST)
    about = inspect.getdoc(loaded(command.function)) or ""
    lines = [f"usage: autoeval {name} {command.positional.upper()}".rstrip() + " [options]", ""]
    for paragraph in about.partition("\nParameters\n")[0].strip().split("\n\n"):
        lines += [*wrap(" ".join(paragraph.split()), width), ""]
    lines.append("options:")
    for option, parameter in parameters_of(command).items():
        kind = _type_of(parameter, is_list=option in READERS)
        value = {bool: "", int: " N", float: " X", list[str]: " VALUE ..."}.get(kind, " VALUE")
        head = ", ".join(reversed(_names(option, command))) + value
        text = explained.get(option, "")
        if parameter.default not in (None, False, (), parameter.empty):
            text += f" (default: {parameter.default})"
        if parameter.default is parameter.empty:
            text = f"required. {text}"
        indent = " " * INDENT
        wrapped = wrap(text, width, initial_indent=indent, subsequent_indent=indent) or [""]
        if len(head) < INDENT - 3:
            wrapped[0] = f"  {head:{INDENT - 2}}{wrapped[0].strip()}"
            lines += wrapped
        else:
            lines += [f"  {head}", *wrapped]
    return "\n".join(lines)


def _names(option: str, command: Command) -> list[str]:
    """Return how a parameter is typed."""
    if option == command.positional:
        return [option]
    name = OPTION_OF.get(option, f"--{option.replace('_', '-')}")
    return [name, SHORT[option]] if option in SHORT else [name]


def _app(name: str, command: Command) -> Any:
    """Make the cyclopts program of one command."""
    from cyclopts import App, Parameter

    def run(**options: Any) -> None:
        """Stand for the command."""

    parameters = []
    for option, parameter in parameters_of(command).items():
        kind = _type_of(parameter, is_list=option in READERS)
        is_positional = option == command.positional
        read = Parameter(
            name=None if is_positional else tuple(_names(option, command)),
            consume_multiple=kind == list[str],
        )
        parameters.append(
            inspect.Parameter(
                option,
                parameter.POSITIONAL_ONLY if is_positional else parameter.KEYWORD_ONLY,
                default=parameter.empty if parameter.default is parameter.empty else None,
                annotation=Annotated[kind | None, read],  # pydantic, if loaded, checks defaults
            )
        )
    parameters.sort(key=lambda p: p.kind)
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
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
    documented: list[Any] = [function, loaded(command.show)]
    for parameter in inspect.signature(function).parameters.values():
        if str(parameter.annotation).startswith("Unpack["):
            options = _options_of(function, parameter)
            documented += [kind for kind in reversed(_bases(options)) if kind.__doc__]
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


def _type_of(parameter: inspect.Parameter, *, is_list: bool) -> Any:
    """Return what the words of an option are read as."""
    text = str(parameter.annotation).removesuffix(" | None")
    if is_list or text.partition("[")[0] in ("Sequence", "Collection", "Mapping"):
        return list[str]
    return {"bool": bool, "int": int, "float": float}.get(text, str)


def _as_typed(words: Sequence[str], command: Command) -> dict[str, list[str]]:
    """Return the option and the words of each parameter that was given."""
    parameter_of = {option: name for name, option in OPTION_OF.items()}
    parameter_of |= {short: name for name, short in SHORT.items()}
    typed: dict[str, list[str]] = {}
    name = command.positional
    for word in words:
        option, sign, value = word.partition("=")
        if option.startswith("--") or option in parameter_of:
            name = parameter_of.get(option, option.removeprefix("--").replace("-", "_"))
            typed.setdefault(name, []).extend([option, value] if sign else [option])
        else:
            typed.setdefault(name, []).append(word)
    return typed


def _shown(name: str, words: Sequence[str], values: Mapping[str, Any]) -> str:
    """Return the command as typed, without the address of a webhook, which is a password."""
    secret = values.get(SECRET)
    if secret:
        from autoeval.io.wording import masked_address

        words = [word.replace(secret, masked_address(secret)) for word in words]
    return shlex.join(["autoeval", *name.split(), *words])


def _in_one_line(error: Exception) -> str:
    """Return what cyclopts says of words that it cannot read."""
    from cyclopts import UnusedCliTokensError

    if isinstance(error, UnusedCliTokensError):
        unused = " ".join(error.unused_tokens or ())
        return f"Expected an option in front of '{unused}'; --help lists them."
    return " ".join(str(error).split())
