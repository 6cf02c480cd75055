# A perfect count of the objects that the box does not touch.
counter = dict(type="autoeval.counting.counters.adapters.VisibleOnly")
