"""Files of small data sets for counting: FSC-147's layout, and boxes in COCO's form."""

import json


def write_fsc147(root, objects, *, splits=("test",), classes=None):
    """Write FSC-147's files, without images, of `objects`: class and points [x, y] by image.

    Images are in the order of the split in each of `splits`, and in that of the class file.
    """
    points = {name: {"points": found} for name, (_, found) in objects.items()}
    (root / "annotation_FSC147_384.json").write_text(json.dumps(points))
    names = {split: list(objects) for split in splits}
    (root / "Train_Test_Val_FSC_147.json").write_text(json.dumps(names))
    lines = [f"{name}\t{kind}\n" for name, (kind, _) in objects.items()]
    (root / "ImageClasses_FSC147.txt").write_text("".join(lines))
    if classes:
        listed = {split: classes for split in splits}
        (root / "Split_Classes_FSC147.json").write_text(json.dumps(listed))


def write_boxes(path, names, categories, boxes, size=(10, 20)):
    """Write COCO boxes (file name, category, xywh, and 1 for a crowd) of images of one size.

    Ids of images and categories count from 1.
    """
    images = [
        {"id": k, "file_name": name, "height": size[0], "width": size[1]}
        for k, name in enumerate(names, 1)
    ]
    annotations = [
        {"id": k, "image_id": names.index(name) + 1, "bbox": box, "iscrowd": sum(crowd)}
        | {"category_id": categories.index(category) + 1}
        for k, (name, category, box, *crowd) in enumerate(boxes)
    ]
    listed = [{"id": k, "name": name} for k, name in enumerate(categories, 1)]
    content = {"images": images, "categories": listed, "annotations": annotations}
    path.write_text(json.dumps(content))
    return path


def edit_json(path, change):
    """Read a file, change its content in place, and write it back."""
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
