"""What ``result.json`` holds of a result, of whichever kind."""

from autoeval.comparison.comparison import Comparison
from autoeval.estimation.estimate import Estimate
from autoeval.estimation.threshold_choice import ThresholdChoice
from autoeval.labels.labelled_estimate import LabelledEstimate
from autoeval.report.comparison import comparison_values
from autoeval.report.estimate import estimate_fields
from autoeval.report.labels import labelled_values
from autoeval.report.threshold import choice_values

VALUES = {
    Comparison: comparison_values,
    Estimate: estimate_fields,
    LabelledEstimate: labelled_values,
    ThresholdChoice: choice_values,
}
