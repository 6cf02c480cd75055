import gc
from contextlib import ExitStack

import numpy as np
import pytest
import torch
from branching import same
from mmengine.structures import InstanceData
from scipy.special import expit, logsumexp, softmax
from small_detectors import RESIZE, TWO_STAGE

from autoeval.detections import Detections
from autoeval.detectors.building.category_names import coco_categories
from autoeval.detectors.loading import build_model, read_config
from autoeval.detectors.predicting import HostCopy
from autoeval.detectors.preprocessing import collate
from autoeval.stability.network import capture as capture_module
from autoeval.stability.network.capture import Capture, CaptureFailures
from autoeval.stability.network.perturbable import PerturbableDetector
from autoeval.stability.network.viewed_black_box import VIEWS, alter

# Two stages and one, of which YOLOX has a head of its own.
NAMES = ["faster_rcnn_r50", "yolox_nano", "retinanet_r18", "rtmdet_tiny"]
ALL = ("candidates", "energies", "logits", "features", "prototypes")
FIELDS = ("boxes", "scores", "labels")


# What the last layer that gives boxes says everywhere: squares of eight strides, for those
# detectors whose random boxes hardly overlap.
SQUARES = {
    "yolox_nano": ("multi_level_conv_reg", [0, 0, 2, 2]),
    "rtmdet_tiny": ("rtm_reg", [4, 4, 4, 4]),
}


@pytest.fixture(params=NAMES)
def detector(request, build, monkeypatch):
    """One that takes the two images of one size together, and the third alone."""
    detector = build(request.param)
    monkeypatch.setattr(detector, "max_batch", 8)
    name, answer = SQUARES.get(request.param, (None, None))
    for layer in getattr(detector.model.bbox_head, name) if name else ():
        monkeypatch.setattr(layer.weight, "data", torch.zeros_like(layer.weight))
        monkeypatch.setattr(layer.bias, "data", torch.tensor(answer, dtype=torch.float32))
    return detector


def observe(detector, images, **options):
    return detector.observe(images, [str(i) for i in range(len(images))], **options)


def own_nms(detector, candidates):
    """Run the suppression that the detector's config asks for."""
    from mmcv.ops import batched_nms

    settings = getattr(detector.model.test_cfg, "rcnn", detector.model.test_cfg).nms
    tensors = (torch.from_numpy(getattr(candidates, name)) for name in FIELDS)
    return [part.numpy() for part in batched_nms(*tensors, settings)]


def test_capturing_changes_no_box(detector, images):
    plain, captured = observe(detector, images), observe(detector, images, wants=ALL)
    for one, other in zip(plain, captured, strict=True):
        assert len(one.clean) and same(one.clean, other.clean)
        assert other.missing == {}
        assert one.candidates is one.logits is one.features is None


def test_nms_on_the_candidates_gives_the_clean_boxes(detector, images):
    suppressed = 0
    for evidence in observe(detector, images, wants=["candidates"]):
        candidates, clean = evidence.candidates, evidence.clean
        found, keep = own_nms(detector, candidates)
        n = len(clean)
        np.testing.assert_array_equal(found[:n, :4], clean.boxes)
        np.testing.assert_array_equal(found[:n, 4], clean.scores)
        np.testing.assert_array_equal(candidates.labels[keep[:n]], clean.labels)
        assert sorted(keep) == np.flatnonzero(candidates.kept).tolist()
        suppressed += (~candidates.kept).sum()
    assert suppressed > 0


def test_logits_give_the_scores_of_their_boxes(detector, images):
    name = type(detector.model).__name__
    for evidence in observe(detector, images, wants=["logits"]):
        clean, n = evidence.clean, np.arange(len(evidence.clean))
        turn = (lambda z: softmax(z, axis=1)) if name == "FasterRCNN" else expit
        probability = turn(evidence.logits.astype(float))
        assert probability.shape[1] == 81 if name == "FasterRCNN" else 80
        if name == "YOLOX":  # the score is that of the best class times the objectness
            np.testing.assert_allclose(probability[n, clean.labels], probability.max(1))
            assert (clean.scores <= probability.max(1) + 1e-6).all()
        else:
            np.testing.assert_allclose(probability[n, clean.labels], clean.scores, rtol=1e-4)


def test_logits_of_yolox_are_those_of_the_point_that_gave_the_box(build, images):
    detector = build("yolox_nano")
    (evidence,) = observe(detector, images[:1], wants=["logits"])
    scores, objectness = _yolox_points(detector, images[0])
    for logits, score in zip(evidence.logits, evidence.clean.scores, strict=True):
        point = np.abs(scores - logits).sum(1).argmin()
        np.testing.assert_allclose(scores[point], logits, atol=1e-5)
        assert expit(logits.max()) * expit(objectness[point]) == pytest.approx(score, rel=1e-4)


@pytest.mark.parametrize("kind", [torch.float32, torch.float16, torch.bfloat16])
def test_points_of_yolox_are_found_by_number_among_equal_boxes_in_every_precision(kind):
    """Beyond the whole numbers that 16 bits hold, where all boxes are the same."""
    n_points, wanted = 70_000, [0, 255, 256, 2049, 69_999]

    class Head:
        cls_out_channels = 1

        def predict_by_feat(self, cls_scores):
            return [self._bbox_post_process(results=r) for r in self._chosen(self._bbox_decode())]

        def _bbox_decode(self):
            return torch.ones(2, n_points, 4, dtype=kind)

        def _chosen(self, boxes):
            return [InstanceData(bboxes=of_image[wanted]) for of_image in boxes]

        def _bbox_post_process(self, results):
            return results

    head, failures = Head(), CaptureFailures()
    values = torch.arange(2.0 * n_points).reshape(2, 1, 1, n_points)
    follower = capture_module._Points(head, failures)
    with ExitStack() as stack:
        for patch in follower.patches():
            stack.enter_context(patch)
        results = head.predict_by_feat(cls_scores=[values[..., :50_000], values[..., 50_000:]])
    assert not failures.reasons
    for start, result in zip((0, n_points), results, strict=True):
        assert result.bboxes.shape == (5, 4) and result.bboxes.dtype == kind
        assert result.class_logits[:, 0].tolist() == [start + point for point in wanted]


def _yolox_points(detector, image):
    inputs, _ = collate(detector.model, [detector._preprocess(image)])
    with torch.inference_mode():
        scores, _, objectness = detector.model(inputs)
    scores, objectness = (
        torch.cat([s[0].flatten(1) for s in maps], 1).T.numpy() for maps in (scores, objectness)
    )
    return scores, objectness[:, 0]


def test_features_are_the_last_stage_averaged(detector, images):
    for image, evidence in zip(images, observe(detector, images, wants=["features"]), strict=True):
        inputs, _ = collate(detector.model, [detector._preprocess(image)])
        with torch.inference_mode():
            last = detector.model.backbone(inputs)[-1]
        assert evidence.features.dtype == np.float32
        np.testing.assert_allclose(evidence.features, last[0].mean((1, 2)), rtol=1e-3, atol=1e-5)


def test_prototypes_are_weighted_by_the_scores_of_the_best_candidates(detector, images):
    (evidence,) = observe(detector, images[:1], wants=["candidates", "prototypes"])
    best = np.argsort(-evidence.candidates.scores, kind="stable")[:1000]
    scores = evidence.candidates.scores[best]
    expected = np.bincount(evidence.candidates.labels[best], scores, 80)
    assert evidence.prototypes.dtype == np.float32 and np.isfinite(evidence.prototypes).all()
    np.testing.assert_allclose(evidence.prototypes[:-1, -1], expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(evidence.prototypes[-1, -1], (1 - scores).sum(), rtol=1e-4)


@pytest.mark.parametrize("after", [False, True])
def test_features_of_candidates_are_averaged_over_their_boxes(after):
    """On a map that rises by 1 a cell, the mean over a box is the value at its centre.

    Where mmdet brings boxes to pixels of the image before suppression, candidates are in these.
    """
    boxes, scores = torch.tensor([[8.0, 8, 24, 40], [16, 0, 48, 16]]), torch.tensor([0.75, 0.5])
    final = boxes / 2  # pixels of the image, of which one is two of the network
    captured = Capture(["prototypes"], "made", n_categories=2)
    labels, kept = torch.tensor([1, 0]), torch.tensor([0, 1])
    given = boxes if after else final
    detections = torch.column_stack([given, scores])
    captured.suppressions.append((given, scores, labels, detections, kept))
    captured.instances.append(InstanceData(bboxes=final, scores=scores))
    captured.scales.append((2.0, 2.0))
    ramp = torch.arange(8.0).expand(8, 8)
    captured.pool_features(None, (torch.zeros(1, 3, 64, 64),), (torch.stack([ramp, ramp.T])[None],))
    copy = HostCopy()
    captured.reduce(copy)
    copy.begin()
    # centres (16, 24) and (32, 8) lie at (1.5, 2.5) and (3.5, .5) among the centres of cells
    first, second = np.array([1.5, 2.5, 1]), np.array([3.5, 0.5, 1])
    expected = [0.5 * second, 0.75 * first, 0.25 * first + 0.5 * second]
    clean = Detections(final.numpy(), scores.numpy(), labels.numpy())
    np.testing.assert_allclose(captured.fields(0, clean)["prototypes"], expected, rtol=1e-6)


def test_energies_are_those_of_the_logits(detector, images):
    for evidence in observe(detector, images, wants=["energies", "logits"]):
        expected = -logsumexp(evidence.logits.astype(float), axis=1)
        assert evidence.energies.dtype == np.float64 and len(expected)
        np.testing.assert_allclose(evidence.energies, expected, rtol=1e-12)


def test_everything_is_put_back(detector, images):
    from mmdet.models.dense_heads import base_dense_head, yolox_head
    from mmdet.models.layers import bbox_nms

    modules = (base_dense_head, yolox_head, bbox_nms)
    before = [vars(module).copy() for module in modules]
    observe(detector, images[:1], wants=ALL)
    assert before == [vars(module) for module in modules]
    patched = {"predict", "predict_by_feat", "_predict_by_feat_single", "_bbox_post_process"}
    assert not any(patched & vars(part).keys() for part in detector.model.modules())
    assert not detector.model.backbone._forward_hooks


def test_an_image_without_boxes_has_no_candidates(build, images, monkeypatch):
    detector = build("retinanet_r18")
    monkeypatch.setitem(detector.model.bbox_head.test_cfg, "score_thr", 1.0)
    (evidence,) = observe(detector, images[:1], wants=ALL)
    assert len(evidence.clean) == len(evidence.candidates) == len(evidence.logits) == 0
    assert evidence.missing == {}


def test_a_head_that_suppresses_nothing_has_no_candidates(build, images, monkeypatch):
    detector = build("retinanet_r18")
    monkeypatch.setitem(detector.model.bbox_head.test_cfg, "nms", None)
    (evidence,) = observe(detector, images[:1], wants=ALL)
    assert evidence.candidates is None
    assert "RetinaNet do not come out of mmdet's non-maximum" in evidence.missing["candidates"]
    assert len(evidence.logits) == len(evidence.clean) > 0


def stock(path, channels, options):
    """Make a small detector of a config of mmdet's."""
    torch.manual_seed(0)
    options = {**RESIZE, **options, "model.backbone.depth": 18}
    config = read_config(f"mmdet::{path}", {**options, "model.neck.in_channels": channels})
    return PerturbableDetector(build_model(config), config, coco_categories())


def two_stage(path):
    return stock(path, [16, 32, 64, 128], {**TWO_STAGE, "model.backbone.base_channels": 16})


def test_a_detector_without_suppression_says_what_is_missing(images):
    parts = ("encoder.num_layers", "decoder.num_layers", "num_queries", "test_cfg.max_per_img")
    options = {f"model.{part}": n for part, n in zip(parts, (1, 1, 5, 5), strict=True)}
    detector = stock("detr/detr_r50_8xb2-150e_coco.py", [512], options)
    (evidence,) = observe(detector, images[:1], wants=ALL)
    assert len(evidence.clean) == 5
    assert evidence.candidates is evidence.logits is None
    assert all("DETR" in evidence.missing[name] for name in ("candidates", "logits"))
    assert evidence.features.shape == (512,)


def test_candidates_of_a_detector_with_masks_are_in_pixels_of_the_image(images):
    """mmdet rescales its boxes in place, after suppression, once it has the masks."""
    mask_rcnn = two_stage("mask_rcnn/mask-rcnn_r50_fpn_1x_coco.py")
    for evidence in observe(mask_rcnn, images, wants=ALL):
        assert evidence.missing == {} and len(evidence.clean)
        candidates, clean = evidence.candidates, evidence.clean
        found, keep = own_nms(mask_rcnn, candidates)
        np.testing.assert_allclose(found[: len(clean), :4], clean.boxes, atol=1e-3)
        np.testing.assert_array_equal(candidates.labels[keep[: len(clean)]], clean.labels)


def test_logits_of_a_cascade_are_the_mean_of_its_heads(images):
    cascade = two_stage("cascade_rcnn/cascade-rcnn_r50_fpn_1x_coco.py")
    for evidence in observe(cascade, images, wants=ALL):
        assert evidence.missing == {} and len(evidence.clean)
        probability = softmax(evidence.logits.astype(float), axis=1)
        own = probability[np.arange(len(evidence.clean)), evidence.clean.labels]
        np.testing.assert_allclose(own, evidence.clean.scores, rtol=1e-4)


@pytest.mark.parametrize("name", ["retinanet_r18", "faster_rcnn_r50", "yolox_nano"])
def test_a_head_that_cannot_be_followed_fails_nothing(build, images, monkeypatch, name):
    """Its boxes are as ever, and the reason why logits are missing is the error."""
    detector = build(name)
    (plain,) = observe(detector, images[:1])
    monkeypatch.setattr(capture_module, "_of_priors", broken)
    monkeypatch.setattr(capture_module, "_flattened", broken)
    monkeypatch.setattr(capture_module._Regions, "attach", attached_wrongly)
    (evidence,) = observe(detector, images[:1], wants=ALL)
    np.testing.assert_array_equal(evidence.clean.boxes, plain.clean.boxes)
    assert evidence.logits is None and evidence.candidates is not None
    assert "a box comes from (ZeroDivisionError: odd" in evidence.missing["logits"]


def broken(*args):
    raise ZeroDivisionError("odd head")


def attached_wrongly(self, predict, call):
    with self.failures.around():
        broken()
    return predict(*call.args, **call.kwargs)


def test_a_head_of_another_kind_has_a_reason(build, images, monkeypatch):
    """As YOLOv3's, which inherits methods that it neither calls nor has the attributes for."""
    detector = build("retinanet_r18")
    monkeypatch.setattr(capture_module, "_patches", broken)
    (evidence,) = observe(detector, images[:1], wants=ALL)
    assert "ZeroDivisionError: odd head" in evidence.missing["logits"]


def test_memory_that_runs_out_is_no_doubt():
    failures = CaptureFailures()
    with pytest.raises(torch.OutOfMemoryError), failures.around():
        raise torch.OutOfMemoryError("CUDA out of memory.")
    assert failures.reasons == []


def test_a_pass_leaves_no_tensor_to_the_garbage_collector(detector, images):
    """Collections come by the number of objects: tensors in reference cycles pile up until then."""
    wants = [*ALL, "views"]
    observe(detector, images[:1], wants=wants)
    gc.collect()
    gc.disable()
    try:
        before = n_tensors()
        observe(detector, images[:1], wants=wants)
        assert n_tensors() == before
    finally:
        gc.enable()


def n_tensors():
    return sum(isinstance(each, torch.Tensor) for each in gc.get_objects())


def test_views_are_plain_passes_over_altered_images(build, images):
    detector = build("yolox_nano")
    (evidence,) = observe(detector, images[:1], wants=["views"])
    assert len(evidence.views) == len(VIEWS)
    for found, view in zip(evidence.views, VIEWS, strict=True):
        (plain,) = observe(detector, [alter(images[0], view)])
        np.testing.assert_array_equal(found.boxes, plain.clean.boxes)
        np.testing.assert_array_equal(found.scores, plain.clean.scores)


def test_views_keep_to_the_range_of_pixels():
    ramp = np.arange(256, dtype=np.uint8).reshape(16, 16)[..., None].repeat(3, 2)
    assert alter(ramp, "darker").max() == round(255 * 0.7)
    assert (alter(ramp, "brighter").ravel()[[0, 300, 765]] == [0, 130, 255]).all()
    assert (alter(ramp, "flatter").min(), alter(ramp, "flatter").max()) == (51, 204)
