"""Every site with its estimate, and their order."""
