"""Files of text → pairs of segments, pieces, and batches of token ids."""
