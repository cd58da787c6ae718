"""Names of text files."""

import re

PACKED_OR_TEXT = re.compile(r"(\.(gz|xz|bz2|zst|zip|txt))+$", re.IGNORECASE)


def unpacked_name(name: str) -> str:
    """The name without the endings of packed or plain text: corpus.en for corpus.en.txt.gz."""
    return PACKED_OR_TEXT.sub("", name)
