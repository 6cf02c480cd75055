"""The layouts of published data sets, which are read where they are named."""
