"""Turns text files into sentence pairs, pieces and batches of token ids."""
