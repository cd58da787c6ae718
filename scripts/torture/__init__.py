"""What `make torture` does to runs: kills them, breaks their files, and compares what is left."""
