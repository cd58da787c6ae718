"""This computer → one device, its threads, its memory, its signals, and files that are never half-written."""
