"""Studies of the method: each a pure function from measurements to a table.

Correlation, thresholds, meta-set size, dropout repeats and severities need but a score table
(`autoeval.estimation.category_scores`). Sample set size, test set size, single boxes and examples
need the boxes of each image (`autoeval.stability.studies.kept_boxes`).
"""
