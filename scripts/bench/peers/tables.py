"""Ours beside a peer: ratios of neighbouring measurements, and the tables that show them."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median

from bench.peers.toolkits import Training, Translation


@dataclass(frozen=True)
class Spread:
    """Several measurements of one thing."""

    median: float
    lowest: float
    highest: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """Of at least one value."""
        return cls(median(values), min(values), max(values))

    def __str__(self) -> str:
        return f"{self.median:.2f} ({self.lowest:.2f} to {self.highest:.2f})"


@dataclass(frozen=True)
class Comparison:
    """Rounds of ours and a peer's, in turn; both do the same."""

    peer: str
    setting: str
    rounds: list[tuple[Training, Training]] | list[tuple[Translation, Translation]]  # ours, the peer's

    def ratio(self, figure: str) -> Spread:
        """Ours ÷ the peer's, of each round."""
        return Spread.of([getattr(ours, figure) / getattr(peer, figure) for ours, peer in self.rounds])

    def medians(self, figure: str) -> tuple[float, float]:
        """Ours and the peer's."""
        ours, peers = zip(*((getattr(ours, figure), getattr(peer, figure)) for ours, peer in self.rounds), strict=True)
        return median(ours), median(peers)

    @property
    def others(self) -> float:
        """The largest share of the machine that other processes used during any of the measurements."""
        return max(figures.others for both in self.rounds for figures in both)

    def record(self, figure: str) -> dict[str, object]:
        """For JSON."""
        rounds = [{"ours": asdict(ours), "peer": asdict(peer)} for ours, peer in self.rounds]
        ratios = {"ratio": asdict(self.ratio(figure)), "memory_ratio": asdict(self.ratio("peak_memory_mb"))}
        return {"peer": self.peer, "setting": self.setting, **ratios, "rounds": rounds}


def training_table(comparisons: Sequence[Comparison]) -> str:
    """Tokens per second and memory."""
    rows = [
        [
            c.peer, c.setting, *both(c, "tokens_per_s", ",.0f"), str(c.ratio("tokens_per_s")),
            *both(c, "peak_memory_mb", ",.0f"), str(c.ratio("peak_memory_mb")), f"{c.others:.0%}",
        ]
        for c in comparisons
    ]  # fmt: skip
    head = ["peer", "setting", "tokens/s: ours", "peer", "ours ÷ peer", "MB: ours", "peer", "ours ÷ peer", "others"]
    return table(head, rows)


def translation_table(comparisons: Sequence[Comparison]) -> str:
    """Sentences per second, and what they were worth."""
    rows = [
        [
            c.peer, c.setting, *both(c, "sentences_per_s", ",.1f"), str(c.ratio("sentences_per_s")),
            *both(c, "bleu", ".2f"), *both(c, "pieces", ".2f"), *both(c, "peak_memory_mb", ",.0f"), f"{c.others:.0%}",
        ]
        for c in comparisons
    ]  # fmt: skip
    head = ["peer", "setting", "sentences/s: ours", "peer", "ours ÷ peer", "BLEU: ours", "peer", "pieces: ours", "peer"]
    return table([*head, "MB: ours", "peer", "others"], rows)


def signatures(comparisons: Sequence[Comparison]) -> list[str]:
    """How the BLEU was made: one line, unless sacreBLEU changed meanwhile."""
    figures = (figure for c in comparisons for both in c.rounds for figure in both)
    return sorted({figure.signature for figure in figures if isinstance(figure, Translation)})


def both(comparison: Comparison, figure: str, form: str) -> list[str]:
    """The medians of ours and the peer's, in this format."""
    return [format(value, form) for value in comparison.medians(figure)]


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as they need; as Markdown reads it."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = [head, ["-" * width for width in widths], *rows]
    return "\n".join(
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in lines
    )
