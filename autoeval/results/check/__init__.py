"""What a dry run over a task has to tell."""
