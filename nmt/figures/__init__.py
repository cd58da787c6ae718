"""Attention weights and curves → pictures and text for a terminal."""
