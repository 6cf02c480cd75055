"""The stand-in detector of `fake_cameras`, for the command line: --detector FILE.py:detector."""

from monitoring.fake_cameras import detector as make

detector = make()
