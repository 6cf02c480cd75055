"""Results as text, pages, JSON and files: functions of results, one module a kind of result.

``page.py`` has what all share: a `Page` is a title and a list of blocks, which one template shows;
`Table`, text for the terminal and Markdown. Each other module has, for one kind of result,
``..._text`` (the terminal), ``..._values`` (the content of ``result.json``) and ``..._page``;
`autoeval.commands` prints and writes them. No numeric module imports this package. Accuracies in
results are in [0, 1]; what is shown is in the unit of the target, mostly points of 100.
"""
