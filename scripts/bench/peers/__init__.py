"""The same measurements of other toolkits; the wrappers `run_…` run in their environments."""
