"""From variants of a configuration to trained runs, their scores, a table and a page."""
