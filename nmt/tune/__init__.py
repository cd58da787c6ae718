"""A space of settings → trials, the best of them, and a picture of what mattered."""
