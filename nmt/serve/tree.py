"""The tree of all hypotheses of one search, step by step."""

from dataclasses import dataclass
from math import isfinite

from nmt.data.tokenizer import EOS, Tokenizer
from nmt.search.hypotheses import Beam, Candidates, SearchStep


@dataclass
class Node:
    """A hypothesis that was open after a step, or ended at it."""

    parent: int | None
    token: int | None  # None: the beginning
    log_prob: float
    step: int
    end: bool = False
    best: bool = False  # on the path to the best translation


class Tree:
    """The search tree of one sentence. It grows while the search calls `watch`."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.nodes = [Node(None, None, 0.0, 0)]
        self.open = [0]  # the node of each open hypothesis

    def watch(self, beam: Beam, candidates: Candidates, step: SearchStep) -> None:
        """Adds one step: the hypotheses that ended, and the ones that stay open."""
        number = self.nodes[self.open[0]].step + 1
        tried = zip(*(each[0, : self.width].tolist() for each in vars(candidates).values()), strict=True)
        for log_prob, parent, token in tried:
            if token == EOS and isfinite(log_prob):
                self.nodes.append(Node(self.open[parent], EOS, log_prob, number, end=True))
        opened = []
        rows = zip(step.parent[0].tolist(), step.token[0].tolist(), beam.log_prob[0].tolist(), strict=True)
        for parent, token, log_prob in rows:
            if isfinite(log_prob):
                self.nodes.append(Node(self.open[parent], token, log_prob, number))
                opened.append(len(self.nodes) - 1)
            else:
                opened.append(self.open[parent])  # not a hypothesis; it has no continuations
        self.open = opened

    def mark(self, best: list[str], tokenizer: Tokenizer) -> None:
        """Marks the path to the translation with these pieces."""
        for node in self.nodes:
            if node.end and tokenizer.pieces(self._tokens(node)) == best:
                way: Node | None = node
                while way is not None:
                    way.best = True
                    way = None if way.parent is None else self.nodes[way.parent]
                return

    def _tokens(self, node: Node) -> list[int]:
        """The tokens of the hypothesis that ended at the node."""
        tokens: list[int] = []
        at = self.nodes[node.parent or 0]
        while at.token is not None and at.parent is not None:
            tokens.append(at.token)
            at = self.nodes[at.parent]
        return tokens[::-1]

    def as_json(self, tokenizer: Tokenizer) -> list[dict[str, object]]:
        """Every node, with its piece as SentencePiece spells it."""
        pieces = tokenizer.pieces([node.token or 0 for node in self.nodes])
        return [
            {
                "id": number,
                "parent": node.parent,
                "token": "" if node.token is None else piece,
                "log_prob": round(node.log_prob, 4),
                "step": node.step,
                "end": node.end,
                "best": node.best,
            }
            for number, (node, piece) in enumerate(zip(self.nodes, pieces, strict=True))
        ]
