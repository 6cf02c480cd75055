"""The demo: a rendered road world, a small detector trained on it, and its two commands.

`show_method` (``showing.py``) is ``autoeval demo``: it fits on nine environments and estimates the
tenth. ``training.py`` trains the detector, ``sample.py`` writes the sample of the documentation,
for which ``kinds.py`` gives the detector several categories. The world itself is
`autoeval.roadworld`.
"""
