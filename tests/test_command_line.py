"""A command calls its function with what was typed; each of its parameters is an option."""

import ast
import functools
import inspect
import textwrap
from pathlib import Path
from pkgutil import resolve_name

import pytest

import autoeval
from autoeval.api.options import given_boxes_of
from autoeval.cli import main
from autoeval.command_table import COMMANDS
from autoeval.commands import command_line
from autoeval.commands.command_line import (
    Invocation,
    function_parameters,
    help_of,
    options_of,
    read_words,
    run_command,
    value_of,
)
from autoeval.commands.estimate import around_estimate
from autoeval.commands.labels import show_labelled
from autoeval.errors import InputError

# What is typed for a parameter, and what the function gets; others get the word itself.
READ = {
    "against_known": (["--against-known", "gate=31.2,yard=40"], {"gate": 0.312, "yard": 0.4}),
    "categories": (
        ["--category", "van=car,bus", "--category", "dog"],
        {"van": ["car", "bus"], "dog": ["dog"]},
    ),
    "counter": (["--counter", "a.py", "--counter", "b.py"], ["a.py", "b.py"]),
    "estimators": (["day=a", "night=b"], {"day": "a", "night": "b"}),
    "exclude": (["--exclude", "a.txt,b.txt"], ["a.txt", "b.txt"]),
    "known": (["--known", "weaker=31.2"], {"weaker": 0.312}),
    "leave_out": (["--leave-out", "a,b"], ["a", "b"]),
    "known_sites": (["--site", "gate=north", "yard=south"], {"gate": "north", "yard": "south"}),
    "labelled": (["--labelled", "gate=gate.json"], {"gate": "gate.json"}),
    "option": (["--option", "split=val"], {"split": "val"}),
    "present": (["--present", "car", "--present", "bus"], ["car", "bus"]),
    "seed_set": (["--seed-set", "a", "b", "c", "--seed-set", "d"], [["a", "b", "c"], ["d"]]),
    "site_categories": (
        ["--site-category", "gate", "van=car", "--site-category", "gate", "dog"],
        {"gate": {"van": ["car"], "dog": ["dog"]}},
    ),
    "stages": (["--stages", "a,b"], ["a", "b"]),
    "words": (["--words", "auto=car,omnibus=bus"], {"auto": "car", "omnibus": "bus"}),
}
VALUES = {int: 7, float: 0.25, str: "word"}


def typed(name, parameter, command):
    """Words that give a parameter, and the value that they stand for."""
    if name in READ:
        return READ[name]
    option = [] if name in command.positional else [parameter.typed[0]]
    if parameter.kind is bool:
        return option, parameter.default is not True
    value = parameter.choices[-1] if parameter.choices else VALUES[parameter.kind]
    if parameter.several:
        return [*option, str(value), str(value)], [value, value]
    return [*option, str(value)], value


def call_with(option, command):
    """The words of a call with one option and all that is required, and the option's value."""
    before, named, expected = [], [], None
    for name, parameter in options_of(command).items():
        if name != option and parameter.default is not inspect.Parameter.empty:
            continue
        words, value = typed(name, parameter, command)
        if name == option:
            expected = value
        (before if name in command.positional else named).append((name, words))
    before.sort(key=lambda given: command.positional.index(given[0]))
    return [word for _, words in before + named for word in words], expected


CASES = [(name, option) for name, of in COMMANDS.items() for option in options_of(of)]


@pytest.mark.parametrize(("name", "option"), CASES)
def test_a_command_calls_its_function_with_what_was_typed(name, option, monkeypatch):
    command = COMMANDS[name]._replace(around="")
    words, expected = call_with(option, command)
    called = {}
    parameters = {
        of: [parameter for parameter, _ in function_parameters(resolve_name(of)).values()]
        for of in (command.function, command.show)
        if of
    }
    monkeypatch.setattr(command_line, "options_of", functools.cache(options_of))

    def noting(path):
        """A function that notes its arguments, with the signature of the real one."""

        def note(*_, **given):
            called.update(given)
            return 0

        note.__signature__ = inspect.signature(resolve_name(path)).replace(
            parameters=parameters.get(path, [])
        )
        return note

    options_of(command)
    monkeypatch.setattr(command_line, "resolve_name", noting)
    assert run_command(name, command, words) == 0
    assert called[option] == expected


@pytest.mark.parametrize("name", COMMANDS)
def test_a_function_reads_all_its_parameters(name):
    """Those of the core are tried one by one in `tests/test_no_parameter_ignored.py`."""
    for path in filter(None, (COMMANDS[name].function, COMMANDS[name].show)):
        function = resolve_name(path)
        read = {
            node.id
            for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(function))))
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        }
        of_function = {"work_dir"} if path == "autoeval.commands.estimate:show_detect" else set()
        assert set(inspect.signature(function).parameters) - read <= of_function


@pytest.mark.parametrize("name", COMMANDS)
def test_help_explains_every_option(name):
    text = help_of(name, COMMANDS[name])
    explained = command_line._explained(COMMANDS[name])
    for parameter, option in options_of(COMMANDS[name]).items():
        assert explained.get(parameter), parameter
        assert option.typed[0] in text
    assert text.startswith(f"usage: autoeval {name}")


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--lables", "a"], "--labels"),  # what was meant
        (["--labels"], "--labels"),  # without a value
        (["--level", "much"], "--level"),
        (["--labels", "a", "--labels", "b"], "into one file or folder"),
        (["--labels", "a", "b"], "into one file or folder"),
        (["--labels", "a", "--json", "--", "b"], "'b'"),
        (["a.json"], "'a.json'"),
        (["-"], "'-'"),
        (["--join"], "--join"),  # a list without a word
        (["--cfg-options", "--json"], "--cfg-options"),
        (["--category", ""], "--category"),
        (["--category", "=car"], "--category"),
        (["--batch-size", "4.7"], "--batch-size"),  # no number is rounded
        (["--batch-size=0x10"], "--batch-size"),
        (["--batch-size", "1e2"], "--batch-size"),
        (["--category", "a=b", "--json", "--verbose"], "--json"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_line(words, named):
    with pytest.raises(InputError) as refused:
        read_words("fit", COMMANDS["fit"], words)
    assert named in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize("name", COMMANDS)
def test_whole_numbers_are_counts_and_seeds_and_none_is_under_0_or_huge(name):
    """A seed under 0 was a traceback of NumPy, as were sizes that no array has."""
    for option in options_of(COMMANDS[name]).values():
        if option.kind is int:
            assert value_of(option, ["0"]) == ([0] if option.several else 0)
            for word in ("-1", str(2**32), "9" * 5000):
                with pytest.raises(InputError, match=option.typed[0]):
                    value_of(option, [word])


def test_what_memory_does_not_hold_is_said_in_one_line(monkeypatch, capsys):
    def run(*_):
        raise MemoryError("Unable to allocate 9 TiB")

    monkeypatch.setattr(command_line, "run_command", run)
    assert main(["count", "evaluate", "a.csv"]) == 1
    assert capsys.readouterr().err == "error: not enough memory: Unable to allocate 9 TiB\n"


def test_a_dash_is_a_value():
    """For a detector that is run, and for paths on standard input."""
    words = ["a", "b", "--predictions", "-", "c.json", "--images", "-"]
    values = read_words("compare", COMMANDS["compare"], words).values
    assert values["estimators"] == ["a", "b"]
    assert (values["predictions"], values["images"]) == (["-", "c.json"], "-")


def test_a_value_may_begin_with_a_dash():
    words = ["--columns", "-,class,x,y,w,h,score", "--group=-x", "--level", "-.5"]
    values = read_words("fit", COMMANDS["fit"], words).values
    assert values["columns"] == "-,class,x,y,w,h,score"
    assert (values["group"], values["level"]) == ("-x", -0.5)


def test_an_option_may_have_low_lines_and_a_short_one_its_value_at_once():
    words = ["--site_category", "a_b", "c", "--site_category", "a_b", "d", "--work_dir=x_y"]
    given = read_words("monitor", COMMANDS["monitor"], ["--estimator", "e", *words])
    assert given.values["site_categories"] == {"a_b": {"c": ["c"], "d": ["d"]}}
    assert given.words["work_dir"] == ["--work-dir", "x_y"]
    words = ["--detector", "d", "--images", "i", "-oboxes.json"]
    assert read_words("detect", COMMANDS["detect"], words).values["output"] == "boxes.json"


@pytest.mark.parametrize(
    ("name", "words", "kept"),
    [
        ("compare", "--images i a b", {"images": "--images i", "estimators": "a b"}),
        ("compare", "--predictions p q -- a", {"predictions": "--predictions p q"}),
        ("compare", "--predictions p q -- --a", {"estimators": "--a"}),
        ("count capture report", "s a b", {"split": "s", "answers": "a b"}),
        ("count capture report", "s --task t a", {"task": "--task t", "answers": "a"}),
        ("convert-labels", "in --option a=b c=d -- out", {"option": "--option a=b c=d"}),
        ("compare", "--predictions=p q --images i a b", {"predictions": "--predictions p q"}),
        ("compare", "a --images i b", {"estimators": "a b"}),
        ("compare", "a b --images=-- --labels -", {"images": "--images --"}),
        ("fit", "--labels=--verbose --json --json", {"labels": "--labels --verbose"}),
    ],
)
def test_each_parameter_keeps_its_own_words(name, words, kept):
    typed = read_words(name, COMMANDS[name], words.split()).words
    assert {option: " ".join(typed[option]) for option in kept} == kept


def test_what_was_typed_is_kept_for_the_line_on_the_next_step():
    words = ["--labels=a b", "--category", "x", "--category", "y=z", "--trained-here"]
    given = read_words("fit", COMMANDS["fit"], words)
    assert isinstance(given, Invocation)
    assert given.words["labels"] == ["--labels", "a b"]
    assert given.words["categories"] == ["--category", "x", "--category", "y=z"]
    assert given.words["trained_here"] == ["--trained-here"]
    assert given.command_line.startswith("autoeval fit '--labels=a b'")


GIVEN = Invocation({"plan": "p", "labels": None, "images": "i"}, {}, "autoeval")


@pytest.mark.parametrize("until", [0.0, -1.0, float("inf")])
def test_a_half_width_that_none_is_is_refused(until):
    with pytest.raises(InputError, match="--until"):
        show_labelled(None, GIVEN, until=until)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--words", "a=b"], "--words goes with --labels"),
        (["--img-dir", "b"], "--img-dir goes with --labels, or with a COCO JSON"),
        (["--labels", "gone.json"], "gone.json"),
        (["--labels", "plan/annotations.json"], "label estimate --plan plan"),
        (["--labels", "plan"], "label estimate --plan plan"),
    ],
)
def test_labels_of_an_estimate_are_looked_at_before_a_detector_is_run(
    words, named, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan").mkdir()
    for name in ("annotations.json", "plan.json"):
        (tmp_path / "plan" / name).write_text("{}")
    assert main(["estimate", "--estimator", "none", "--images", "new", *words]) == 2
    err = capsys.readouterr().err
    assert named in err and "No estimator" not in err


@pytest.mark.parametrize(
    ("images", "instead"),
    [
        (["--images", "new"], {"img_dir": None}),
        (["--images", "new.json"], {}),
        (["--images", "new", "--predictions", "p.json"], {}),
    ],
)
def test_beside_labels_the_image_folder_is_theirs_where_images_are_no_list(
    images, instead, tmp_path, monkeypatch
):
    """The function refuses a folder of images beside another one."""
    monkeypatch.chdir(tmp_path)
    Path("few.json").write_text("{}")
    words = [*images, "--labels", "few.json", "--img-dir", "labelled"]
    with around_estimate(read_words("estimate", COMMANDS["estimate"], words)) as changed:
        assert changed == instead


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("monitor", ["--estimator", "e", "--site", "gate=a", "gate=b"]),
        ("monitor", ["--estimator", "e", "--labelled", "gate=a", "--labelled", "gate=b"]),
        ("compare", ["a", "b", "--known", "gate=31", "gate=32"]),
        ("convert-labels", ["a", "b", "--option", "gate=a", "gate=b"]),
        ("label estimate", ["--plan", "p", "--labels", "l", "--words", "gate=a,gate=b"]),
    ],
)
def test_a_name_has_one_value(name, words):
    with pytest.raises(InputError, match="gives 'gate' two values"):
        read_words(name, COMMANDS[name], words)
    repeated = [word.replace("gate=b", "gate=a").replace("=32", "=31") for word in words]
    assert read_words(name, COMMANDS[name], repeated)


@pytest.mark.parametrize("word", ["layout=coco", "img_dir=.", "path=x", "annotations=y"])
def test_an_option_of_a_format_is_none_of_the_command(word, tmp_path, capsys):
    (tmp_path / "a.json").write_text('{"images": [], "annotations": [], "categories": []}')
    words = ["convert-labels", str(tmp_path / "a.json"), str(tmp_path / "b.json")]
    assert main([*words, "--option", word]) == 2
    assert word.partition("=")[0] in capsys.readouterr().err
    assert not (tmp_path / "b.json").exists()


@pytest.mark.parametrize("options", [{"boxes": "c.json"}, {"images": "new/"}])
def test_a_keyword_that_a_fit_does_not_have_is_refused(options):
    with pytest.raises(TypeError, match=next(iter(options))):
        autoeval.fit("labels.json", "boxes.json", **options)


def test_a_keyword_that_a_site_does_not_have_is_refused():
    with pytest.raises(TypeError, match="boxes"):
        given_boxes_of("b.json", {"boxes": "c.json"})


def test_the_home_folder_is_found_in_quotes_and_behind_an_equals_sign(monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    words = ["--labels", "~/a.json", "--predictions=~/b.json", "--img-dir", "a/~/b"]
    given = read_words("fit", COMMANDS["fit"], words)
    paths = [given.values[name] for name in ("labels", "predictions", "img_dir")]
    assert paths == ["/home/me/a.json", "/home/me/b.json", "a/~/b"]
    assert given.words["labels"] == ["--labels", "~/a.json"]  # as it was typed
