"""Ultralytics: after a training, log how accurate the best weights probably are at a new site."""

import sys

from ultralytics import YOLO
from ultralytics.utils import LOGGER

import autoeval


def log_estimate(images, log):
    """Return a callback for the end of a training: `log` takes numbers, as mlflow.log_metrics."""

    def on_train_end(trainer):
        estimate = autoeval.estimate(
            detector=str(trainer.best),
            fit_labels=trainer.args.data,  # on its images of val
            trained_here=True,  # which are of the site of the training images
            images=images,
            work_dir=trainer.save_dir / "autoeval",
        )
        LOGGER.info(str(estimate))
        log(estimate.to_dict())

    return on_train_end


if __name__ == "__main__":  # python examples/ultralytics_callback.py yolo11n.pt data.yaml new_site/
    weights, data, new_site = sys.argv[1:]
    model = YOLO(weights)
    model.add_callback("on_train_end", log_estimate(new_site, log=LOGGER.info))
    model.train(data=data)
