"""The tables of papers, printed and our own side by side."""
