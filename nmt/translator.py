"""Text in, text out: a trained model for Python users and for every verb that translates."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from nmt.alignment import SPACE, align, spaceless, word_attention
from nmt.batching import make_batch
from nmt.checkpoint import LoadedModel, load_model
from nmt.config import SearchConfig
from nmt.corpus import clean
from nmt.device import Precision, choose_device, choose_dtype
from nmt.errors import DataError
from nmt.hypotheses import Hypothesis
from nmt.schema import read_section
from nmt.search import search

LONGEST = 1000  # source pieces searched at once; a longer line is translated in parts


@dataclass(frozen=True)
class Candidate:
    """One translation of a sentence."""

    text: str
    score: float  # after length and coverage penalties: what the search ranks by
    log_prob: float  # nats, end of sentence included


@dataclass(frozen=True)
class Translation:
    """A sentence's translations, the best first, and the attention behind the best."""

    source: str
    n_best: list[Candidate]
    src_pieces: list[str]
    tgt_pieces: list[str]
    attention: NDArray[np.float32] | None  # [T, S] pieces, mean of layers and heads; None: not asked for, no text

    @property
    def text(self) -> str:
        """The best translation."""
        return self.n_best[0].text

    @property
    def score(self) -> float:
        """The best translation's score."""
        return self.n_best[0].score

    @property
    def log_prob(self) -> float:
        """The best translation's log-probability."""
        return self.n_best[0].log_prob

    @property
    def word_attention(self) -> tuple[NDArray[np.floating], list[str], list[str]]:
        """Attention [target words, source words] behind the best translation, and the words."""
        weights = self.attention
        if weights is None:
            weights = np.zeros((len(self.tgt_pieces), len(self.src_pieces)), np.float32)
        return word_attention(weights, self.src_pieces, self.tgt_pieces)

    @property
    def alignment(self) -> list[tuple[int, int]]:
        """Links (source word, target word), from 0: where each target word's attention is highest."""
        return align(self.word_attention[0])


class Translator:
    """A model ready to translate. Loading one executes nothing from its folder."""

    def __init__(self, loaded: LoadedModel, settings: SearchConfig, device: torch.device, dtype: torch.dtype) -> None:
        self.config = loaded.config
        self.tokenizers = loaded.tokenizers
        self.settings = settings
        self.device = device
        self.model = loaded.model.to(device, dtype).eval()
        self.nfc: bool = loaded.config["data"]["nfc"]
        self.generator = torch.Generator(device).manual_seed(loaded.config["seed"])

    @classmethod
    def load(
        cls,
        folder: str | Path,
        settings: SearchConfig | None = None,
        trust: Sequence[str] = (),
        device: str = "auto",
        precision: Precision = "auto",
    ) -> "Translator":
        """The best model of a run folder; `settings` replace the search settings stored with it."""
        loaded = load_model(Path(folder), trust)
        chosen = choose_device(device)  # type: ignore[arg-type]  # checked inside
        stored = read_section(SearchConfig, loaded.config["search"], "search")
        return cls(loaded, settings or stored, chosen, choose_dtype(precision, chosen))

    @property
    def has_attention(self) -> bool:
        """Can it say where it looked?"""
        return self.config["attention"]["class"] is not None

    def translate(
        self, sentences: Sequence[str], attention: bool = False, settings: SearchConfig | None = None
    ) -> list[Translation]:
        """A translation of every sentence, in order; an empty sentence has an empty one."""
        if isinstance(sentences, str):
            raise TypeError('translate takes a list of sentences: translate(["A sentence."])')
        ids = self.tokenizers.src.encode_batch([clean(sentence, self.nfc) for sentence in sentences])
        spans = [(row, *span) for row, pieces in enumerate(ids) for span in self.spans(pieces)]
        parts = [ids[row][start:end] for row, start, end in spans]
        chosen = settings or self.settings
        order = sorted(range(len(parts)), key=lambda part: len(parts[part]))
        done: dict[int, Translation] = {}
        for start in range(0, len(order), chosen.batch_sentences):
            batch = order[start : start + chosen.batch_sentences]
            translations = self.batch([parts[part] for part in batch], attention, chosen)
            done.update(zip(batch, translations, strict=True))
        found: list[list[Translation]] = [[] for _ in sentences]
        for part, (row, _, _) in enumerate(spans):
            found[row].append(done[part])
        return [joined(sentence, own) for sentence, own in zip(sentences, found, strict=True)]

    def spans(self, ids: list[int]) -> Iterator[tuple[int, int]]:
        """Where the parts of a line begin and end: the line whole, unless it is longer than a search can bear.

        A part ends after a sentence where it can, else after a word.
        """
        start = 0
        pieces = self.tokenizers.src.pieces(ids) if len(ids) > LONGEST else []
        while len(ids) - start > LONGEST:
            window = range(start + LONGEST, start, -1)
            word = (end for end in window if pieces[end].startswith(SPACE))
            sentence = (
                end
                for end in window
                if pieces[end - 1].endswith(("。", "！", "？"))
                or (pieces[end - 1].endswith((".", "!", "?")) and pieces[end].startswith(SPACE))
            )
            end = next(sentence, None) or next(word, None) or start + LONGEST
            yield start, end
            start = end
        if ids:
            yield start, len(ids)

    def stream(
        self, lines: Iterable[str], buffer: int, attention: bool = False, settings: SearchConfig | None = None
    ) -> Iterator[Translation]:
        """One translation for every line, in order; `buffer` lines are read ahead and held in memory."""
        pending = iter(lines)
        while chunk := list(islice(pending, buffer)):
            yield from self.translate(chunk, attention, settings)

    def batch(self, ids: list[list[int]], attention: bool, settings: SearchConfig) -> list[Translation]:
        """Translations of these pieces, searched together; each has its source pieces for its source."""
        batch = make_batch(ids, [[] for _ in ids]).to(self.device)
        found = search(self.model, batch.src, batch.src_mask, settings, self.generator)
        best = [hypotheses[0].tokens if hypotheses else [] for hypotheses in found]
        weights = self.attention(ids, best) if attention else [None] * len(ids)
        return [
            Translation(
                "",
                [self.candidate(h) for h in hypotheses] or NOTHING,
                self.tokenizers.src.pieces(pieces),
                self.tokenizers.tgt.pieces(tokens),
                matrix,
            )
            for pieces, hypotheses, tokens, matrix in zip(ids, found, best, weights, strict=True)
        ]

    @torch.inference_mode()
    def attention(self, src_ids: list[list[int]], tgt_ids: list[list[int]]) -> list[NDArray[np.float32] | None]:
        """Attention [T, S] of each pair, pieces alone (no end of sentence); None for a model that has none."""
        _, weights = self.model.forced(make_batch(src_ids, tgt_ids).to(self.device))
        if weights.shape[1] == 0:
            return [None] * len(src_ids)
        means = weights.float().mean((1, 2)).cpu().numpy()
        return [means[row, : len(tgt), : len(src)] for row, (src, tgt) in enumerate(zip(src_ids, tgt_ids, strict=True))]

    @torch.inference_mode()
    def forced_scores(self, sources: Sequence[str], targets: Sequence[str]) -> list[float]:
        """Log-probability (nats, end of sentence included) of each given target under the model."""
        if len(sources) != len(targets):
            raise DataError(f"{len(sources):,} sources but {len(targets):,} targets to score; give one for each")
        src, tgt = (
            tokenizer.encode_batch([clean(text, self.nfc) for text in texts])
            for tokenizer, texts in ((self.tokenizers.src, sources), (self.tokenizers.tgt, targets))
        )
        scores: list[float] = []
        for start in range(0, len(src), self.settings.batch_sentences):
            part = slice(start, start + self.settings.batch_sentences)
            log_probs, _ = self.model.forced(make_batch(src[part], tgt[part]).to(self.device))
            scores += log_probs.sum(1).tolist()
        return scores

    def candidate(self, hypothesis: Hypothesis) -> Candidate:
        """A hypothesis as text, on one line whatever the model spells."""
        text = " ".join(self.tokenizers.tgt.decode(hypothesis.tokens).splitlines())
        return Candidate(text, hypothesis.score, hypothesis.log_prob)


NOTHING = [Candidate("", 0.0, 0.0)]  # the translations of no text


def joined(source: str, parts: Sequence[Translation]) -> Translation:
    """The translation of a line from those of its parts: log-probabilities added, scores averaged."""
    if not parts:
        return Translation(source, NOTHING, [], [], None)
    if len(parts) == 1:
        return replace(parts[0], source=source)
    n_best = []
    for candidates in zip(*(part.n_best for part in parts), strict=False):  # as many as every part has
        text = ""
        for candidate in candidates:
            apart = text and candidate.text and not spaceless(text[-1])
            text += (" " if apart else "") + candidate.text
        scores = [candidate.score for candidate in candidates]
        n_best.append(Candidate(text, sum(scores) / len(scores), sum(c.log_prob for c in candidates)))
    src = [piece for part in parts for piece in part.src_pieces]
    tgt = [piece for part in parts for piece in part.tgt_pieces]
    return Translation(source, n_best, src, tgt, block_diagonal([part.attention for part in parts]))


def block_diagonal(blocks: Sequence[NDArray[np.float32] | None]) -> NDArray[np.float32] | None:
    """One matrix with the blocks along its diagonal; None where one is missing."""
    known = [block for block in blocks if block is not None]
    if len(known) < len(blocks):
        return None
    whole = np.zeros((sum(len(block) for block in known), sum(block.shape[1] for block in known)), np.float32)
    row = column = 0
    for block in known:
        whole[row : row + len(block), column : column + block.shape[1]] = block
        row, column = row + len(block), column + block.shape[1]
    return whole


def load(folder: str | Path) -> Translator:
    """The best model of a run folder, ready to translate; `Translator.load` takes more."""
    return Translator.load(folder)


def with_n_best(settings: SearchConfig, n_best: int | None) -> SearchConfig:
    """Settings that return `n_best` translations, the beam as wide as that needs."""
    if n_best is None:
        return settings
    return replace(settings, n_best=n_best, beam=max(settings.beam, n_best))
