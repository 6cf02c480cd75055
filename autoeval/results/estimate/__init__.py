"""What an estimate, and the fit behind it, have to say: one section a file, and their order."""
