"""The only rooms that import mmdet: building, staged forward, dropout."""
