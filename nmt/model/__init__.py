"""Batches of token ids → features of every target position; encoders, attention, decoders."""
