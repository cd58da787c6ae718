"""Variants of a configuration → trained runs, their scores, a table and a page."""
