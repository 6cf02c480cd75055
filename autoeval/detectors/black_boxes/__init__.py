"""Any callable as a detector."""
