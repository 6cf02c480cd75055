"""The subcommands of the autoeval program, one a file."""
