"""Batches and a configuration → a run: updates, validation, checkpoints, reports."""
