"""The one exception class for input that a person can put right."""


class InputError(ValueError):
    """Bad input from the user: says what was expected, what came, and what to do.

    Command-line programs print its message without a traceback and exit with status 2.
    """


class FailedOnImagesError(InputError):
    """A program of somebody else that failed on some images, and may not fail on others."""


class DownloadError(InputError):
    """A file that could not be fetched from its address."""


class TooFewLabelsError(InputError):
    """None of the categories of a labelled set has labels enough for the default."""
