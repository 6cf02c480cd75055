"""How to split each backbone family into layers, one family a file."""

from autoeval.detectors import ops

ops.register()
