# The same with everything found in the image; for images like the synthetic ones.
counter = dict(type="autoeval.counting.capture.baselines.PatternCompletion", centres="detected")
