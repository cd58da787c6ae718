"""A model and its training state → a folder on disk, and back; nothing read there is executed."""
