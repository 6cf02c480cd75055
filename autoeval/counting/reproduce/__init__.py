"""The tables of papers on counting, printed and our own side by side."""
