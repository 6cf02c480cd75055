"""A command calls its function with what was typed; each of its parameters is an option."""

import inspect
from importlib import import_module

import pytest

import autoeval
from autoeval.api.options import BoxOptions, SiteOptions, given_boxes_of
from autoeval.cli import FUNCTIONS
from autoeval.commands import command_line
from autoeval.commands.command_line import Given, help_of, parameters_of, read_words, run_command
from autoeval.errors import InputError

NEEDED = {"label estimate": ["--plan", "p", "--labels", "l"]}
# What is typed for a parameter, and what the function gets; others get the word itself.
READ = {
    "categories": (
        ["--category", "van=car,bus", "--category", "dog"],
        {"van": ["car", "bus"], "dog": ["dog"]},
    ),
    "words": (["--words", "auto=car,omnibus=bus"], {"auto": "car", "omnibus": "bus"}),
    "present": (["--present", "car", "--present", "bus"], ["car", "bus"]),
    "reference": (["--reference", "a.json", "b.json"], ["a.json", "b.json"]),
    "join": (["--join", "a", "b"], ["a", "b"]),
    "cfg_options": (["--cfg-options", "a.b=1", "c=2"], ["a.b=1", "c=2"]),
}


def typed(name, parameter):
    """Words that give a parameter, and the value that they stand for."""
    if name in READ:
        return READ[name]
    option = f"--{name.replace('_', '-')}"
    kind = str(parameter.annotation).removesuffix(" | None")
    if kind == "bool":
        return [option], True
    value = {"int": 7, "float": 0.25}.get(kind, "word")
    return [option, str(value)], value


OPTIONS = {"fit": BoxOptions, "estimate": SiteOptions, "threshold": SiteOptions}
CASES = [(name, option) for name, of in FUNCTIONS.items() for option in parameters_of(of)]


@pytest.mark.parametrize(("name", "option"), CASES)
def test_a_command_calls_its_function_with_what_was_typed(name, option, monkeypatch):
    command = FUNCTIONS[name]
    words, expected = typed(option, parameters_of(command)[option])
    needed = NEEDED.get(name, [])
    words += [] if words[0] in needed else needed
    if option in ("plan", "labels") and needed:
        words += needed[:2] if option == "labels" else needed[2:]
    called = {}
    loaded = command_line.loaded

    def noting(path):
        """A function with the parameters of the real one, which notes its arguments."""

        def note(*_, **given):
            called.update(given)
            return 0

        real = loaded(path)
        note.__signature__, note.__doc__ = inspect.signature(real), real.__doc__
        return note

    monkeypatch.setattr(command_line, "loaded", noting)
    monkeypatch.setattr(command_line, "_options_of", lambda *_: OPTIONS[name])
    assert run_command(name, command, words) == 0
    assert called[option] == expected


@pytest.mark.parametrize("name", FUNCTIONS)
def test_help_explains_every_option(name):
    text = help_of(name, FUNCTIONS[name])
    explained = command_line._explained(FUNCTIONS[name])
    for option in parameters_of(FUNCTIONS[name]):
        assert explained.get(option), option
    assert text.startswith(f"usage: autoeval {name}")


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--lables", "a"], "--labels"),  # what was meant
        (["--labels"], "--labels"),  # without a value
        (["--level", "much"], "--level"),
        (["--labels", "a", "--labels", "b"], "--labels"),
        (["a.json"], "'a.json'"),
        (["--category", "a=b", "--json", "--verbose"], "--json"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_line(words, named):
    with pytest.raises(InputError) as refused:
        read_words("fit", FUNCTIONS["fit"], words)
    assert named in str(refused.value) and "\n" not in str(refused.value)


def test_what_was_typed_is_kept_for_the_line_on_the_next_step():
    words = ["--labels=a b", "--category", "x", "--category", "y=z", "--trained-here"]
    given = read_words("fit", FUNCTIONS["fit"], words)
    assert isinstance(given, Given)
    assert given.words["labels"] == ["--labels", "a b"]
    assert given.words["categories"] == ["--category", "x", "--category", "y=z"]
    assert given.words["trained_here"] == ["--trained-here"]
    assert given.command_line.startswith("autoeval fit '--labels=a b'")


GIVEN = Given({"plan": "p", "labels": None, "images": "i"}, {}, "autoeval")


@pytest.mark.parametrize(
    ("show", "options", "named"),
    [
        ("estimate", {"words": {"a": "b"}}, "--words"),
        ("label_estimate", {"until": 0.0}, "--until"),
        ("label_estimate", {"until": -1.0}, "--until"),
        ("label_estimate", {"until": float("inf")}, "--until"),
    ],
)
def test_what_would_do_nothing_is_refused(show, options, named):
    with pytest.raises(InputError, match=named):
        import_module(f"autoeval.commands.{show}").show(None, GIVEN, **options)


@pytest.mark.parametrize("options", [{"boxes": "c.json"}, {"images": "new/"}])
def test_a_keyword_that_a_fit_does_not_have_is_refused(options):
    with pytest.raises(TypeError, match=next(iter(options))):
        autoeval.fit("labels.json", "boxes.json", **options)


def test_a_keyword_that_a_site_does_not_have_is_refused():
    with pytest.raises(TypeError, match="boxes"):
        given_boxes_of("b.json", {"boxes": "c.json"})
