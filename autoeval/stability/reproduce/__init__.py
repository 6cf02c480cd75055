"""The tables of papers, printed and our own side by side.

``side_by_side.py`` reads what a paper prints and lays our figures beside it; ``available.py`` says
which of its data sets are at hand, and what a run costs. ``autoeval reproduce-bos`` runs them.
"""
