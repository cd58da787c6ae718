"""Translation memories and localisation files → segments, one class a format → pairs."""
