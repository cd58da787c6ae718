"""How many units a corpus has, how many pairs they give, and why the others give none."""

from collections import Counter
from dataclasses import dataclass, field

from nmt.errors import counted


@dataclass
class Tally:
    """Counts of one split, filled while it is read."""

    name: str  # the file's name, or the number of files
    noun: str  # the word for a unit
    units: int = 0
    pairs: int = 0
    left_out: Counter[str] = field(default_factory=Counter)  # units that give no pair, by reason
    languages: Counter[str] = field(default_factory=Counter)  # tags in units that lack a side

    def reset(self) -> None:
        """Sets all counts to zero, before the split is read again."""
        self.units = self.pairs = 0
        self.left_out.clear()
        self.languages.clear()

    def take(self, other: "Tally") -> None:
        """Takes over the counts of another tally, which another process has filled."""
        self.units, self.pairs = other.units, other.pairs
        self.left_out, self.languages = other.left_out, other.languages

    def __str__(self) -> str:
        """A line of the report, such as 'memory.tmx: 62 units, 60 pairs; left out: 1 without German, 1 empty'."""
        return f"{self.name}: {self.counts()}"

    def counts(self) -> str:
        """The counts and reasons as text, without the name."""
        line = f"{counted(self.units, self.noun)}, {counted(self.pairs, 'pair')}"
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in self.left_out.most_common())
        return f"{line}; left out: {reasons}" if reasons else line
