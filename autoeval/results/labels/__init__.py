"""What is composed for people who label: the folder to label, and the reports."""
