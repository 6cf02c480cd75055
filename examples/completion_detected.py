"""The same with everything found in the image; for images like the synthetic ones.

Run from the repository's root.
"""

import sys

sys.path.insert(0, "examples")
counter = dict(type="pattern_completion.PatternCompletion", centres="detected")
