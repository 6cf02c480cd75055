"""What composes figures for people: text, page and files, from plain parameters."""
