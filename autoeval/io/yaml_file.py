"""Reading small YAML files of other programs, none of which can fill the memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from autoeval.errors import InputError
from autoeval.io.wording import printable

LARGEST = 1 << 20  # bytes; lists of 20,000 names have half as many
MOST_ALIASES = 20  # data.yaml has none; a few hundred can stand for more than any memory


def read_yaml(path: Path) -> Any:
    """Read a YAML file, or raise `InputError` if it is none, too large, or full of aliases."""
    name = printable(path)
    try:
        size = path.stat().st_size
        if size > LARGEST:
            raise InputError(
                f"{name} has {size:,} bytes: expected a YAML file of {LARGEST:,} at most, such as "
                "data.yaml with the names of categories."
            )
        text = path.read_text(encoding="utf-8-sig", errors="replace")
        events = yaml.parse(text, Loader=yaml.SafeLoader)
        if sum(isinstance(event, yaml.AliasEvent) for event in events) > MOST_ALIASES:
            raise InputError(
                f"{name} has more than {MOST_ALIASES} aliases (*NAME), which can stand for more "
                "than any memory: write out what they stand for."
            )
        return yaml.safe_load(text)
    except OSError as error:
        raise InputError(f"Cannot read {name}: {error.strerror}.") from error
    except (yaml.YAMLError, RecursionError) as error:
        raise InputError(f"{name} is not a YAML file ({error}).") from error
