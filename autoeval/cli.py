"""The ``autoeval`` program: finds a subcommand, runs it, and returns a status.

Everything else is imported in `main`, so that an interrupt is caught from the first moment on.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # as of `typing`, which takes longer to import than all else here
if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoeval.commands.command import Command


HELP = ("-h", "--help", "--help-all")
#: The extra that brings a module; others come with the package.
EXTRA_OF = {
    **dict.fromkeys(("torch", "mmdet", "mmengine", "mmcv", "albumentations"), "mmdet,mmcv-lite"),
    **dict.fromkeys(("astropy",), "counting"),
    "openai": "endpoint",
    "ray": "ray",
    "transformers": "vlm",
}
FAILURE = 1
BAD_INPUT = 2
INTERRUPTED = 130
UNREAD = 141  # as of a program that the shell ends by SIGPIPE: 0 would let a gate pass


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments without the program's name; those of the process by default.

    Returns
    -------
    int
        0 on success, 1 on failure, 2 on bad input, 130 when interrupted, 141 when nobody reads the
        output any more; some commands have others, such as those of a gate.
    """
    if sys.stdout is None:  # closed by who started this, as by >&- of a shell
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        try:
            return _run(words)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        # What the buffer holds goes nowhere, or the interpreter would complain of it in the end:
        # https://docs.python.org/3/library/signal.html#note-on-sigpipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return UNREAD
    except KeyboardInterrupt as interrupt:  # also while modules are imported
        kept = str(interrupt) or "what its folder keeps is not done again"
        print(f"\nInterrupted. Give the same command again: {kept}.", file=sys.stderr)
        return INTERRUPTED


def _run(words: list[str]) -> int:
    """Find the command and run it; print what a person can put right in a line."""
    from autoeval.command_table import COMMANDS
    from autoeval.version import __version__

    if words == ["--version"]:
        print(f"autoeval {__version__}")
        return 0
    if words[:1] and words[0] in HELP:  # autoeval --help fit
        words = [*words[1:], words[0]]
    name = next((n for n in (" ".join(words[:k]) for k in (3, 2, 1)) if n in COMMANDS), None)
    if name is None:
        return _usage(words)
    from autoeval.commands.command_line import run_command
    from autoeval.errors import InputError, install_command

    try:
        return run_command(name, COMMANDS[name], words[len(name.split()) :])
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return BAD_INPUT
    except ModuleNotFoundError as error:
        if not error.name or error.name.startswith("autoeval"):
            raise
        installed_by = install_command(EXTRA_OF.get(error.name, ""))
        print(
            f"error: this needs {error.name}, which is not installed: {installed_by}.",
            file=sys.stderr,
        )
        return BAD_INPUT
    except BrokenPipeError:
        raise
    except MemoryError as error:
        print(f"error: not enough memory: {error}", file=sys.stderr)
        return FAILURE
    except OSError as error:
        print(f"error: {error}", file=sys.stderr)
        return FAILURE


def _usage(words: list[str]) -> int:
    """Print the commands by group, or those that begin with a word such as ``count``."""
    from difflib import get_close_matches

    from autoeval.command_table import GROUPS

    typed = [word for word in words if word not in HELP]
    group = next((g for g in (typed[:2], typed[:1], []) if _commands(g)), [])
    complete = typed == group
    stream = sys.stdout if complete else sys.stderr
    if not complete:
        place = len(group)
        next_words = dict.fromkeys(name.split()[place] for name in _commands(group))
        closest = get_close_matches(typed[place], next_words, n=1)
        meant = f": did you mean '{' '.join([*group, *closest])}'?" if closest else ""
        print(f"error: no command '{' '.join(typed[: place + 1])}'{meant}", file=stream)
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
    from autoeval.command_table import COMMANDS

    return {
        name: command for name, command in COMMANDS.items() if name.split()[: len(group)] == group
    }


if __name__ == "__main__":
    sys.exit(main())
