"""A model and its training state → a folder on disk, and back; nothing that is read there is ever executed."""
