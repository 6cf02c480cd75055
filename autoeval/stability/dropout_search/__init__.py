"""Search for where and how strongly to drop features, so that box stability predicts mAP best.

`search_dropout` (``search.py``, behind ``autoeval search-dropout``) runs strategies; each is a
`Trial` (``trial.py``) that measures dropouts on the sample sets of a `Workbench`
(``workbench.py``), which keeps what was measured. The objective is R² of a line of mAP against the
score over the sample sets (`r_squared`).
"""
