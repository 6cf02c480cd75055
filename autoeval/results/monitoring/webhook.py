"""Telling another program of alarms, by an HTTP request."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

from autoeval.errors import InputError

TIMEOUT_S = 10.0


def post_json(url: str, value: Any, *, timeout_s: float = TIMEOUT_S) -> None:
    """Send a value as JSON to an address (POST).

    Raises
    ------
    InputError
        If the address is none of HTTP.
    OSError
        If nothing answers there, or not with success.
    """
    if not url.startswith(("http://", "https://")):
        raise InputError(f"Expected --webhook as an http or https address, but got {url!r}.")
    body = json.dumps(value, ensure_ascii=False).encode()
    headers = {"Content-Type": "application/json", "User-Agent": "autoeval"}
    request = urllib.request.Request(url, data=body, headers=headers, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=timeout_s):
            pass
    except urllib.error.HTTPError as error:
        raise OSError(f"the webhook {url} answered {error.code} {error.reason}") from error
    except urllib.error.URLError as error:
        raise OSError(f"the webhook {url} cannot be reached: {error.reason}") from error
