"""Continues the pattern of the visible centres, which it is given, behind the box.

Run from the repository's root.
"""

import sys

sys.path.insert(0, "examples")
counter = dict(type="pattern_completion.PatternCompletion", centres="oracle")
