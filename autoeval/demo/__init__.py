"""The demo: a rendered road world, a small detector trained on it, and its two commands."""
