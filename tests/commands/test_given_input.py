"""Options that belong to an input: with it, without it, and shared by two inputs."""

import argparse

import pytest

from autoeval.commands.given_input import Detail, add_input, without_input
from autoeval.commands.typed_options import typed_options

DETAILS = (
    Detail("every", "frames"),
    Detail("n", "number", int, 3),
    Detail("whole", "all of it", bool, True, option="--part"),
)


def typed(*words, alone=False, default=None):
    parser = argparse.ArgumentParser()
    add_input(parser, "--images", DETAILS, alone=alone, default=default)
    add_input(parser, "--labels", DETAILS[:1])
    args = parser.parse_args(words)
    options = list(typed_options(parser, args).values())
    return args, without_input(parser, options)


def test_what_is_typed():
    args, lone = typed("--images", "a", "--every", "2s", "--n", "5", "--part")
    assert (args.images, args.every, args.n, args.whole, lone) == ("a", "2s", 5, False, None)
    args, lone = typed("--images", "a")
    assert (args.every, args.n, args.whole, lone) == (None, 3, True, None)


@pytest.mark.parametrize(
    ("words", "inputs"),
    [
        (["--n", "5"], ["--images"]),
        (["--part", "--labels", "b"], ["--images"]),
        (["--every", "2s"], ["--images", "--labels"]),
    ],
)
def test_an_option_without_its_input_is_named(words, inputs):
    assert typed(*words)[1] == (words[0], inputs)


def test_an_option_of_two_inputs_goes_with_either():
    assert typed("--labels", "b", "--every", "2s")[1] is None


@pytest.mark.parametrize("given", [{"alone": True}, {"default": "usual"}])
def test_an_input_with_a_default_need_not_be_typed(given):
    assert typed("--n", "5", **given)[1] is None
