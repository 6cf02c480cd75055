"""The commands of the core: how options are read, and what is printed and written of results.

A `Command` (``command.py``) names a public function of `autoeval.api` and what shows its result.
``command_line.py`` makes the options from the signatures of both and the help from their
docstrings, reads what was typed and calls them; `autoeval.command_table` lists all commands. The
other modules show results: ``estimate.py``, ``labels.py``, ``compare.py``, ``monitor.py``;
``data.py`` has commands that print by themselves.
"""
