"""The studies of the method as reports: a picture, tables, and how to read them.

Each ``..._report`` function runs a study of `autoeval.stability.studies` and returns a
`StudyReport`; `method_page` is the page of an estimate by a published method, `compare_methods` the
result of ``autoeval bench``, `DropoutOutcome` that of ``autoeval search-dropout``.
"""
