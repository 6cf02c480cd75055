"""Vision-language models behind an OpenAI-compatible HTTP endpoint, by the client of `openai`."""

from __future__ import annotations

import base64
import email.utils
import json
import os
import time
import urllib.parse
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np

from autoeval.counting.prompting import CutOffAnswer
from autoeval.errors import InputError, install_command

if TYPE_CHECKING:
    import openai

_LOCAL = ("localhost", "127.0.0.1", "::1")
_NEWER_NAME = "max_completion_tokens"
_NO_KEY = "no-key"  # the client refuses an empty one; it is not sent
_LONGEST_WAIT = 120  # seconds; after a longer ``Retry-After`` the client does not ask again
_CUT_OFF_BY = ("length", "content_filter")  # reasons to finish before the end
# The client adds others, also from environment variables of its own.
_HEADERS = {"accept", "accept-encoding", "authorization", "connection", "host", "user-agent"}
_HEADERS |= {"content-length", "content-type", "x-stainless-raw-response"}


class EndpointError(RuntimeError):
    """One request that failed for good; others may succeed."""


class EndpointAsk:
    """Asks a model about an image over ``/chat/completions``.

    The key appears in no message, and goes unencrypted to this machine only. No connection, silence
    and a busy server (408, 409, 429 and 5xx) are tried again, after the server's ``Retry-After`` or
    pauses that double; one beyond two minutes ends the run.

    Parameters
    ----------
    url : str
        Address of the endpoint, below which ``/chat/completions`` is.
    model : str
        Its name there.
    max_tokens : int, optional
        Longest answer; one that reaches it is a `CutOffAnswer`. The paper on CAPTURe gives 4096 to
        GPT-4o, 4000 to InternVL2, 2000 to Molmo and 8192 to Qwen2-VL (appendix A.2); None sends no
        limit. An endpoint that wants it as ``max_completion_tokens``, as newer ones do, says so
        once and then gets it.
    temperature : float, optional
        None leaves it to the endpoint.
    key_variable : str
        Environment variable with the key; empty for none.
    timeout : float
        Seconds of silence after which a request has failed.
    retries : int
        How often a request is tried again.

    Raises
    ------
    InputError
        If openai is missing, the address is none or unsafe, or the key holds characters that no key
        has.
    """

    concurrent = True

    def __init__(
        self,
        url: str,
        model: str,
        *,
        max_tokens: int | None = 4096,
        temperature: float | None = None,
        key_variable: str = "OPENAI_API_KEY",
        timeout: float = 120.0,
        retries: int = 5,
    ) -> None:
        try:
            import openai
        except ImportError as error:
            raise InputError(
                f"Models behind an endpoint need openai: {install_command('endpoint')}."
            ) from error
        key = os.environ.get(key_variable, "").strip() if key_variable else ""
        if not (key.isascii() and key.isprintable()):
            raise InputError(f"The key in {key_variable} holds characters that no key has.")
        host = _check_address(url, key_variable if key else "")
        self.model = model
        self.max_tokens = max_tokens
        self._limit_name = "max_tokens"
        self.temperature = temperature
        self.key_variable = key_variable
        self.client = openai.OpenAI(
            base_url=url,
            api_key=key or _NO_KEY,
            # Stated again, so that no environment variable of the client's own replaces it.
            default_headers={"Authorization": f"Bearer {key or _NO_KEY}"},
            timeout=timeout,
            max_retries=retries,
            # A redirect, or a proxy before this machine, would take the key elsewhere.
            http_client=openai.DefaultHttpxClient(
                follow_redirects=False,
                trust_env=host not in _LOCAL,
                event_hooks={"request": [self._drop_other_headers]},
            ),
        )

    def __call__(
        self,
        image: np.ndarray | None,
        prompt: str,
        *,
        temperature: float | None = None,
        seed: int | None = None,
    ) -> str:
        """Return the answer to ``prompt`` about ``image`` (H, W, 3) uint8 BGR, or about no image.

        ``temperature`` takes the place of the counter's own; ``seed`` is passed on. Raises
        `EndpointError` if this request fails for good, `InputError` if none can succeed: the key is
        refused, the address is wrong, or the server asks to wait too long.
        """
        import openai

        body: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": "user", "content": _content(image, prompt)}],
        }
        chosen = self.temperature if temperature is None else temperature
        if chosen is not None:
            body["temperature"] = chosen
        if seed is not None:
            body["seed"] = seed
        try:
            reply = self._create(body)
        except openai.APIStatusError as error:
            raise self._explain(error) from None
        except openai.OpenAIError as error:
            raise EndpointError(self._clean(f"{error} {error.__cause__ or ''}")) from None
        text = reply.http_response.text
        try:
            choice = json.loads(reply.http_response.content)["choices"][0]
            message = choice["message"]
            content = message["content"]
        except ValueError:
            raise EndpointError(f"the answer is no JSON: {self._clean(text)}") from None
        except (KeyError, IndexError, TypeError):
            raise EndpointError(f"no message in: {self._clean(text)}") from None
        if isinstance(content, list):
            parts = (part.get("text") for part in content if isinstance(part, dict))
            content = "".join(str(part) for part in parts if part)
        text = "" if content is None else str(content)
        if not text and message.get("refusal"):
            return CutOffAnswer(message["refusal"])  # is kept, and no number is read from it
        return CutOffAnswer(text) if choice.get("finish_reason") in _CUT_OFF_BY else text

    def _create(self, body: dict[str, Any]) -> Any:
        """Send a request with the limit of tokens under the name that the endpoint takes."""
        import openai

        create: Any = self.client.chat.completions.with_raw_response.create
        if self.max_tokens is None:
            return create(**body)
        limit_name = self._limit_name  # another thread may learn the newer one meanwhile
        try:
            return create(**body, **{limit_name: self.max_tokens})
        except openai.BadRequestError as error:
            if limit_name == _NEWER_NAME or _NEWER_NAME not in error.response.text:
                raise
        self._limit_name = _NEWER_NAME
        return create(**body, **{_NEWER_NAME: self.max_tokens})

    def _drop_other_headers(self, request: Any) -> None:
        kept = _HEADERS - ({"authorization"} if self.client.api_key == _NO_KEY else set())
        for name in set(request.headers) - kept:
            del request.headers[name]

    def _explain(self, error: openai.APIStatusError) -> Exception:
        code, headers = error.status_code, error.response.headers
        reason = f"HTTP {code}: {self._clean(error.response.text)}"
        if code in (401, 403):
            key_state = "not set" if self.client.api_key == _NO_KEY else "set"
            return InputError(
                f"{self.client.base_url} refuses the key in the environment variable "
                f"{self.key_variable} ({key_state}). {reason}"
            )
        if code in (404, 405) or 300 <= code < 400:
            place = self._clean(headers.get("Location", ""))
            return InputError(f"{self.client.base_url} is not the address. {reason} {place}")
        wait_s = _seconds(headers.get("Retry-After", ""))
        if (code == 429 or code >= 500) and wait_s > _LONGEST_WAIT:
            return InputError(
                f"{self.client.base_url} asks to wait {wait_s:.0f} s, longer than "
                f"{_LONGEST_WAIT} s. The same command goes on from here later."
            )
        return EndpointError(reason)

    def _clean(self, text: str) -> str:
        """Shorten a text for a message, with the key struck out."""
        return text.replace(self.client.api_key, "***")[:300]


def _content(image: np.ndarray | None, prompt: str) -> list[dict[str, Any]]:
    text = {"type": "text", "text": prompt}
    if image is None:
        return [text]
    picture = base64.b64encode(cv2.imencode(".png", image)[1].tobytes()).decode()
    return [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{picture}"}}, text]


def _seconds(retry_after: str) -> float:
    """Read the header: seconds or a date; 0 where it is neither."""
    try:
        return float(retry_after)
    except ValueError:
        pass
    try:
        return email.utils.parsedate_to_datetime(retry_after).timestamp() - time.time()
    except (TypeError, ValueError):
        return 0.0


def _check_address(url: str, key_variable: str) -> str:
    """Return the host of `url`; `key_variable` is empty where no key is sent."""
    expected = f"Expected an http(s) address of an endpoint but got '{url}'."
    try:
        parts = urllib.parse.urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise InputError(f"{expected} {error}.") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or not url.isprintable():
        raise InputError(expected)
    if parts.username or parts.password:
        raise InputError("The address holds a password; give a key in the environment instead.")
    if parts.scheme == "http" and parts.hostname not in _LOCAL and key_variable:
        raise InputError(
            f"{url} would get the key in {key_variable} unencrypted. Use https, or "
            "key_variable='' if the server needs no key."
        )
    return parts.hostname
