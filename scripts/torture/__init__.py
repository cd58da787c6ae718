"""What `make torture` does to runs: kills them, and compares what is left."""
