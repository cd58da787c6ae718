"""What each verb does with its configuration, one module per verb; only `nmt.cli` names these modules."""
