"""Reading: images, folders, labels, predictions, and the words for what they hold."""
