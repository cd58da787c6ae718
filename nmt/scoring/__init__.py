"""Text against text → metrics, significance, word alignments, error rates, cautions."""
