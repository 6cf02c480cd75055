"""Honest measures of counting: counters, binned evaluation, PrACo and CAPTURe."""
