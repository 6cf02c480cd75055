"""Three warnings of libraries that say nothing to users and break the line of a progress bar."""

from __future__ import annotations

import warnings


def silence() -> None:
    """Ignore what mmengine's use of ``pkg_resources``, mmdet's of autocast and meshgrid bring up.

    A context manager around each pass would do the same but make all other warnings, which Python
    shows once a place, come again with every pass.
    """
    warnings.filterwarnings("ignore", "pkg_resources is deprecated as an API", UserWarning)
    warnings.filterwarnings(
        "ignore",
        r"`torch\.cuda\.amp\.autocast\(args\.\.\.\)` is deprecated",
        FutureWarning,
        module="mm(det|cv|engine)",
    )
    warnings.filterwarnings("ignore", r"torch\.meshgrid: in an upcoming release", UserWarning)
