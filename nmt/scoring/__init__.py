"""Compares texts: metrics, significance, word alignments, error rates, cautions."""
