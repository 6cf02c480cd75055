"""Reading counts, patterns and confidences out of answers, with the standard library alone."""

from autoeval.counting.capture.answers.extract import (
    Extraction,
    extract_choice,
    extract_confidence,
    extract_count,
)

__all__ = ["Extraction", "extract_choice", "extract_confidence", "extract_count"]
