"""What is said of a detector on the command line."""

import argparse

import pytest

from autoeval.commands.run_options import add_detector_options, load_named_detector
from autoeval.errors import InputError


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "Expected --detector NAME"),
        (["--detector", "a.py"], "a.py"),
        (["--detector", "yolox_nano", "--cfg-options", "a=1", "b"], "as KEY=VALUE.*but got b"),
        (["--detector", "yolox_nano", "--classes", "nowhere"], "Cannot read the classes"),
        (["--detector", "yolox_nano", "--checkpoint", "nowhere"], "No checkpoint file nowhere"),
        (["--detector", "yolox_nano", "--device", "foo"], "Cannot use device 'foo'"),
    ],
)
def test_what_is_missing_or_wrong(words, message):
    parser = argparse.ArgumentParser()
    add_detector_options(parser)
    with pytest.raises(InputError, match=message):
        load_named_detector(parser.parse_args(words))
