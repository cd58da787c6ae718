"""From the words of a command line and YAML files to one checked, frozen configuration."""
