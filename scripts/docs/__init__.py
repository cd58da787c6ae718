"""The documentation site, and the check of the words in it."""
