"""Words of a command line and YAML files → one checked, frozen configuration."""
