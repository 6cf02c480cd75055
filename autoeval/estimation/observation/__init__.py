"""The one pass: what is observed of images, and what every consumer adds up."""
