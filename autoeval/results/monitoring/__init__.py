"""What is reported of many sites: a page, lines of JSON, a file for Prometheus, a message."""
