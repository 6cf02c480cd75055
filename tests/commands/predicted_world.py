"""Label and prediction files of a detector that is surer where it is right."""

import json

import numpy as np

WIDTH = 640
HEIGHT = 480


def write_world(folder, name, *, seed, n_images=60, n_categories=12, boxes=8.0, skill=0.7):
    """Write NAME_labels.json and NAME_predictions.json; some categories are harder than others."""
    rng = np.random.default_rng(seed)
    n = int(n_images * boxes)
    image, category = rng.integers(0, n_images, n), rng.integers(0, n_categories, n)
    corner = rng.random((n, 2)) * [WIDTH - 110, HEIGHT - 110]
    size = 20 + rng.random((n, 2)) * 80
    sure = np.clip(skill - 0.05 * (category % 7) + rng.normal(0, 0.1, n), 0.02, 0.98)
    found = rng.random(n) < sure
    shake = rng.normal(0, 12, (n, 2)) * (1 - sure)[:, None]
    entries = [
        _entry(image[k], category[k], np.maximum(corner[k] + shake[k], 0), size[k], sure[k])
        for k in np.flatnonzero(found)
    ]
    for _ in range(n):
        at, wide = rng.random(2) * [WIDTH - 60, HEIGHT - 60], 20 + rng.random(2) * 30
        score = 0.01 + 0.5 * rng.beta(0.5, 2)
        entries.append(_entry(rng.integers(n_images), rng.integers(n_categories), at, wide, score))
    labels = {
        "images": [
            {"id": k, "file_name": f"{k:06}.jpg", "width": WIDTH, "height": HEIGHT}
            for k in range(n_images)
        ],
        "categories": [{"id": k + 1, "name": f"thing {k}"} for k in range(n_categories)],
        "annotations": [
            {
                "id": k + 1,
                "image_id": int(image[k]),
                "category_id": int(category[k]) + 1,
                "bbox": [float(v) for v in (*corner[k], *size[k])],
            }
            for k in range(n)
        ],
    }
    files = folder / f"{name}_labels.json", folder / f"{name}_predictions.json"
    for path, content in zip(files, (labels, entries), strict=True):
        path.write_text(json.dumps(content))
    return files


def _entry(image, category, corner, size, score):
    return {
        "image_id": int(image),
        "category_id": int(category) + 1,
        "bbox": [round(float(v), 2) for v in (*corner, *size)],
        "score": round(float(score), 4),
    }
