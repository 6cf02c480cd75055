"""What the default reads of the boxes of a category, and of those of a reference detector.

Numbers in, numbers out. Published scores, which are computed image by image and by name, are in
`autoeval.published.scores`.
"""
