"""What is told of many places: a page, lines of JSON, a file for Prometheus, a message."""
