"""Tasks: categories and the labelled sets that stand for them, with the images of each."""
