"""An input and the facts behind it: ``--images PATH KEY=VALUE ...``."""

import argparse

import pytest

from autoeval.commands.given_input import Detail, add_input, as_typed, yes_or_no

DETAILS = (
    Detail("every", "frames"),
    Detail("img_dir", "folder", "folder"),
    Detail("n", "number", read=int, default=3),
    Detail("whole", "yes or no", read=yes_or_no, default=True),
)


def parsed(*words, option="--images"):
    parser = argparse.ArgumentParser(exit_on_error=False)
    add_input(parser, option, DETAILS, metavar="PATH", help="images")
    return parser.parse_args(words)


def test_facts_stand_behind_their_input():
    args = parsed("--images", "a.mp4", "every=2s", "img_dir=b=c", "n=7", "whole=no")
    assert (args.images, args.every, args.folder, args.n, args.whole) == (
        *("a.mp4", "2s", "b=c"),
        *(7, False),
    )
    assert as_typed(args, "images")[:2] == ("a.mp4", "every=2s")


def test_without_it_every_fact_has_its_default():
    args = parsed()
    assert (args.images, args.every, args.folder, args.n, args.whole) == (None, None, None, 3, True)
    assert as_typed(args, "images") == ()


def test_facts_alone_are_of_what_is_given_already():
    args = parsed("--images", "a", "--images", "n=2")
    assert (args.images, args.n) == ("a", 2)


def test_a_file_whose_name_looks_like_a_fact_is_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "n=4").mkdir()
    assert parsed("--images", "n=4").images == "n=4"


@pytest.mark.parametrize("words", [("a", "every=2s"), ()])
def test_a_positional_argument_may_be_left_out(words):
    args = parsed(*words, option="images")
    assert (args.images, args.every) == (words[0] if words else None, "2s" if words else None)


@pytest.mark.parametrize(
    ("fact", "message"),
    [
        ("b", "expected every=VALUE, img_dir=VALUE.* behind it but got 'b'"),
        ("depth=2", "got 'depth=2'"),
        ("every=", "got 'every='"),
        ("n=few", "n=few: invalid literal"),
        ("whole=perhaps", "expected yes or no"),
    ],
)
def test_what_is_no_fact_of_it_is_refused(fact, message):
    with pytest.raises(argparse.ArgumentError, match=message):
        parsed("--images", "a", fact)
