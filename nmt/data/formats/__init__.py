"""Translation memories, localisation files and test sets → segments → pairs; each format has a module."""
