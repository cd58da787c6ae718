"""Words after `nmt` → a command and its exit code."""
