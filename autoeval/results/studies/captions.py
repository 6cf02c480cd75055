"""Words that the reports of several studies share."""

R2 = "R² (90 %)"
OVER_SAMPLE_SETS = (
    "Over all sample sets, scores averaged over dropout repeats; in brackets the 90 % bootstrap "
    "interval over sources."
)
HELD_OUT = (
    "Mean absolute error on the own images of a source that had no part in the fit; in brackets "
    "the 90 % bootstrap interval over sources."
)
