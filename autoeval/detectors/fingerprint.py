"""A short name for a description of a detector."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

FINGERPRINT_LENGTH = 16


def fingerprint(settings: Mapping[str, Any]) -> str:
    """Shorten a description to a name, different for every difference in it."""
    return hash_json(dict(settings))[:FINGERPRINT_LENGTH]


def hash_json(content: Any) -> str:
    """Return the SHA-256 of the canonical JSON text of ``content``."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()
