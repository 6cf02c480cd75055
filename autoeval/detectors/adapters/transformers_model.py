"""transformers: ``hf:FOLDER`` or ``hf:NAME`` of its hub, or a model with its processor.

DETR, RT-DETR, Deformable and Conditional DETR, YOLOS, D-FINE and all that
`AutoModelForObjectDetection` loads; Grounding DINO, OWL-ViT and OWLv2 with ``--classes FILE``, the
words to look for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from autoeval.detectors.adapters import chosen, in_batches, needs, usable_device
from autoeval.detectors.black_box import BlackBoxDetector, word_list
from autoeval.detectors.detector_spec import CLASSES_OPTION, LOW_SCORE, DetectorSpec
from autoeval.detectors.settings import hash_json, hash_weights
from autoeval.errors import DownloadError, InputError, first_line

FORM = "hf:FOLDER"
EXTRA = "transformers"
PACKAGE = "transformers"
FRAMEWORK = "transformers"
SCORE_THRESHOLD = "threshold"
SETTINGS = ("device", "cfg_options", "classes")
OBJECTS = ("transformers.modeling_utils.",)

PREFIX = "hf:"
POST_PROCESSING = "post_process_object_detection"


def named(name: str) -> bool:
    """Whether it begins with ``hf:``.

    Parameters
    ----------
    name : str
        Of the detector.
    """
    return name.startswith(PREFIX)


def load(spec: DetectorSpec) -> BlackBoxDetector:
    """Load model and processor of a folder, or of the hub or its cache.

    Parameters
    ----------
    spec : DetectorSpec
        With the folder, or a name in the hub.

    Raises
    ------
    InputError
        If the folder holds no detector, its words are missing or none of its own, or a package is
        missing; a `DownloadError` if there is no folder and the hub cannot be reached.
    """
    with needs(EXTRA):
        from transformers import (
            AutoConfig,
            AutoImageProcessor,
            AutoModelForObjectDetection,
            AutoModelForZeroShotObjectDetection,
            AutoProcessor,
        )
        from transformers.models.auto.modeling_auto import (
            MODEL_FOR_ZERO_SHOT_OBJECT_DETECTION_MAPPING_NAMES as OF_WORDS_BY_TYPE,
        )

    source = spec.name.removeprefix(PREFIX)
    try:
        if AutoConfig.from_pretrained(source).model_type in OF_WORDS_BY_TYPE:
            model = AutoModelForZeroShotObjectDetection.from_pretrained(source)
            processor = AutoProcessor.from_pretrained(source)
        else:
            model = AutoModelForObjectDetection.from_pretrained(source)
            processor = AutoImageProcessor.from_pretrained(source)
    except ImportError as error:  # a backbone or a processor of another package, such as timm
        raise InputError(f"{spec.name} needs more: {first_line(error)}") from error
    except (OSError, ValueError, KeyError) as error:
        if Path(source).is_dir():
            raise InputError(
                f"transformers cannot load a detector from the folder {source}: "
                f"{first_line(error)}. Expected what `save_pretrained` of a model and of its "
                "processor wrote."
            ) from error
        raise DownloadError(
            f"There is no folder {source}, and transformers cannot load it from its hub: "
            f"{first_line(error)}. Where there is a network: hf download {source} --local-dir "
            f"FOLDER (from https://huggingface.co/{source}); then --detector hf:FOLDER."
        ) from error
    # Single also where weights are kept in 16 bits, which version 5 would compute with.
    model = model.float().to(usable_device(spec.device))
    return from_transformers(model, processor, spec.words, options=spec.cfg_options)


def wrap(model: Any) -> BlackBoxDetector:
    """Take a pair of model and processor as they are.

    Parameters
    ----------
    model : (PreTrainedModel, processor)
        See `from_transformers`.

    Raises
    ------
    InputError
        If it is no pair, and as `from_transformers`.
    """
    if not isinstance(model, tuple) or len(model) != 2:
        raise InputError(
            "Expected a model of transformers with its processor, (model, processor), but got "
            f"{type(model).__name__}."
        )
    return from_transformers(*model)


def from_transformers(
    model: Any,
    processor: Any,
    categories: Sequence[str] = (),
    *,
    options: Mapping[str, Any] | None = None,
) -> BlackBoxDetector:
    """Make a detector of a model of transformers and its processor.

    Parameters
    ----------
    model : transformers.PreTrainedModel
        For object detection, or for detection of the words of `categories`; switched to eval mode
        whenever it is run. Where its user changes the weights, it is another detector from then on.
    processor : transformers image processor, or processor of images and words
        Of this model. A processor with a ``tokenizer`` says that the model looks for words; any
        other needs ``post_process_object_detection``.
    categories : sequence of str
        Words to look for. Other models bring theirs along.
    options : mapping, optional
        ``threshold`` of scores, .01 by default.

    Raises
    ------
    InputError
        If the model detects nothing, needs words and has none or reads fewer at once, or has words
        and is given some.
    """
    kind = type(model).__name__
    by_words = hasattr(processor, "tokenizer")
    if not by_words and not hasattr(processor, POST_PROCESSING):
        raise InputError(
            f"{kind} is no detector: {type(processor).__name__} makes no boxes of its output."
        )
    if by_words != bool(categories):
        raise InputError(
            f"{kind} looks for words: {CLASSES_OPTION}, a word a line."
            if by_words
            else f"{kind} has categories of its own: leave out classes=."
        )
    words = list(categories) or word_list(model.config.id2label)
    asked = words
    if "GroundingDino" in kind:
        asked = [word.replace(".", " ") for word in words]  # a full stop ends a word
        n_tokens = len(processor.tokenizer(". ".join(asked) + ".")["input_ids"])
        if n_tokens > model.config.max_text_len:
            raise InputError(
                f"{kind} reads {model.config.max_text_len} tokens at once, but its {len(words)} "
                f"categories make {n_tokens}: name fewer by {CLASSES_OPTION}."
            )
    threshold = chosen({"threshold": LOW_SCORE}, options, kind)["threshold"]

    def settings() -> dict[str, Any]:
        return {
            "framework": FRAMEWORK,
            "config": hash_json(_plain(model.config)),
            "weights": hash_weights(model),
            "processor": hash_json(_plain(processor)),
            "threshold": threshold,
        }

    def find(images: Sequence[np.ndarray]) -> tuple[list, list, list]:
        import torch

        from autoeval.detectors.predicting import to_host

        model.eval()  # its user may have trained it since
        pixels = [np.ascontiguousarray(image[:, :, ::-1]) for image in images]
        sizes = [image.shape[:2] for image in images]
        text = {"text": [asked] * len(images), "padding": True} if by_words else {}
        with torch.inference_mode():
            # Otherwise an image of one row or three is taken for one with its channels in front.
            form = {"return_tensors": "pt", "input_data_format": "channels_last"}
            inputs = processor(images=pixels, **form, **text).to(model.device)
            inputs["pixel_values"] = inputs["pixel_values"].to(model.dtype)  # it may be of 16 bits
            outputs = model(**inputs)
            name = "post_process_grounded_object_detection" if by_words else POST_PROCESSING
            results = getattr(processor, name)(outputs, target_sizes=sizes, threshold=threshold)
        keys = [key for key in ("boxes", "scores", "labels") if torch.is_tensor(results[0][key])]
        arrays, n = to_host([f[key] for key in keys for f in results]), len(images)
        labels = arrays[2 * n :]
        if "labels" not in keys:
            labels = _categories_of_tokens(outputs, inputs, processor.tokenizer, threshold)
        return arrays[:n], arrays[n : 2 * n], labels

    place = str(model.device)
    return BlackBoxDetector(
        in_batches(find, place), words, name=kind, settings=settings, network=model
    )


def _categories_of_tokens(outputs: Any, inputs: Any, tokenizer: Any, threshold: float) -> list:
    """Return the label of each box of Grounding DINO over a threshold, a list for each image.

    Its text is the words, each with a full stop behind it. The score of a box is its greatest over
    all tokens; its label is the word with the most probable token. The phrases of transformers join
    all tokens over a threshold, at low ones those of all words.
    """
    stop, special = tokenizer.convert_tokens_to_ids("."), set(tokenizer.all_special_ids)
    labels = []
    for logits, tokens in zip(outputs.logits, inputs["input_ids"].tolist(), strict=True):
        ends = [k for k, token in enumerate(tokens) if token == stop]
        word_of = np.searchsorted(ends, range(len(tokens)))
        columns = [k for k, token in enumerate(tokens) if token != stop and token not in special]
        probabilities = logits.sigmoid()
        best = probabilities[:, columns].argmax(1).cpu().numpy()
        kept = probabilities.amax(1) > threshold  # in the precision in which boxes are kept
        labels.append(word_of[columns][best][kept.cpu().numpy()])
    return labels


def _plain(described: Any) -> dict[str, Any]:
    """Return a config without where it was loaded from and by which version it was written."""
    values = described.to_dict()
    return {k: v for k, v in values.items() if "version" not in k and "name_or_path" not in k}
