"""Any input whatever: what `make fuzz` tries."""
