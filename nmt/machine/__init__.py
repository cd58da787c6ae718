"""This computer → one device, its threads, memory and signals, and files that are never half-written."""
