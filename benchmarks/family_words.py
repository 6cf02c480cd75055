"""A small text encoder with random weights, for the detectors that take words."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import torch
from mmengine.config import Config

from autoeval.detectors.building.category_names import coco_categories

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".")
SIZES = {"hidden_size": 32, "intermediate_size": 32, "num_attention_heads": 2}
#: Where configs name the text encoder.
NAMES = {"name", "lang_model_name"}


def shrink_words(config: Config, folder: Path) -> None:
    """Let a config name a small encoder in a folder, if it has one and transformers is there."""
    if "language_model" not in config.model or importlib.util.find_spec("transformers") is None:
        return
    save_encoder(folder)
    for part in (config.model.language_model, config.model.bbox_head):
        part.update(dict.fromkeys(NAMES & set(part), str(folder)))


def save_encoder(folder: Path) -> None:
    """Save a BERT of one layer that knows the words of COCO's categories."""
    import transformers

    words = sorted({word for name in coco_categories() for word in re.findall(r"\w+", name)})
    (folder / "vocab.txt").write_text("\n".join([*SPECIAL, *words]))
    transformers.BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(0)
    encoder = transformers.BertConfig(
        vocab_size=len(SPECIAL) + len(words), num_hidden_layers=1, **SIZES
    )
    transformers.BertModel(encoder, add_pooling_layer=False).save_pretrained(folder)
