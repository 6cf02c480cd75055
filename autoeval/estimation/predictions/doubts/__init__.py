"""What speaks against reading a file of predictions as those that intervals were measured on."""
