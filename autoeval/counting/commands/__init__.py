"""The subcommands of ``autoeval count``: arguments in, one call, print."""
