"""Data in words for a terminal."""

EDGE_WORDS = {
    "Requires": "requires",
    "ValidOnlyWhen": "is valid only when",
    "DerivedFrom": "is derived from",
    "SupportedBy": "is supported by",
    "ObservedFrom": "was observed from",
    "Contradicts": "contradicts",
    "Supersedes": "was replaced by",
}
"""What a target says of its source; with ``Contradicts`` either end of the other."""

STATUS_STYLE = {"Valid": "green", "PotentiallyStale": "yellow", "Invalid": "red"}


def printable(text: str) -> str:
    """``text`` without what would move the cursor or change the colours of a terminal."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
