"""The studies of the method as reports: a picture, tables, and how to read them."""
