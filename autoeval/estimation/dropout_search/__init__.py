"""Searching where and how strongly to drop features, so that box stability tells most about mAP.

`grid` (what is searched), `work` (what it costs), `objective` and `confidence` (how dropouts are
judged, on all images or on some), `slices` (observing images), `workbench` (which remembers),
`trial` (one strategy's view of it), `strategies`, `search`, `config_file`.
"""
