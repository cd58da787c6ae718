"""What `make demo` does."""
