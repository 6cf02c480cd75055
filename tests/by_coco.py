"""What pycocotools says of boxes, in a quarter of the time of all that it prints."""

from pycocotools.cocoeval import COCOeval


def mean_average_precision(truth, found):
    """First of the numbers that pycocotools prints, of two of its ``COCO``.

    Objects of one size alone, and shorter lists of boxes, are other numbers.
    """
    evaluation = COCOeval(truth, found, "bbox")
    evaluation.params.areaRng, evaluation.params.areaRngLbl = [[0, 1e10]], ["all"]
    evaluation.params.maxDets = [100]
    evaluation.evaluate()
    evaluation.accumulate()
    precision = evaluation.eval["precision"]
    return precision[precision > -1].mean()
