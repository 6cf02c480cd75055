"""Every place with its estimate, and their order."""
