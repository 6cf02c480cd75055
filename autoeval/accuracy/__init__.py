"""COCO matching, average precision and its influence function: numbers in, numbers out."""
