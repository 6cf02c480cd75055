"""Vision-language models behind an OpenAI-compatible HTTP endpoint, with retries."""

from __future__ import annotations

import base64
import email.utils
import http.client
import json
import os
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from typing import Any

import cv2
import numpy as np

from autoeval.errors import InputError

LARGEST_ANSWER = 10_000_000
_BUSY = {408, 409, 425, 429, 500, 502, 503, 504, 529}
_LOCAL = {"localhost", "127.0.0.1", "::1"}


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would take the key to another server."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirect)


class EndpointAsk:
    """Asks a model about an image over ``/chat/completions`` below `url`.

    Of `max_tokens` the paper gives 4096 to GPT-4o, 4000 to InternVL2, 2000 to Molmo and 8192 to
    Qwen2-VL (appendix A.2). A temperature of None leaves it to the endpoint.
    """

    concurrent = True

    def __init__(
        self,
        url: str,
        model: str,
        *,
        max_tokens: int = 4096,
        temperature: float | None = None,
        **options: Any,
    ) -> None:
        self.model = model
        self.max_tokens = max_tokens
        self.temperature = temperature
        self.poster = JsonPoster(f"{url.rstrip('/')}/chat/completions", **options)

    def __call__(
        self,
        image: np.ndarray | None,
        prompt: str,
        *,
        temperature: float | None = None,
        seed: int | None = None,
    ) -> str:
        """Return the answer to ``prompt`` about ``image`` (H, W, 3) uint8 BGR, or about no image.

        ``temperature`` takes the place of the counter's own; ``seed`` is passed on. For errors see
        `JsonPoster.post`.
        """
        body: dict[str, Any] = {
            "model": self.model,
            "max_tokens": self.max_tokens,
            "messages": [{"role": "user", "content": _content(image, prompt)}],
        }
        chosen = self.temperature if temperature is None else temperature
        if chosen is not None:
            body["temperature"] = chosen
        if seed is not None:
            body["seed"] = seed
        return self._text_of(self.poster.post(body))

    def _text_of(self, answer: dict[str, Any]) -> str:
        try:
            content = answer["choices"][0]["message"]["content"]
        except (KeyError, IndexError, TypeError):
            raise EndpointError(f"no message in: {self.poster.clean(str(answer))}") from None
        if isinstance(content, list):
            parts = (part.get("text") for part in content if isinstance(part, dict))
            return "".join(str(part) for part in parts if part)
        return "" if content is None else str(content)


def _content(image: np.ndarray | None, prompt: str) -> list[dict[str, Any]]:
    text = {"type": "text", "text": prompt}
    if image is None:
        return [text]
    picture = base64.b64encode(cv2.imencode(".png", image)[1].tobytes()).decode()
    return [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{picture}"}}, text]


class EndpointError(RuntimeError):
    """One request that failed for good; others may succeed."""


class JsonPoster:
    """Posts JSON with retries.

    The key is read from the environment at every request, appears in no message, and goes
    unencrypted to this machine only. What may pass is repeated `retries` times: no connection,
    `timeout` seconds of silence, a busy server (429 and 5xx), an answer that is no JSON object.
    Pauses begin at `wait` seconds and double up to `longest_wait`, or are the server's
    ``Retry-After``; one beyond `longest_wait` ends the run.
    """

    def __init__(
        self,
        url: str,
        *,
        key_variable: str = "OPENAI_API_KEY",
        timeout: float = 120.0,
        retries: int = 5,
        wait: float = 1.0,
        longest_wait: float = 120.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.url = url
        self.key_variable = key_variable
        self.timeout = timeout
        self.retries = retries
        self.wait = wait
        self.longest_wait = longest_wait
        self.sleep = sleep
        self._check_address()

    def post(self, body: dict[str, Any]) -> dict[str, Any]:
        """Post ``body`` and return the JSON object that comes back.

        Raises `EndpointError` if this request fails for good, `InputError` if none can succeed: the
        key is refused, the address is wrong, or the server asks to wait too long.
        """
        data = json.dumps(body).encode()
        for attempt in range(self.retries + 1):
            try:
                return _read_object(self._send(data))
            except urllib.error.HTTPError as error:
                try:
                    said = error.read(300).decode(errors="replace")
                except (OSError, http.client.HTTPException):
                    said = error.reason
                reason = f"HTTP {error.code}: {self.clean(said)}"
                pause = self._pause(error, attempt, reason)
            except (OSError, http.client.HTTPException, ValueError) as error:
                reason = self.clean(f"{type(error).__name__}: {error}")
                pause = self._backoff(attempt)
            if attempt < self.retries:
                self.sleep(pause)
        raise EndpointError(f"gave up after {self.retries + 1} tries; the last: {reason}")

    def _send(self, data: bytes) -> bytes:
        headers = {"Content-Type": "application/json", "User-Agent": "autoeval"}
        if key := self._key():
            headers["Authorization"] = f"Bearer {key}"
        request = urllib.request.Request(self.url, data, headers, method="POST")
        with _OPENER.open(request, timeout=self.timeout) as reply:
            return reply.read(LARGEST_ANSWER + 1)

    def _pause(self, error: urllib.error.HTTPError, attempt: int, reason: str) -> float:
        if error.code in (401, 403):
            raise InputError(
                f"{self.url} refuses the key in the environment variable {self.key_variable} "
                f"({'set' if self._key() else 'not set'}). {reason}"
            ) from None
        if error.code in (404, 405) or 300 <= error.code < 400:
            place = error.headers.get("Location", "")
            raise InputError(f"{self.url} is not the address. {reason} {place}".strip()) from None
        if error.code not in _BUSY:
            raise EndpointError(reason) from None
        asked = _retry_after(error.headers.get("Retry-After"))
        if asked is not None and asked > self.longest_wait:
            raise InputError(
                f"{self.url} asks to wait {asked:.0f} s, longer than {self.longest_wait:.0f} s. "
                "The same command goes on from here later."
            ) from None
        return self._backoff(attempt) if asked is None else asked

    def _backoff(self, attempt: int) -> float:
        return min(self.wait * 2**attempt, self.longest_wait)

    def _key(self) -> str:
        return os.environ.get(self.key_variable, "").strip() if self.key_variable else ""

    def clean(self, text: str) -> str:
        """Shorten a text for a message, with the key struck out."""
        key = self._key()
        return (text.replace(key, "***") if key else text)[:300]

    def _check_address(self) -> None:
        parts = urllib.parse.urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(f"Expected an http(s) address of an endpoint but got '{self.url}'.")
        if parts.username or parts.password:
            raise InputError("The address holds a password; give a key in the environment instead.")
        if parts.scheme == "http" and parts.hostname not in _LOCAL and self._key():
            raise InputError(
                f"{self.url} would get the key in {self.key_variable} unencrypted. Use https, or "
                "key_variable='' if the server needs no key."
            )


def _read_object(content: bytes) -> dict[str, Any]:
    if len(content) > LARGEST_ANSWER:
        raise ValueError(f"the answer is larger than {LARGEST_ANSWER} bytes")
    try:
        answer = json.loads(content)
    except ValueError:
        raise ValueError(f"the answer is no JSON: {content[:80]!r}") from None
    if not isinstance(answer, dict):
        raise ValueError(f"the answer is no JSON object: {content[:80]!r}")
    return answer


def _retry_after(value: str | None) -> float | None:
    """Read seconds, or a date, out of a ``Retry-After`` header."""
    if not value:
        return None
    try:
        return max(float(value), 0.0)
    except ValueError:
        pass
    try:
        return max(email.utils.parsedate_to_datetime(value).timestamp() - time.time(), 0.0)
    except (TypeError, ValueError):
        return None
