"""How many units a corpus has, how many pairs they give, and why the others give none."""

from collections import Counter
from dataclasses import dataclass, field

from nmt.errors import counted


@dataclass
class Tally:
    """Counts of one split, filled while it is read."""

    name: str  # of the file, or how many there are
    noun: str  # what is counted
    units: int = 0
    pairs: int = 0
    left_out: Counter[str] = field(default_factory=Counter)  # by reason
    languages: Counter[str] = field(default_factory=Counter)  # of units without one of the sides

    def reset(self) -> None:
        """Before the split is read once more."""
        self.units = self.pairs = 0
        self.left_out.clear()
        self.languages.clear()

    def __str__(self) -> str:
        """For the report, such as 'memory.tmx: 62 units, 60 pairs; left out: 1 without German, 1 empty'."""
        return f"{self.name}: {self.counts()}"

    def counts(self) -> str:
        """The same without the name."""
        line = f"{counted(self.units, self.noun)}, {counted(self.pairs, 'pair')}"
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in self.left_out.most_common())
        return f"{line}; left out: {reasons}" if reasons else line
