"""Attention weights, curves and tables → pictures and text for a terminal or a document."""
