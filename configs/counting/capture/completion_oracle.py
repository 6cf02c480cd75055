# Continues the pattern of the visible centres, which it is given, behind the box.
counter = dict(type="autoeval.counting.capture.baselines.PatternCompletion", centres="oracle")
