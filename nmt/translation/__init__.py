"""A run and lines of text → translations, word alignments, shortlists."""
