"""Counters that wrap a language model, a density network or a file, and the oracle baseline."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from autoeval.counting.capture.answers import extract_count
from autoeval.counting.counters import (
    COUNT,
    DENSITY,
    POINTS,
    TEXT,
    Context,
    CountResult,
    as_result,
)
from autoeval.counting.predictions import CountPredictions, match_ids, read_long
from autoeval.counting.prompting import CutOffAnswer, Extractor, ask_until_read
from autoeval.errors import InputError, install_command
from autoeval.runtime import OK, SKIPPED
from autoeval.runtime.files import PathLike

if TYPE_CHECKING:
    import torch

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)


class TextCounter:
    """Asks a question about an image and reads a number out of the answer.

    Parameters
    ----------
    ask : callable
        Answers a question about an image (H, W, 3) uint8 BGR; from several threads where its
        attribute ``concurrent`` is true.
    extractor : callable
        Reads an answer, as `extract_count` does.
    name : str
        Of the counter.
    temperatures : sequence of float
        Each is tried until an answer can be read (`ask_until_read`); None leaves it to `ask`.
    """

    capabilities = frozenset({COUNT, TEXT})

    def __init__(
        self,
        ask: Callable[..., str],
        extractor: Extractor = extract_count,
        *,
        name: str = "text",
        temperatures: Sequence[float | None] = (None,),
    ) -> None:
        self.ask = ask
        self.extractor = extractor
        self.name = name
        self.temperatures = temperatures
        self.concurrent = bool(getattr(ask, "concurrent", False))

    def count(self, image: np.ndarray, prompt: str, context: Context = None) -> CountResult:
        """Ask a question about an image.

        Parameters
        ----------
        image, prompt, context
            As `Counter.count` takes them; the prompt is the question.
        """
        read = ask_until_read(
            self.ask, image, prompt, self.extractor, temperatures=self.temperatures
        )
        count, status = (float("nan"), SKIPPED) if read.value is None else (float(read.value), OK)
        return CountResult(count, text=read.text, status=status, context=context or {})


class TransformersAsk:
    """Asks a model of the hub, or of a local folder, for the task ``image-text-to-text``.

    Parameters
    ----------
    model : str
        Name on the hub, or folder.
    device : str
        As torch names it.
    temperature : float
        At which words are drawn; 0 takes the most probable ones.
    max_new_tokens : int
        Longest answer; one that reaches it is a `CutOffAnswer`.
    **options
        Further options of `transformers.pipeline`, such as ``dtype``.

    Raises
    ------
    InputError
        If transformers is missing.
    """

    def __init__(
        self,
        model: str,
        *,
        device: str = "cpu",
        temperature: float = 0.0,
        max_new_tokens: int = 128,
        **options: Any,
    ) -> None:
        try:
            from transformers import pipeline
        except ImportError as error:
            raise InputError(
                f"Vision-language models need transformers: {install_command('vlm')}."
            ) from error
        self.temperature = temperature
        self.max_new_tokens = max_new_tokens
        self.pipeline = pipeline("image-text-to-text", model=model, device=device, **options)

    def __call__(
        self,
        image: np.ndarray,
        prompt: str,
        *,
        temperature: float | None = None,
        seed: int | None = None,
    ) -> str:
        """Return the answer to `prompt` about ``image`` (H, W, 3) uint8 BGR; a seed repeats it."""
        from PIL import Image

        picture = Image.fromarray(np.ascontiguousarray(image[..., ::-1]))
        content = [{"type": "image", "image": picture}, {"type": "text", "text": prompt}]
        chosen = self.temperature if temperature is None else temperature
        sampling: dict[str, Any] = {"max_new_tokens": self.max_new_tokens, "do_sample": chosen > 0}
        if chosen > 0:
            sampling["temperature"] = chosen
        if seed is not None:
            from transformers import set_seed

            set_seed(seed)
        [answer] = self.pipeline(
            text=[{"role": "user", "content": content}],
            return_full_text=False,
            generate_kwargs=sampling,
        )
        text = answer["generated_text"].strip()
        tokenizer = getattr(self.pipeline, "tokenizer", None)
        if tokenizer is None:
            return text
        tokens = tokenizer(text, add_special_tokens=False)["input_ids"]
        return CutOffAnswer(text) if len(tokens) >= self.max_new_tokens else text


def imagenet_input(image: np.ndarray) -> torch.Tensor:
    """Turn an image into the input of a network, normalised as ImageNet.

    Parameters
    ----------
    image : ndarray of shape (H, W, 3), uint8
        BGR.

    Returns
    -------
    Tensor of shape (3, H, W), float32
        RGB.
    """
    import torch

    rgb = torch.from_numpy(np.ascontiguousarray(image[..., ::-1])).permute(2, 0, 1).float() / 255
    mean, std = torch.tensor(IMAGENET_MEAN), torch.tensor(IMAGENET_STD)
    return (rgb - mean[:, None, None]) / std[:, None, None]


class DensityCounter:
    """Counts with a module that maps an image to a density map; the count is the map's sum.

    Parameters
    ----------
    module : torch.nn.Module
        Takes a batch of one image and returns a map (H, W), maybe smaller than the image and with
        leading dimensions of 1.
    name : str
        Of the counter.
    device : str
        As torch names it.
    scale : float
        By which the map is multiplied: 0.01 for a network trained on maps times 100.
    to_input : callable
        Makes the input (C, H, W) of the module from an image (H, W, 3) uint8 BGR.
    prompted : bool
        Whether the module also takes the list of prompts.
    """

    capabilities = frozenset({COUNT, DENSITY})

    def __init__(
        self,
        module: torch.nn.Module,
        *,
        name: str,
        device: str = "cpu",
        scale: float = 1.0,
        to_input: Callable[[np.ndarray], torch.Tensor] = imagenet_input,
        prompted: bool = False,
    ) -> None:
        self.module = module.to(device).eval()
        self.name = name
        self.device = device
        self.scale = scale
        self.to_input = to_input
        self.prompted = prompted

    def count(self, image: np.ndarray, prompt: str, context: Context = None) -> CountResult:
        """Count in an image; a map that is not finite gives a failed result.

        Parameters
        ----------
        image, prompt, context
            As `Counter.count` takes them; a module that is not prompted does not read the prompt.

        Raises
        ------
        InputError
            If the module does not return one map.
        """
        import torch

        with torch.inference_mode():
            batch = self.to_input(image)[None].to(self.device)
            output = self.module(batch, [prompt]) if self.prompted else self.module(batch)
        shape = tuple(getattr(output, "shape", ()))
        if len(shape) < 2 or any(length != 1 for length in shape[:-2]):
            raise InputError(
                f"Expected the module to return one density map (H, W) but got "
                f"{f'shape {shape}' if shape else type(output).__name__}."
            )
        density = self.scale * output.reshape(shape[-2:]).double().cpu().numpy()
        if not np.isfinite(density).all():
            return CountResult(
                float("nan"), status="failed: the density map is not finite", context=context or {}
            )
        return CountResult(float(density.sum()), density=density, context=context or {})


class FunctionCounter:
    """Counts by a function.

    What it gives beyond counts is known when it has counted once.

    Parameters
    ----------
    function : callable
        Takes an image (H, W, 3) uint8 BGR and a prompt, and the context where it has a third
        parameter; returns what `as_result` takes: a number, points, a density map, a text or None.
    name : str, optional
        Of the counter; by default that of the function.
    """

    def __init__(self, function: Callable[..., Any], *, name: str | None = None) -> None:
        self.function = function
        self.name = name or str(getattr(function, "__name__", type(function).__name__))
        self.capabilities = frozenset({COUNT})
        self.asked = False
        try:
            inspect.signature(function).bind(None, "", {})
            self._takes_context = True
        except (TypeError, ValueError):
            self._takes_context = False

    def count(self, image: np.ndarray, prompt: str, context: Context = None) -> CountResult:
        """Count what a prompt names in an image.

        Parameters
        ----------
        image, prompt, context
            As `Counter.count` takes them.

        Raises
        ------
        InputError
            As `as_result`.
        """
        arguments = (image, prompt, dict(context or {})) if self._takes_context else (image, prompt)
        result = as_result(self.function(*arguments), self.name, context)
        if result.centres is not None:
            self.capabilities |= {POINTS}
        if result.density is not None:
            self.capabilities |= {DENSITY}
        self.asked |= result.status == OK  # one that declines shows nothing
        return result


class FileCounter:
    """Looks counts up by the image's id, which the context must hold as ``image_id``.

    Parameters
    ----------
    predictions : CountPredictions or path-like
        Predictions of one model, or a table of ``id,pred``, or of ``image,class,count`` whose class
        is the prompt; images are joined by name, with or without folders and suffix.
    name : str, optional
        Of the counter; by default that of the predictions.
    """

    capabilities = frozenset({COUNT})

    def __init__(
        self, predictions: CountPredictions | PathLike, *, name: str | None = None
    ) -> None:
        if isinstance(predictions, CountPredictions):
            self.name = name or predictions.name
            pairs = zip(predictions.ids, predictions.pred.tolist(), strict=True)
            self.counts = {(image_id, ""): count for image_id, count in pairs}
        else:
            table = read_long(predictions)
            self.name = name or str(table.attrs["name"])
            self.counts = table["count"].to_dict()
        self._ids = {image_id: image_id for image_id, _ in self.counts}

    @property
    def fingerprint(self) -> str:
        """Another for other counts."""
        return hashlib.sha256(repr(sorted(self.counts.items())).encode()).hexdigest()

    def count(self, image: np.ndarray, prompt: str, context: Context = None) -> CountResult:
        """Return the count on file; a missing number is a skipped answer.

        Parameters
        ----------
        image, prompt, context
            As `Counter.count` takes them; the image is not read.

        Raises
        ------
        InputError
            If the file lacks the image, or the class, or another image went by the same id.
        """
        context = context or {}
        image_id = str(context.get("image_id"))
        if image_id not in self._ids:
            stored_ids = {stored for stored, _ in self.counts}
            for stored in match_ids([image_id], stored_ids).values():
                self._ids[image_id] = self._for_one_image(stored, image_id)
        if image_id not in self._ids:
            raise InputError(
                f"The predictions of {self.name} have no image {image_id!r}: expected "
                f"context['image_id'] to be one of their {len(self.counts)} ids."
            )
        stored_id = self._ids[image_id]
        if (stored_id, "") not in self.counts and (stored_id, prompt) not in self.counts:
            has = ", ".join(sorted(kind for i, kind in self.counts if i == stored_id))
            raise InputError(
                f"The predictions of {self.name} have no class {prompt!r} for {image_id}; they "
                f"have {has}."
            )
        count = self.counts.get((stored_id, prompt), self.counts.get((stored_id, ""), np.nan))
        return CountResult(count, status=SKIPPED if np.isnan(count) else OK, context=context)

    def _for_one_image(self, stored_id: str, image_id: str) -> str:
        """Return the id on file; raise `InputError` where another image was joined to it."""
        others = [i for i, of in self._ids.items() if of == stored_id and i != stored_id]
        if others:
            raise InputError(
                f"{others[0]} and {image_id} may both be the image {stored_id!r} of {self.name}: "
                "name images there with their folders."
            )
        return stored_id


class VisibleOnly:
    """Counts the objects that the box does not touch, without a mistake."""

    name = "visible-only"
    capabilities = frozenset({COUNT, POINTS})
    needs = ("visible_points",)

    def count(self, image: np.ndarray, prompt: str, context: Context = None) -> CountResult:
        """Count the ``visible_points`` of the context.

        Parameters
        ----------
        image, prompt, context
            As `Counter.count` takes them; image and prompt are not read.

        Raises
        ------
        InputError
            If the context lacks them.
        """
        points = visible_points(context)
        return CountResult(float(len(points)), points=points, context=context or {})


def visible_points(context: Context) -> np.ndarray:
    """Return the visible objects that a context names.

    Parameters
    ----------
    context : mapping, optional
        With ``visible_points``.

    Returns
    -------
    ndarray of shape (N, 2), float64
        As xy in pixels.

    Raises
    ------
    InputError
        If the context lacks them.
    """
    points = (context or {}).get("visible_points")
    if points is None:
        raise InputError("This counter needs 'visible_points' in the context.")
    return np.array(points, float).reshape(-1, 2)
