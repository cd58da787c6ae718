"""A configuration → what one verb does; each file is a leaf that only `nmt.cli` names."""
