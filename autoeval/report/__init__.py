"""Tables, plots and pages; knows nothing of how figures were made."""
