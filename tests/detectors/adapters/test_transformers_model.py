"""transformers: boxes equal those of model, processor and post-processing called by hand.

The networks have random weights and a few small layers. Run where it is installed:
`pip install -e '.[transformers]'`.
"""

import json
from importlib.util import find_spec

import numpy as np
import pytest
from framework_images import assert_same, scenes, two_sizes

import autoeval
from autoeval.detectors.adapters.transformers_model import _categories_of_tokens, from_transformers
from autoeval.detectors.detector_spec import DetectorSpec
from autoeval.errors import InputError
from tests.clients.torchvision_operators import usable_torchvision

transformers = pytest.importorskip("transformers", reason="needs the extra 'transformers'")
torch = pytest.importorskip("torch")
if find_spec("torchvision"):  # its processors use it where it is
    usable_torchvision()
WORDS = {0: "N/A", 1: "car", 2: "N/A", 3: "bus"}
SIZE = {"height": 64, "width": 64}
BACKBONE = {"embedding_size": 8, "hidden_sizes": [8, 8, 16, 16], "depths": [1, 1, 1, 1]}
QUERIES = {"num_queries": 12, "d_model": 32}
HEADS = {"encoder_attention_heads": 2, "decoder_attention_heads": 2}
LAYERS = {"encoder_layers": 1, "decoder_layers": 2, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32}


def detr():
    backbone = transformers.ResNetConfig(**BACKBONE, out_features=["stage4"])
    config = transformers.DetrConfig(
        use_timm_backbone=False, use_pretrained_backbone=False, backbone=None,
        backbone_config=backbone, **QUERIES, **HEADS, **LAYERS, id2label=WORDS,
    )  # fmt: skip
    processor = transformers.DetrImageProcessor(size={"shortest_edge": 60, "longest_edge": 90})
    return transformers.DetrForObjectDetection(config), processor


def deformable_detr():
    backbone = transformers.ResNetConfig(**BACKBONE, out_features=["stage2", "stage3", "stage4"])
    config = transformers.DeformableDetrConfig(
        use_timm_backbone=False, use_pretrained_backbone=False, backbone=None,
        backbone_config=backbone, **QUERIES, **HEADS, **LAYERS, disable_custom_kernels=True,
        id2label=WORDS,
    )  # fmt: skip
    processor = transformers.DeformableDetrImageProcessor(
        size={"shortest_edge": 60, "longest_edge": 90}
    )
    return transformers.DeformableDetrForObjectDetection(config), processor


def rtdetr():
    backbone = transformers.RTDetrResNetConfig(
        **BACKBONE, out_features=["stage2", "stage3", "stage4"]
    )
    config = transformers.RTDetrConfig(
        backbone_config=backbone, encoder_in_channels=[8, 16, 16], encoder_hidden_dim=32,
        d_model=32, decoder_in_channels=[32, 32, 32], num_queries=12, **LAYERS, **HEADS,
        id2label=WORDS,
    )  # fmt: skip
    return transformers.RTDetrForObjectDetection(config), transformers.RTDetrImageProcessor(
        size=SIZE
    )


def yolos():
    config = transformers.YolosConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        image_size=[64, 64], num_detection_tokens=12, id2label=WORDS,
    )  # fmt: skip
    return transformers.YolosForObjectDetection(config), transformers.YolosImageProcessor(size=SIZE)


BUILDS = [detr, deformable_detr, rtdetr, yolos]


@pytest.fixture(scope="module", params=BUILDS, ids=lambda build: build.__name__)
def folder(request, tmp_path_factory):
    """A folder as `save_pretrained` writes it."""
    torch.manual_seed(0)
    model, processor = request.param()
    folder = tmp_path_factory.mktemp(request.param.__name__)
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def own_boxes(model, processor, images, threshold=0.01):
    """What the pages of transformers show, one image at a time."""
    found = []
    for image in images:
        pixels = np.ascontiguousarray(image[:, :, ::-1])
        inputs = processor(images=[pixels], return_tensors="pt", input_data_format="channels_last")
        with torch.inference_mode():
            outputs = model(**inputs.to(model.dtype))
        found += processor.post_process_object_detection(
            outputs, threshold=threshold, target_sizes=[image.shape[:2]]
        )
    return found


def test_boxes_are_those_of_the_model(folder):
    """Of an offline folder and of objects; two sizes at once are not padded to one."""
    images = two_sizes()
    model = transformers.AutoModelForObjectDetection.from_pretrained(folder).eval()
    processor = transformers.AutoImageProcessor.from_pretrained(folder)
    found = own_boxes(model, processor, images)
    assert min(len(f["boxes"]) for f in found) > 3
    detector = DetectorSpec(f"hf:{folder}", device="cpu")()
    assert_same(detector.observe(images, list("abc")), found, images)
    of_objects = from_transformers(model, processor)
    assert of_objects.settings == detector.settings
    assert detector.categories == tuple(WORDS.values())
    higher = DetectorSpec(f"hf:{folder}", device="cpu", cfg_options={"threshold": 0.3})()
    found = own_boxes(model, processor, images, 0.3)
    assert_same(higher.observe(images, list("abc")), found, images)
    assert higher.fingerprint != detector.fingerprint


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_weights_that_are_kept_in_16_bits(dtype, tmp_path):
    torch.manual_seed(0)
    model, processor = rtdetr()
    for part in (model.to(dtype), processor):
        part.save_pretrained(tmp_path)
    images = scenes(2)
    found = own_boxes(model.float().eval(), processor, images)
    detector = DetectorSpec(f"hf:{tmp_path}", device="cpu")()
    assert_same(detector.observe(images, list("ab")), found, images)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("build", [detr, rtdetr])
def test_a_model_in_16_bits_is_run_as_it_is(build, dtype):
    """As version 5 loads such weights: its pixels have the precision of the model."""
    torch.manual_seed(0)
    model, processor = build()
    model.to(dtype).eval()
    images = scenes(2)
    found = own_boxes(model, processor, images)
    assert min(len(f["boxes"]) for f in found) > 3
    assert_same(from_transformers(model, processor).observe(images, list("ab")), found, images)


@pytest.mark.parametrize("height", [1, 3])
def test_an_image_of_few_rows_has_its_channels_behind(height):
    """transformers takes an array (3, W, 3) for one with its channels in front."""
    torch.manual_seed(0)
    model, processor = rtdetr()
    images = scenes(1, size=(height * 20, 100))
    images = [np.ascontiguousarray(image[::20]) for image in images]
    found = own_boxes(model.eval(), processor, images)
    assert_same(from_transformers(model, processor).observe(images, ["a"]), found, images)


def test_detect_takes_model_and_processor(tmp_path):
    torch.manual_seed(0)
    pair = yolos()
    scenes(2, tmp_path / "site")
    found = autoeval.detect(pair, tmp_path / "site", tmp_path / "boxes.parquet")
    assert len(found.images) == 2 and found.run.settings["framework"] == "transformers"
    assert found.run.versions["transformers"] == transformers.__version__
    with pytest.raises(InputError, match=r"with its processor, \(model, processor\)"):
        autoeval.detect(pair[0], tmp_path / "site", tmp_path / "none.parquet")


def test_a_model_that_is_trained_on_is_another_detector():
    """And it is run in eval mode again: in that of training, dropout drew its boxes."""
    torch.manual_seed(0)
    model, processor = detr()
    images, detector = scenes(2), from_transformers(model, processor)
    before = detector.fingerprint
    with torch.no_grad():
        model.class_labels_classifier.weight.mul_(1.5)
    assert detector.fingerprint != before
    model.train()
    seen = detector.observe(images, list("ab"))
    assert not model.training
    assert_same(seen, own_boxes(model, processor, images), images)


def grounding_dino(folder):
    """A model that looks for words, with a tokenizer of a few."""
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", "?", "car", "red", "bus"]
    (folder / "vocab.txt").write_text("\n".join(words))
    tokenizer = transformers.BertTokenizerFast(str(folder / "vocab.txt"))
    text = transformers.BertConfig(
        vocab_size=len(words), hidden_size=32, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=32,
    )  # fmt: skip
    backbone = transformers.SwinConfig(
        embed_dim=8, depths=[1, 1, 1, 1], num_heads=[1, 1, 2, 2], window_size=2, image_size=64,
        out_features=["stage2", "stage3", "stage4"],
    )  # fmt: skip
    config = transformers.GroundingDinoConfig(
        backbone_config=backbone, text_config=text, num_queries=12, d_model=32, **LAYERS, **HEADS,
        max_text_len=64,
    )  # fmt: skip
    pixels = transformers.GroundingDinoImageProcessor(
        size={"shortest_edge": 60, "longest_edge": 90}
    )
    model = transformers.GroundingDinoForObjectDetection(config)
    return model, transformers.GroundingDinoProcessor(pixels, tokenizer)


def test_words_to_look_for(tmp_path):
    torch.manual_seed(0)
    model, processor = grounding_dino(tmp_path)
    model.eval()
    model.save_pretrained(tmp_path / "dino")
    processor.save_pretrained(tmp_path / "dino")
    (tmp_path / "words.txt").write_text("red car\nbus\n")
    (image,) = scenes(1)
    inputs = processor(
        images=image[:, :, ::-1].copy(), text=[["red car", "bus"]], return_tensors="pt"
    )
    with torch.inference_mode():
        (found,) = processor.post_process_grounded_object_detection(
            model(**inputs), threshold=0.01, target_sizes=[image.shape[:2]]
        )
    spec = DetectorSpec(
        f"hf:{tmp_path / 'dino'}", device="cpu", classes=str(tmp_path / "words.txt")
    )
    (seen,) = spec().observe([image], ["a"])
    assert len(found["boxes"]) == len(seen.clean) > 3
    limits = [160, 120, 160, 120]
    np.testing.assert_array_equal(seen.clean.boxes, found["boxes"].numpy().clip(0, limits))
    np.testing.assert_array_equal(seen.clean.scores, found["scores"].numpy())
    assert set(seen.clean.labels) == {0, 1}
    with pytest.raises(InputError, match="looks for words: --classes FILE"):
        DetectorSpec(spec.name, device="cpu")()
    words = [f"{'red ' * k}car" for k in range(12)]  # 66 words, 12 stops, [CLS] and [SEP]
    with pytest.raises(InputError, match="reads 64 tokens at once, but its 12 categories make 92"):
        from_transformers(model, processor, words)
    (tmp_path / "words.txt").write_text("red. car.\nbus\n")  # full stops that end no word
    (same,) = spec().observe([image], ["a"])
    np.testing.assert_array_equal(same.clean.labels, seen.clean.labels)


def test_the_word_of_the_most_probable_token():
    """Of text "red car. bus.": tokens [CLS] red car . bus . [SEP] and padding."""

    class Tokenizer:
        all_special_ids = (0, 1, 2)  # padding, [CLS], [SEP]

        def convert_tokens_to_ids(self, word):
            return {".": 5}[word]

    class Output:
        logits = torch.tensor(
            [
                [
                    [9.0, -3, 1, 9, 0, 9, 9, 9],  # car; stops and special tokens say nothing
                    [-9, 0.5, 0, -9, 2, -9, -9, -9],  # bus
                    [-9] * 8,  # under the threshold
                ]
            ]
        )

    inputs = {"input_ids": torch.tensor([[1, 7, 8, 5, 9, 5, 2, 0]])}
    (labels,) = _categories_of_tokens(Output, inputs, Tokenizer(), 0.01)
    assert labels.tolist() == [0, 1]
    # In 16 bits a threshold just under a score is that score, where boxes are kept, too.
    Output.logits = Output.logits.half()
    (score,) = Output.logits[0, 2].sigmoid().amax(0, keepdim=True)
    (labels,) = _categories_of_tokens(Output, inputs, Tokenizer(), float(score) - 1e-8)
    assert labels.tolist() == [0, 1]


def test_what_is_no_detector_or_not_there(tmp_path, folder, monkeypatch):
    config = json.loads((folder / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(InputError, match=rf"from the folder {tmp_path}: .* no file named"):
        DetectorSpec(f"hf:{tmp_path}", device="cpu")()
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(InputError) as refused:
        DetectorSpec("hf:nobody/nothing", device="cpu")()
    told = str(refused.value)
    assert "https://huggingface.co/nobody/nothing" in told and "--local-dir FOLDER" in told
    (tmp_path / "words.txt").write_text("car\n")
    with pytest.raises(InputError, match="categories of its own: leave out classes="):
        DetectorSpec(f"hf:{folder}", device="cpu", classes=str(tmp_path / "words.txt"))()


def test_a_kept_folder_is_absolute(folder, monkeypatch):
    monkeypatch.chdir(folder.parent)
    assert DetectorSpec(f"hf:{folder.name}").to_dict()["name"] == f"hf:{folder}"
    assert DetectorSpec("hf:facebook/detr").to_dict()["name"] == "hf:facebook/detr"


def test_owl(tmp_path):
    """OWL-ViT gives numbers of words of its own accord."""
    torch.manual_seed(0)
    text = {"vocab_size": 20, "hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1}
    image = {"image_size": 64, "patch_size": 16, "hidden_size": 32, "intermediate_size": 32}
    text |= {"num_attention_heads": 2, "eos_token_id": 1, "max_position_embeddings": 16}
    image |= {"num_hidden_layers": 1, "num_attention_heads": 2}
    config = transformers.OwlViTConfig(text_config=text, vision_config=image, projection_dim=32)
    words = ["!", "<|endoftext|>", "c", "a", "r</w>", "b", "u", "s</w>", "<|startoftext|>"]
    vocabulary = {word: k for k, word in enumerate(words)}  # 0 stands for padding
    (tmp_path / "vocab.json").write_text(json.dumps(vocabulary))
    (tmp_path / "merges.txt").write_text("#version: 0.2\n")
    tokenizer = transformers.CLIPTokenizer(
        str(tmp_path / "vocab.json"),
        str(tmp_path / "merges.txt"),
        pad_token="!",
        model_max_length=16,
    )
    pixels = transformers.OwlViTImageProcessor(size=SIZE)
    processor = transformers.OwlViTProcessor(pixels, tokenizer)
    model = transformers.OwlViTForObjectDetection(config).eval()
    torch.nn.init.constant_(model.class_head.logit_shift.bias, 2)
    (image,) = scenes(1)
    inputs = processor(images=image[:, :, ::-1].copy(), text=[["car", "bus"]], return_tensors="pt")
    with torch.inference_mode():
        (found,) = processor.post_process_grounded_object_detection(
            model(**inputs), threshold=0.01, target_sizes=[image.shape[:2]]
        )
    detector = from_transformers(model, processor, ["car", "bus"])
    (seen,) = detector.observe([image], ["a"])
    assert len(seen.clean) > 3
    assert_same([seen], [found], [image])
