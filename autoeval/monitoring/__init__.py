"""Many sites over time: at which of them the accuracy of a detector changed.

`monitor_images` and `monitor_predictions` (``monitor.py``) are behind `autoeval.monitor`. Boxes of
new images are read into a store (``read_sites.py``, ``monitor_store.py``), laid out in windows of
time (``windows.py``), each window is estimated and compared with the site's own baseline
(``looks.py``), and the change of accuracy is predicted from that of the boxes (``box_change.py``;
``train_changes.py`` made the shipped slopes). What a run says is `Monitored` (``monitored.py``).
``candidate.py`` compares another detector at each site. See docs/how-to/monitoring.md.
"""
