"""The subcommands of the demo."""
